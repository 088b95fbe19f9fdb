// Loads libraries in the ways that the first argument names.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int answer(void) { return 7; }

typedef void *allocate(int);
typedef void release(void *);
typedef int number(void);

static void *open_or_end(const char *path, int flags) {
    void *library = dlopen(path, flags);
    if (!library) {
        printf("%s\n", dlerror());
        exit(3);
    }
    return library;
}

int main(int count, char **words) {
    if (count < 4) return 9;
    if (!strcmp(words[1], "deepbind")) {
        void *library = open_or_end(words[2], RTLD_NOW | RTLD_DEEPBIND);
        allocate *make = (allocate *)dlsym(library, "allocate_one");
        release *end = (release *)dlsym(library, "release");
        number *own = (number *)dlsym(library, "call_answer");
        int blocks = atoi(words[3]);
        for (int i = 0; i < blocks; i++) {
            void *block = make(100);
            if (i % 2) end(block); else free(block);
        }
        printf("answer %d\n", own());
    } else if (!strcmp(words[1], "loop")) {
        for (int i = 0; i < 400; i++) {
            void *library = open_or_end(words[2 + i % 2], RTLD_NOW);
            const char *name = i % 2 ? "allocate_two" : "allocate_one";
            allocate *make = (allocate *)dlsym(library, name);
            for (int j = 0; j < 5; j++) free(make(i % 2 ? 200 : 100));
            dlclose(library);
        }
    } else if (!strcmp(words[1], "rpath")) {
        // The library finds another one in its own path.
        void *library = open_or_end(words[2], RTLD_NOW);
        number *load = (number *)dlsym(library, "load");
        printf("loaded %d\n", load());
    } else if (!strcmp(words[1], "missing")) {
        printf("%p\n", dlopen("libnowhere.so.9", RTLD_NOW));
        printf("%s\n", dlerror());
    }
    return 0;
}
