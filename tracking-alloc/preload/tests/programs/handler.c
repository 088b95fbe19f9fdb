// Allocates while a timer's handler allocates too, for which the allocator must be `bump`. Prints
// how many blocks both made.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

static volatile long handled;

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
    struct itimerval timer = {{0, 50}, {0, 50}};
    setitimer(ITIMER_REAL, &timer, NULL);
    long rounds = count > 1 ? atol(words[1]) : 300000;
    for (long i = 0; i < rounds; i++) {
        void *volatile block = malloc(i % 500 + 1);
        if (i % 3 == 0) block = realloc(block, 300);
        free(block);
    }
    struct itimerval none = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &none, NULL);
    printf("%zu %ld\n", blocks ? blocks() : 0, handled);
    return 0;
}
