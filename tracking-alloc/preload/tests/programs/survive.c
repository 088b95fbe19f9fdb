// Works, prints what it did, and ends as the first argument says. The blocks that are printed are
// those of `work`.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned long blocks, bytes;
static void *volatile kept[1000];

static void one(unsigned long size) {
    unsigned long place = blocks * 7919 % 1000;
    free(kept[place]);
    kept[place] = malloc(size);
    blocks++;
    bytes += size;
}

__attribute__((noinline)) static void work(int rounds) {
    for (int i = 0; i < rounds; i++) one(i % 300 + 1);
}

// Each number has a stack of its own.
static void left(unsigned number, int depth);
static void right(unsigned number, int depth);

#define TURN(name)                                          \
    __attribute__((noinline)) static void name(unsigned number, int depth) { \
        if (depth == 0) one(number % 100 + 10);             \
        else if (number & 1) left(number >> 1, depth - 1);  \
        else right(number >> 1, depth - 1);                 \
        __asm__ volatile("" ::: "memory");                  \
    }
TURN(left)
TURN(right)

__attribute__((noinline)) static int overflow(int depth) {
    volatile char page[4096];
    page[depth % 4096] = (char)depth;
    void *volatile block = malloc(100);
    free(block);
    return overflow(depth + 1) + page[7];
}

// Does not allocate: the numbers must stay those of `work`.
static void print(void) {
    char line[100];
    int length = snprintf(line, sizeof line, "%lu %lu\n", blocks, bytes);
    if (write(1, line, length) != length) _exit(98);
}

// A write to a descriptor that the recorder no longer owns changes these files.
static int descriptors(void) {
    char path[] = "/tmp/heapglass-survive-XXXXXX";
    int first = mkstemp(path);
    if (first < 0) return 97;
    unlink(path);
    for (int i = 0; i < 50; i++) dup(first);
    work(5000);
    for (unsigned number = 0; number < 5000; number++) left(number, 13);
    struct stat status;
    if (fstat(first, &status) || status.st_size) return 96;
    return 7;
}

static volatile int is_over;

static void *churn(void *unused) {
    while (!is_over) free(malloc(64));
    return unused;
}

static int storm(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, churn, NULL)) return 95;
    for (int i = 0; i < 200; i++) {
        work(20);
        pid_t child = i % 3 == 2 ? vfork() : fork();
        if (child < 0) return 94;
        if (child == 0) {
            if (i % 3) {
                execl("/bin/true", "true", (char *)NULL);
                _exit(93);
            }
            work(100);
            _exit(0);
        }
        int status;
        if (waitpid(child, &status, 0) != child || status) return 92;
    }
    is_over = 1;
    pthread_join(thread, NULL);
    return 7;
}

int main(int count, char **words) {
    const char *how = count > 1 ? words[1] : "return";
    int status = 7;
    if (!strcmp(how, "descriptors")) {
        for (int i = 3; i < 1024; i++) close(i);
        status = descriptors();
    } else if (!strcmp(how, "chdir")) {
        if (chdir("/")) return 91;
        work(20000);
    } else if (!strcmp(how, "chroot")) {
        work(1000);
        if (chroot(words[2]) || chdir("/")) return 91;
        work(20000);
        for (unsigned number = 0; number < 20000; number++) left(number, 15);
    } else if (!strcmp(how, "sites")) {
        for (unsigned number = 0; number < 20000; number++) left(number, 15);
    } else if (!strcmp(how, "storm")) {
        status = storm();
    } else {
        work(20000);
    }
    print();
    if (!strcmp(how, "kill")) raise(SIGKILL);
    if (!strcmp(how, "abort")) abort();
    if (!strcmp(how, "exit-now")) _exit(7);
    if (!strcmp(how, "exit")) exit(7);
    if (!strcmp(how, "quick-exit")) quick_exit(7);
    if (!strcmp(how, "stack-overflow")) return overflow(0);
    if (!strcmp(how, "segfault")) *(volatile char *)8 = 1;
    return status;
}
