// Allocates while a timer's handler allocates too, for which the allocator must be `bump`. Prints
// how many blocks both made.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

static volatile long handled;

// Sets an alarm that rings once. A timer that repeats by itself would ring again before the handler
// has returned where its events take longer than the interval.
static void ring_in(long micros) {
    struct itimerval once = {{0, 0}, {0, micros}};
    setitimer(ITIMER_REAL, &once, NULL);
}

static void handle(int signal) {
    (void)signal;
    void *volatile block = malloc(24);
    block = realloc(block, 48);
    free(block);
    handled++;
}

int main(int count, char **words) {
    size_t (*blocks)(void) = dlsym(RTLD_DEFAULT, "bump_blocks");
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    long rounds = count > 1 ? atol(words[1]) : 300000;
    long seen = 0;
    ring_in(50);
    for (long i = 0; i < rounds || handled == 0; i++) {
        void *volatile block = malloc(i % 500 + 1);
        if (i % 3 == 0) block = realloc(block, 300);
        free(block);
        if (handled != seen) {
            seen = handled;
            ring_in(1 + i % 100);
        }
    }
    // The last alarm may still ring.
    signal(SIGALRM, SIG_IGN);
    printf("%zu %ld\n", blocks ? blocks() : 0, handled);
    return 0;
}
