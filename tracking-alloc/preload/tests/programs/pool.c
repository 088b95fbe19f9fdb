// A pool of its own, which reports its blocks to heapglass if that is there.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
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

__attribute__((noinline)) void *pool_alloc(size_t bytes) {
    void *block = pool + used;
    used += (bytes + 15) & ~(size_t)15;
    if (heapglass_allocated) heapglass_allocated(block, bytes);
    return block;
}

__attribute__((noinline)) void pool_free(void *block) {
    if (heapglass_freed) heapglass_freed(block);
}

__attribute__((noinline)) void *pool_grow(void *block, size_t old, size_t bytes) {
    struct heapglass_reallocation state;
    if (heapglass_reallocating) heapglass_reallocating(&state, block, bytes);
    void *grown = pool + used;
    used += (bytes + 15) & ~(size_t)15;
    memcpy(grown, block, old);
    if (heapglass_reallocated) heapglass_reallocated(&state, grown);
    return grown;
}

__attribute__((noinline)) void *read_line(size_t bytes) { return pool_alloc(bytes); }

int main(void) {
    pool = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int line = 0; line < 100; line++) {
        void *block = read_line(1000);
        if (line % 4 == 0) pool_free(block);
        if (line == 50) pool_grow(block, 1000, 3000);
    }
    puts(heapglass_allocated ? "reported" : "alone");
    return 0;
}
