// Has a heap of 25 MB that becomes smaller, then two threads make and free small blocks until the
// input ends.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile int ends;

static void *work(void *seed) {
    unsigned state = (unsigned)(long)seed;
    while (!ends) {
        void *blocks[5];
        for (int i = 0; i < 5; i++) {
            state = state * 1103515245 + 12345;
            blocks[i] = malloc(1 + (state >> 16) % 4000);
        }
        for (int i = 0; i < 5; i++)
            free(blocks[i]);
        usleep(100);
    }
    return 0;
}

int main(void) {
    static void *kept[500];
    for (int i = 0; i < 500; i++)
        kept[i] = malloc(50000);
    for (int i = 0; i < 250; i++)
        free(kept[i]);
    pthread_t threads[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, work, (void *)i);
    char byte;
    while (read(0, &byte, 1) > 0)
        ;
    ends = 1;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return 7;
}
