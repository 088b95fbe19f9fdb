// Becomes itself again by the function that the first argument names, with three more arguments.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

extern char **environ;

int main(int count, char **words) {
    if (count > 3) {
        for (int i = 1; i < count; i++) printf("%s ", words[i]);
        printf("ADDED=%s\n", getenv("ADDED") ? getenv("ADDED") : "");
        return 0;
    }
    const char *how = words[1];
    char *self = words[0];
    char *list[] = {self, "a", "b", "c", "d", "e", "f", "g", NULL};
    char *with[100] = {"ADDED=1"};
    for (int i = 0; environ[i] && i < 90; i++) with[i + 1] = environ[i];
    if (!strcmp(how, "execve")) execve(self, list, with);
    if (!strcmp(how, "execv")) execv(self, list);
    if (!strcmp(how, "execvp")) execvp(self, list);
    if (!strcmp(how, "execvpe")) execvpe(self, list, with);
    if (!strcmp(how, "fexecve")) fexecve(open(self, O_RDONLY | O_CLOEXEC), list, with);
    if (!strcmp(how, "execveat")) execveat(AT_FDCWD, self, list, with, 0);
    if (!strcmp(how, "execl")) execl(self, self, "a", "b", "c", "d", "e", "f", "g", NULL);
    if (!strcmp(how, "execlp")) execlp(self, self, "a", "b", "c", "d", NULL);
    if (!strcmp(how, "execle")) execle(self, self, "a", "b", "c", NULL, with);
    if (!strcmp(how, "failing")) {
        int answer = execl("/nowhere", "/nowhere", NULL);
        printf("answer %d\n", answer);
        return 0;
    }
    return 9;
}
