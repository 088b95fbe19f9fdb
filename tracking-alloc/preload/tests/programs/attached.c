// attached LIBRARY OUT WAY: loads the library late, as `heapglass attach` does, and calls it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct options {
    uint64_t bytes, samples, sample_bytes, max_bytes;
    const char *path;
};

static int (*attach)(const struct options *);
static int (*detach)(void);
static const char *(*message)(void);

static int begin(const char *path, int samples) {
    struct options options = {sizeof options, samples, 0, 0, path};
    return attach(&options);
}

// Bytes that the loader has filled in, of the program and of libc.
static struct { const char *start; size_t bytes; } ranges[64];
static int count;
static char *kept;

static int note(struct dl_phdr_info *info, size_t bytes, void *data) {
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type == PT_GNU_RELRO && count < 3 && !strstr(info->dlpi_name, "heapglass")) {
            ranges[count].start = (const char *)info->dlpi_addr + header->p_vaddr;
            ranges[count++].bytes = header->p_memsz;
        }
    }
    return 0;
}

static void keep(void) {
    size_t all = 0;
    dl_iterate_phdr(note, 0);
    for (int i = 0; i < count; i++) all += ranges[i].bytes;
    kept = malloc(all);
    for (int i = 0; i < count; kept += ranges[i++].bytes)
        memcpy(kept, ranges[i].start, ranges[i].bytes);
    kept -= all;
}

static int is_same(void) {
    size_t at = 0;
    for (int i = 0; i < count; at += ranges[i++].bytes)
        if (memcmp(kept + at, ranges[i].start, ranges[i].bytes)) return 0;
    return 1;
}

static long status(const char *name) {
    char line[256];
    long found = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof line, file))
        if (!strncmp(line, name, strlen(name))) found = atol(line + strlen(name) + 1);
    fclose(file);
    return found;
}

static long rights(void) {
    char line[512];
    long sum = 0;
    FILE *file = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, file))
        if (strstr(line, "libc.so") || strstr(line, "attached"))
            for (char *at = line; *at && *at != '\n'; at++) sum = sum * 31 + *at;
    fclose(file);
    return sum;
}

static volatile int ends;

static void *work(void *argument) {
    unsigned number = (unsigned)(uintptr_t)argument;
    void *blocks[64] = {0};
    while (!ends) {
        number = number * 1103515245 + 12345;
        unsigned at = number >> 16 & 63;
        free(blocks[at]);
        blocks[at] = malloc(16 + (number >> 8 & 1023));
    }
    for (int i = 0; i < 64; i++) free(blocks[i]);
    return 0;
}

#define BEFORE 1000
#define BLOCKS 100000

int main(int words, char **word) {
    setvbuf(stdout, malloc(1 << 16), _IOFBF, 1 << 16);
    static void *before[BEFORE];
    for (int i = 0; i < BEFORE; i++) before[i] = malloc(64);
    keep();
    long had = rights();
    void *library = dlopen(word[1], RTLD_NOW | RTLD_NODELETE);
    if (!library) return puts(dlerror()), fflush(stdout), 1;
    attach = dlsym(library, "heapglass_attach");
    detach = dlsym(library, "heapglass_detach");
    message = dlsym(library, "heapglass_attach_text");
    if (!strcmp(word[3], "exact")) {
        static void *blocks[BLOCKS];
        long bytes = 0, freed = 0;
        if (begin(word[2], 0)) return puts(message()), fflush(stdout), 1;
        for (int i = 0; i < BLOCKS; i++) bytes += i % 500 + 1, blocks[i] = malloc(i % 500 + 1);
        for (int i = 0; i < BLOCKS; i += 2) freed += i % 500 + 1, free(blocks[i]);
        for (int i = 0; i < BEFORE; i++) free(before[i]);
        int again = begin(word[2], 0);
        int ended = detach();
        for (int i = 1; i < BLOCKS; i += 2) free(blocks[i]);
        printf("%d %ld %ld %d %d %d %d %s\n", BLOCKS, bytes, bytes - freed, again, ended, is_same(),
               had == rights(), message());
    } else if (!strcmp(word[3], "exit")) {
        if (begin(word[2], 0)) return puts(message()), fflush(stdout), 1;
        char *block = malloc(777);
        memset(block, 1, 777);
    } else if (!strcmp(word[3], "look")) {
        // A function that is looked up, and one that is loaded later by a name.
        if (begin(word[2], 0)) return puts(message()), fflush(stdout), 1;
        void *(*found)(size_t) = dlsym(RTLD_DEFAULT, "malloc");
        memset(found(3333), 1, 3333);
        void *plugin = dlopen(word[4], RTLD_NOW);
        if (!plugin) return puts(dlerror()), fflush(stdout), 1;
        void *(*makes)(int) = dlsym(plugin, "allocate_one");
        memset(makes(5555), 1, 5555);
        int ended = detach();
        printf("%d %d\n", ended, is_same());
    } else {
        int samples = !strcmp(word[3], "samples");
        int cycles = atoi(word[4]);
        pthread_t threads[4];
        for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, work, (void *)(uintptr_t)(i + 1));
        long space = 0, resident = 0;
        for (int cycle = 0; cycle < cycles; cycle++) {
            char path[4096];
            snprintf(path, sizeof path, "%s-%d.hg", word[2], cycle);
            if (begin(path, samples)) return puts(message()), fflush(stdout), 1;
            for (int i = 0; i < 5000; i++) free(malloc(100));
            usleep(1000);
            if (detach()) return puts(message()), fflush(stdout), 1;
            if (!is_same()) return puts("other slots"), fflush(stdout), 1;
            if (cycle == 9) space = status("VmSize"), resident = status("VmRSS");
        }
        ends = 1;
        for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
        printf("%ld %ld %ld %ld\n", space, status("VmSize"), resident, status("VmRSS"));
    }
    fflush(stdout);
    return 0;
}
