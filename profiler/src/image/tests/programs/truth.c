/* A program that knows all its live blocks: its own malloc enters them into a table and calls that
 * of libc. It writes the address of the table and the number of its entries, and waits.
 *
 * Arguments: the number of threads, and the bytes of large blocks that the last one allocates. */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void __libc_free(void *);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

/* A removed entry has the address 1. */
struct entry {
    uintptr_t address;
    size_t bytes;
};
enum { ENTRIES = 1 << 17, SLOTS = 3000, ROUNDS = 60000 };
static struct entry truth[ENTRIES];
static char lock;
static int ready;

static void take(void) {
    while (__atomic_test_and_set(&lock, __ATOMIC_ACQUIRE)) {
    }
}

static void give(void) { __atomic_clear(&lock, __ATOMIC_RELEASE); }

static size_t place(uintptr_t address) { return (address >> 4) * 0x9e3779b1u % ENTRIES; }

static void *enter(void *block, size_t bytes) {
    if (block) {
        take();
        size_t at = place((uintptr_t)block);
        while (truth[at].address > 1) at = (at + 1) % ENTRIES;
        truth[at] = (struct entry){(uintptr_t)block, bytes};
        give();
    }
    return block;
}

static void leave(void *block) {
    if (!block) return;
    take();
    size_t at = place((uintptr_t)block);
    while (truth[at].address && truth[at].address != (uintptr_t)block) at = (at + 1) % ENTRIES;
    if (truth[at].address) truth[at] = (struct entry){1, 0};
    give();
}

void *malloc(size_t bytes) { return enter(__libc_malloc(bytes), bytes); }
void free(void *block) {
    leave(block);
    __libc_free(block);
}
void *calloc(size_t count, size_t bytes) {
    return enter(__libc_calloc(count, bytes), count * bytes);
}
void *realloc(void *old, size_t bytes) {
    leave(old);
    return enter(__libc_realloc(old, bytes), bytes);
}
void *memalign(size_t alignment, size_t bytes) {
    return enter(__libc_memalign(alignment, bytes), bytes);
}
void *aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }
int posix_memalign(void **out, size_t alignment, size_t bytes) {
    *out = memalign(alignment, bytes);
    return *out ? 0 : ENOMEM;
}

static uint32_t next(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static size_t some_size(uint64_t *state) {
    switch (next(state) % 400) {
    case 0: return next(state) % 500000;
    case 1 ... 40: return next(state) % 5000;
    default: return next(state) % 200;
    }
}

/* Volatile, so that no pair of malloc and free is optimized away. */
static void *volatile slots[16][SLOTS];
static size_t large_bytes;

static void work(size_t thread) {
    uint64_t state = thread + 1;
    void *volatile *own = slots[thread];
    for (int round = 0; round < ROUNDS; round++) {
        size_t at = next(&state) % SLOTS;
        size_t bytes = some_size(&state);
        switch (next(&state) % 8) {
        case 0:
            own[at] = realloc(own[at], bytes);
            if (!bytes) own[at] = NULL;
            break;
        case 1:
            free(own[at]);
            own[at] = memalign((size_t)16 << next(&state) % 12, bytes);
            break;
        case 2 ... 4:
            free(own[at]);
            own[at] = malloc(bytes);
            break;
        default:
            free(own[at]);
            own[at] = NULL;
        }
    }
    /* Half of the others: thread caches are full then, and the rest goes to fast bins and bins. */
    for (size_t at = 0; at < SLOTS; at += 2) {
        free(own[at]);
        own[at] = NULL;
    }
    /* The first byte of each, so that pages in between are not touched. */
    for (size_t bytes = 0; bytes < large_bytes; bytes += 100000) {
        char *block = malloc(100000);
        *block = 1;
    }
}

static void *run(void *thread) {
    work((size_t)thread);
    __atomic_add_fetch(&ready, 1, __ATOMIC_SEQ_CST);
    for (;;) pause();
    return NULL;
}

int main(int count, char **words) {
    size_t threads = strtoul(words[1], NULL, 10);
    size_t large = count > 2 ? strtoul(words[2], NULL, 10) : 0;
    /* A fixed threshold: it grows with each mapped block that is freed otherwise. */
    mallopt(M_MMAP_THRESHOLD, 128 << 10);
    for (size_t thread = 1; thread < threads; thread++) {
        pthread_t handle;
        large_bytes = thread + 1 == threads ? large : 0;
        if (pthread_create(&handle, NULL, run, (void *)thread)) return 1;
        while (__atomic_load_n(&ready, __ATOMIC_SEQ_CST) < (int)thread) usleep(1000);
    }
    large_bytes = threads == 1 ? large : 0;
    work(0);
    /* Without stdio, which would free its buffer after the line was read. */
    char line[64];
    int length = snprintf(line, sizeof line, "%zx %x\n", (size_t)truth, ENTRIES);
    if (write(1, line, length) != length) return 1;
    for (;;) pause();
}
