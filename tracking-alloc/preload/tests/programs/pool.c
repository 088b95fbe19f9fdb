// A pool of its own, which reports its blocks to heapglass if that is there.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct heapglass_reallocation { uint64_t words[16]; };
void heapglass_allocated(void *block, size_t bytes) __attribute__((weak));
void heapglass_freed(void *block) __attribute__((weak));
void heapglass_reallocating(struct heapglass_reallocation *state, void *block, size_t bytes)
    __attribute__((weak));
void heapglass_reallocated(struct heapglass_reallocation *state, void *block)
    __attribute__((weak));

static char *pool;
static size_t used;

// Takes memory, which is full of what no allocator would write in front of a block.
static void *take(size_t bytes) {
    void *block = pool + used;
    size_t rounded = (bytes + 15) & ~(size_t)15;
    used += rounded;
    memset(block, 'q', rounded);
    return block;
}

__attribute__((noinline)) void *pool_alloc(size_t bytes) {
    void *block = take(bytes);
    if (heapglass_allocated) heapglass_allocated(block, bytes);
    return block;
}

__attribute__((noinline)) void pool_free(void *block) {
    if (heapglass_freed) heapglass_freed(block);
}

__attribute__((noinline)) void *pool_grow(void *block, size_t old, size_t bytes) {
    struct heapglass_reallocation state;
    if (heapglass_reallocating) heapglass_reallocating(&state, block, bytes);
    void *grown = take(bytes);
    memcpy(grown, block, old);
    if (heapglass_reallocated) heapglass_reallocated(&state, grown);
    return grown;
}

// A grow that makes other blocks on its way.
__attribute__((noinline)) void *pool_grow_by_malloc(void *block, size_t bytes) {
    struct heapglass_reallocation state;
    if (heapglass_reallocating) heapglass_reallocating(&state, block, bytes);
    void *chunk = realloc(malloc(100), 200);
    if (chunk == NULL) return NULL;
    free(chunk);
    void *grown = take(bytes);
    if (heapglass_reallocated) heapglass_reallocated(&state, grown);
    return grown;
}

// The first half alone, as an exception leaves it.
__attribute__((noinline)) void pool_give_up(void *block, size_t bytes) {
    struct heapglass_reallocation state;
    if (heapglass_reallocating) heapglass_reallocating(&state, block, bytes);
}

__attribute__((noinline)) void pool_end_twice(void *block, size_t bytes) {
    struct heapglass_reallocation state;
    if (heapglass_reallocating) heapglass_reallocating(&state, block, bytes);
    if (heapglass_reallocated) heapglass_reallocated(&state, take(bytes));
    if (heapglass_reallocated) heapglass_reallocated(&state, take(bytes));
}

// The second half alone, with whatever lies in the state.
__attribute__((noinline)) void pool_end_only(void *block, int garbage) {
    struct heapglass_reallocation state;
    memset(&state, garbage, sizeof state);
    if (heapglass_reallocated) heapglass_reallocated(&state, block);
}

__attribute__((noinline)) void *read_line(size_t bytes) { return pool_alloc(bytes); }

int main(int argc, char **argv) {
    pool = mmap(NULL, 16 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int line = 0; line < 100; line++) {
        void *block = read_line(1000);
        if (line % 4 == 0) pool_free(block);
        if (line == 50) pool_grow(block, 1000, 3000);
    }
    if (argc > 1 && !strcmp(argv[1], "odd")) {
        for (int again = 0; again < 1000; again++) {
            // The recording does not know the first block of each.
            pool_grow(pool + used, 16, 1000 + again);
            pool_grow_by_malloc(pool_grow(NULL, 0, 100), 200);
        }
    }
    if (argc > 1 && !strcmp(argv[1], "halves")) {
        for (int garbage = 0; garbage < 256; garbage++) pool_end_only(pool, garbage);
        pool_give_up(read_line(10), 20);
        pool_end_twice(read_line(10), 20);
        free(malloc(50));
    }
    puts(heapglass_allocated ? "reported" : "alone");
    return 0;
}
