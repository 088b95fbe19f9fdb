// Starts 1,000 short threads, up to 8 at once. Each makes a number of blocks and frees them: half
// at once, half in a destructor of its thread-local storage.
#include <pthread.h>
#include <stdlib.h>

static pthread_key_t key;
static int blocks;

struct list { void *block[64]; };

static void destroy(void *value) {
    struct list *list = value;
    for (int i = 0; i < blocks / 2; i++) {
        free(list->block[i]);
        free(malloc(20));
    }
}

static void *work(void *list) {
    struct list *own = list;
    pthread_setspecific(key, own);
    for (int i = 0; i < blocks / 2; i++) own->block[i] = malloc(100);
    for (int i = 0; i < blocks / 2; i++) {
        void *volatile block = malloc(50);
        free(block);
    }
    return NULL;
}

int main(int count, char **words) {
    static struct list lists[8];
    blocks = count > 1 ? atoi(words[1]) : 0;
    pthread_key_create(&key, destroy);
    for (int round = 0; round < 125; round++) {
        pthread_t threads[8];
        for (int i = 0; i < 8; i++) pthread_create(&threads[i], NULL, work, &lists[i]);
        for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
    }
    return 0;
}
