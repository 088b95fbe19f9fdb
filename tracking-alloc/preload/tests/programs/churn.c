// Allocates and frees until it is killed.
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    static void *blocks[1000];
    puts("started");
    fflush(stdout);
    for (unsigned long i = 0;; i++) {
        unsigned long place = i * 7919 % 1000;
        free(blocks[place]);
        blocks[place] = malloc(i % 3000 + 1);
    }
}
