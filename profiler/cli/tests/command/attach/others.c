/* others forks: makes children, one after the other, until its input ends, and says how many did not end
   well. others becomes: becomes another program after a line of input. */
#define _GNU_SOURCE
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *blocks[64];

int main(int words, char **word) {
    char line[64];
    puts("ready");
    fflush(stdout);
    if (!strcmp(word[1], "becomes")) {
        fgets(line, sizeof line, stdin);
        for (int i = 0; i < 1000; i++) blocks[i % 64] = malloc(100);
        execlp("sleep", "sleep", "600", (char *)0);
        return 1;
    }
    struct pollfd in = {0, POLLIN, 0};
    long wrong = 0, made = 0;
    for (; poll(&in, 1, 0) == 0; made++) {
        int status = 0;
        pid_t child = made % 3 ? fork() : vfork();
        if (child == 0 && made % 3 == 0) {
            execlp("true", "true", (char *)0);
            _exit(1);
        }
        if (child == 0) {
            for (int i = 0; i < 1000; i++) free(blocks[i % 64]), blocks[i % 64] = malloc(i + 1);
            exit(0);
        }
        free(blocks[made % 64]);
        blocks[made % 64] = malloc(1000);
        if (waitpid(child, &status, 0) != child || status) wrong++;
    }
    printf("wrong %ld\n", wrong);
    return made == 0;
}
