// Prints the most bytes of stack that each function of the allocator took, then allocates in a
// signal handler that has 4 KiB of stack.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PAINTED = 64 << 10 };
static const unsigned long PAINT = 0x5AA5123498765AA5ul;

static void *volatile kept[4096];
static int count;

// Paints the free stack, causes the event, and returns the bytes that lost their paint.
__attribute__((noinline)) static long depth(void (*event)(void)) {
    unsigned long mark;
    char *here = (char *)((unsigned long)&mark & ~7ul);
    volatile unsigned long *low = (unsigned long *)(here - PAINTED);
    volatile unsigned long *high = (unsigned long *)(here - 256);
    for (volatile unsigned long *at = low; at < high; at++)
        *at = PAINT;
    event();
    volatile unsigned long *at = low;
    while (at < high && *at == PAINT)
        at++;
    return here - (char *)at;
}

static void by_malloc(void) { kept[count++ & 4095] = malloc(100); }
static void by_free(void) { free(kept[--count & 4095]); }
static void by_calloc(void) { kept[count++ & 4095] = calloc(3, 100); }
static void by_realloc(void) { kept[(count - 1) & 4095] = realloc(kept[(count - 1) & 4095], 200); }
static void by_memalign(void) {
    void *block = 0;
    if (posix_memalign(&block, 64, 100))
        abort();
    kept[count++ & 4095] = block;
}
static void large(void) {
    void *block = malloc(100 << 10);
    memset(block, 1, 100 << 10);
    kept[count++ & 4095] = block;
}

// Each number of frames is another stack.
__attribute__((noinline)) static long under(int frames, void (*event)(void)) {
    if (frames == 0)
        return depth(event);
    volatile long bytes = under(frames - 1, event);
    return bytes;
}

static void *first_of_thread(void *bytes) {
    *(long *)bytes = depth(by_malloc);
    return 0;
}

static volatile int handled;

static void on_signal(int number) {
    void *block = malloc(200);
    block = realloc(block, 3000);
    free(block);
    handled++;
}

int main(void) {
    static struct {
        const char *name;
        void (*event)(void);
        long most;
    } events[] = {{"malloc", by_malloc},   {"large", large},       {"calloc", by_calloc},
                  {"realloc", by_realloc}, {"memalign", by_memalign}, {"free", by_free}};
    printf("first=%ld\n", depth(by_malloc));
    for (int i = 0; i < 2; i++) {
        long bytes = 0;
        pthread_t thread;
        pthread_create(&thread, 0, first_of_thread, &bytes);
        pthread_join(thread, 0);
        printf("thread=%ld\n", bytes);
    }
    // Long enough for points of the timeline, readings of mappings, and dropped checkpoints.
    for (int round = 0; round < 600; round++) {
        for (int i = 0; i < sizeof events / sizeof *events; i++) {
            long bytes = under(round % 150, events[i].event);
            if (bytes > events[i].most)
                events[i].most = bytes;
        }
        usleep(2000);
    }
    for (int i = 0; i < sizeof events / sizeof *events; i++)
        printf("%s=%ld\n", events[i].name, events[i].most);
    static char stack[4096] __attribute__((aligned(4096)));
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    // Some processors need more for the signal alone.
    if (sigaltstack(&alternate, 0) == 0) {
        sigaction(SIGUSR1, &action, 0);
        for (int i = 0; i < 3; i++)
            raise(SIGUSR1);
    }
    return 7;
}
