/* Threads that do nothing but allocate and free, beside blocks that stay: 3000 bytes each. It writes how many
   stay. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *volatile kept[1000];

static void *churn(void *seed) {
    unsigned long random = (unsigned long)seed + 1;
    void *some[50] = {0};
    for (;;) {
        random = random * 6364136223846793005ul + 1442695040888963407ul;
        void **block = &some[(random >> 33) % 50];
        free(*block);
        unsigned long bytes = (random >> 40) % 2000;
        *block = malloc(bytes);
    }
}

int main(int count, char **words) {
    pthread_t thread;
    for (int i = 0; i < 1000; i++) kept[i] = malloc(3000);
    for (long n = 0; n < atol(words[1]); n++) pthread_create(&thread, 0, churn, (void *)n);
    usleep(50000);
    puts("1000");
    fflush(stdout);
    pause();
}
