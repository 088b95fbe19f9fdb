// Makes blocks whose sums are known: with an argument n, n times the blocks of `round`. The last
// block of each round stays. With WITHOUT_PVALLOC, another function serves for pvalloc, at which
// valgrind ends a program.
#define _GNU_SOURCE
#include <malloc.h>
#include <stdlib.h>

#ifdef WITHOUT_PVALLOC
#define pvalloc valloc
#endif

static void *volatile kept;

__attribute__((noinline)) static void once(void) {
    void *volatile blocks[8];
    blocks[0] = malloc(10);
    blocks[1] = calloc(3, 7);
    blocks[2] = realloc(NULL, 30);
    blocks[3] = memalign(64, 40);
    blocks[4] = aligned_alloc(64, 64);
    void *aligned = NULL;
    if (posix_memalign(&aligned, 128, 60)) abort();
    blocks[5] = valloc(70);
    blocks[6] = reallocarray(NULL, 4, 20);
    blocks[7] = pvalloc(90);
    free(aligned);
    for (int i = 1; i < 8; i++) free(blocks[i]);
    blocks[0] = realloc(blocks[0], 1000);
    blocks[0] = realloc(blocks[0], 5);
    void *volatile freed = malloc(11);
    freed = realloc(freed, 0);
    kept = blocks[0];
}

int main(int count, char **words) {
    int rounds = count > 1 ? atoi(words[1]) : 0;
    for (int i = 0; i < rounds; i++) once();
    return 0;
}
