// An executable that exports an allocator of its own, which only its library calls.
#include <stdio.h>
#include <stdlib.h>

extern size_t bump_blocks(void);
extern int work(int);

int main(int count, char **words) {
    int blocks = count > 1 ? atoi(words[1]) : 0;
    size_t before = bump_blocks();
    int answer = work(blocks);
    printf("%d %zu\n", answer, bump_blocks() - before);
    return 0;
}
