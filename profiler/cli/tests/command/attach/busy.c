/* A program without a thread that waits: it allocates always, computes, or waits in a handler that has
   interrupted malloc. It notices when a block or a register changes. A signal (SIGTERM) makes it print
   what it noticed, and end. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static volatile sig_atomic_t ends;
static volatile long wrong;
static int pipes[2];

static void on_end(int signal) { ends = 1; }

static void on_alarm(int signal) {
    char byte;
    while (!ends && read(pipes[0], &byte, 1) != 0) {}
}

static void *allocate(void *argument) {
    unsigned number = (unsigned)(long)argument;
    unsigned char *blocks[64] = {0};
    size_t bytes[64] = {0};
    while (!ends) {
        number = number * 1103515245 + 12345;
        unsigned at = number >> 16 & 63;
        if (blocks[at] && (blocks[at][0] != at || blocks[at][bytes[at] - 1] != at)) wrong++;
        free(blocks[at]);
        bytes[at] = 16 + (number >> 8 & 1023);
        blocks[at] = malloc(bytes[at]);
        blocks[at][0] = blocks[at][bytes[at] - 1] = at;
    }
    return 0;
}

/* Keeps words in registers, those of vectors too. */
static void compute(void) {
    for (unsigned long seed = 1; !ends; seed++) {
        unsigned long in[4] = {seed, ~seed, seed * 3, seed * 7}, out[4], low;
        __asm__ volatile(
            "movdqu (%1), %%xmm3\n movdqu 16(%1), %%xmm12\n mov %3, %%r12\n mov $20000, %%rcx\n"
            "1: dec %%rcx\n jnz 1b\n"
            "movdqu %%xmm3, (%2)\n movdqu %%xmm12, 16(%2)\n mov %%r12, %0\n"
            : "=&r"(low) : "r"(in), "r"(out), "r"(seed) : "rcx", "r12", "xmm3", "xmm12", "memory", "cc");
        if (low != seed || memcmp(in, out, sizeof in)) wrong++;
    }
}

int main(int words, char **word) {
    struct sigaction end = {.sa_handler = on_end}, alarmed = {.sa_handler = on_alarm};
    pthread_t threads[8];
    int count = words > 2 ? atoi(word[2]) : 0;
    sigaction(SIGTERM, &end, 0);
    puts("ready");
    fflush(stdout);
    for (long n = 0; n < count; n++) pthread_create(&threads[n], 0, allocate, (void *)(n + 1));
    if (!strcmp(word[1], "malloc")) allocate(0);
    if (!strcmp(word[1], "compute")) compute();
    if (!strcmp(word[1], "handler")) {
        struct itimerval soon = {{0, 0}, {0, 20000}};
        if (pipe(pipes)) return 1;
        sigaction(SIGALRM, &alarmed, 0);
        setitimer(ITIMER_REAL, &soon, 0);
        allocate(0);
    }
    for (long n = 0; n < count; n++) pthread_join(threads[n], 0);
    printf("wrong %ld\n", wrong);
    return 0;
}
