// Prints what a process has: open descriptors, threads, variables, children.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

static int count(const char *path) {
    DIR *folder = opendir(path);
    int entries = 0;
    while (folder && readdir(folder)) entries++;
    if (folder) closedir(folder);
    return entries;
}

int main(void) {
    for (int i = 0; i < 1000; i++) free(malloc(i));
    printf("descriptors %d, threads %d\n", count("/proc/self/fd"), count("/proc/self/task"));
    for (char **entry = environ; *entry; entry++) puts(*entry);
    FILE *list = fopen("/proc/self/environ", "r");
    char text[65536];
    size_t bytes = fread(text, 1, sizeof text, list);
    for (size_t i = 0; i + 10 < bytes; i++)
        if (!memcmp(text + i, "LD_PRELOAD", 10) && strstr(text + i, "heapglass"))
            puts("LD_PRELOAD in /proc");
    return 0;
}
