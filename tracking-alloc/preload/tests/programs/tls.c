// Loads the libraries that the arguments name while threads use their thread-local variables.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

typedef long *place(void);
static place *places[200];
static int known;

static void *use(void *unused) {
    for (int i = 0; i < known; i++) {
        places[i]()[3]++;
        free(malloc(10));
    }
    return unused;
}

int main(int count, char **words) {
    for (int i = 1; i < count; i++) {
        void *library = dlopen(words[i], RTLD_NOW);
        if (!library) return 3;
        places[known++] = (place *)dlsym(library, "place");
        pthread_t thread;
        pthread_create(&thread, NULL, use, NULL);
        use(NULL);
        pthread_join(thread, NULL);
    }
    printf("%ld\n", places[0]()[3]);
    return 0;
}
