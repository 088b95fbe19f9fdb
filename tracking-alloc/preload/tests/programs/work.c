// The library of `exporter`.
#include <stdlib.h>

static void *(*volatile by_pointer)(size_t) = malloc;

int work(int blocks) {
    for (int i = 0; i < blocks; i++) {
        void *volatile block = i % 2 ? malloc(100) : by_pointer(100);
        free(block);
    }
    return blocks;
}
