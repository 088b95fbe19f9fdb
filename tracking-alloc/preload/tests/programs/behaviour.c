// Prints what each function of the allocator does: addresses modulo alignments, errno, usable
// sizes. Run with and without the library, it prints the same.
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void show(const char *what, void *block, size_t alignment) {
    printf("%s: %s aligned %d usable %zu errno %d\n", what, block ? "block" : "null",
           block ? (uintptr_t)block % alignment == 0 : -1, block ? malloc_usable_size(block) : 0,
           errno);
    errno = 0;
}

int main(void) {
    volatile size_t huge = PTRDIFF_MAX, half = SIZE_MAX / 2 + 1;
    errno = 0;
    for (size_t size = 0; size < 5000; size = size * 3 / 2 + 1) {
        printf("%zu ", size);
        void *block = malloc(size);
        show("malloc", block, 16);
        memset(block, 1, malloc_usable_size(block));
        block = realloc(block, size * 2 + 1);
        show("realloc", block, 16);
        free(block);
    }
    void *one = malloc(0), *two = malloc(0);
    printf("empty blocks differ %d\n", one != two);
    show("malloc(0)", one, 16);
    errno = 77;
    free(one);
    free(two);
    free(NULL);
    printf("free keeps errno %d\n", errno);
    errno = 0;
    show("huge", malloc(huge + 1), 16);
    show("calloc overflow", calloc(half, 2), 16);
    show("calloc huge", calloc(huge, 1), 16);
    unsigned char *zeros = calloc(100, 30);
    show("calloc", zeros, 16);
    int sum = 0;
    for (int i = 0; i < 3000; i++) sum += zeros[i];
    printf("sum %d\n", sum);
    show("reallocarray overflow", reallocarray(zeros, half, 2), 16);
    show("realloc huge", realloc(zeros, huge + 1), 16);
    zeros = reallocarray(zeros, 10, 700);
    show("reallocarray", zeros, 16);
    zeros = realloc(zeros, 0);
    show("realloc to 0", zeros, 16);
    void *none = realloc(NULL, 40);
    show("realloc of null", none, 16);
    free(none);
    for (size_t alignment = 1; alignment <= 8192; alignment *= 2) {
        void *block = (void *)1;
        int error = posix_memalign(&block, alignment, 50);
        printf("posix_memalign %zu: %d\n", alignment, error);
        if (error == 0) {
            show("posix_memalign", block, alignment);
            free(block);
        } else {
            printf("untouched %d\n", block == (void *)1);
        }
        block = memalign(alignment, 50);
        show("memalign", block, alignment);
        free(block);
        block = aligned_alloc(alignment, 8192);
        show("aligned_alloc", block, alignment);
        free(block);
    }
    void *block = NULL;
    printf("posix_memalign 24: %d\n", posix_memalign(&block, 24, 8));
    printf("posix_memalign 0: %d\n", posix_memalign(&block, 0, 8));
    printf("posix_memalign huge: %d\n", posix_memalign(&block, 64, huge));
    show("memalign huge", memalign(64, huge), 64);
    show("memalign beyond", memalign(half * 2 - 1, 10), 1);
    block = valloc(10);
    show("valloc", block, 4096);
    free(block);
    block = pvalloc(10);
    show("pvalloc", block, 4096);
    free(block);
    show("pvalloc huge", pvalloc(SIZE_MAX), 4096);
    printf("usable size of null %zu\n", malloc_usable_size(NULL));
    char *line = NULL;
    printf("asprintf %d %s\n", asprintf(&line, "%d-%s", 5, "five"), line);
    free(line);
    line = strdup("copied");
    printf("%s\n", line);
    free(line);
    return 0;
}
