// Makes children in every way. Each allocates and prints which variables it has.
#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void wait_for(pid_t child) {
    int status = -1;
    waitpid(child, &status, 0);
    printf("status %d\n", status);
    fflush(stdout);
}

int main(int count, char **words) {
    if (count > 1) {
        void *volatile block = malloc(10);
        free(block);
        const char *preload = getenv("LD_PRELOAD");
        printf("child %s, preload %d\n", words[1], preload && strstr(preload, "heapglass") != NULL);
        return 0;
    }
    setvbuf(stdout, NULL, _IONBF, 0);
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 1000; i++) free(malloc(i));
        puts("fork");
        exit(0);
    }
    wait_for(child);
    child = fork();
    if (child == 0) {
        execl(words[0], words[0], "fork and exec", NULL);
        _exit(9);
    }
    wait_for(child);
    char *next[] = {words[0], "vfork", NULL};
    child = vfork();
    if (child == 0) {
        execv(words[0], next);
        _exit(9);
    }
    wait_for(child);
    next[1] = "posix_spawn";
    posix_spawn(&child, words[0], NULL, NULL, next, environ);
    wait_for(child);
    char command[4096];
    snprintf(command, sizeof command, "%s system", words[0]);
    printf("system %d\n", system(command));
    for (int i = 0; i < 1000; i++) free(malloc(i));
    return 0;
}
