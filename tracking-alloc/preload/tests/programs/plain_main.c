// A main without an unwind table, directly behind a function that keeps a frame pointer.
#include <stdlib.h>

__attribute__((noinline, optimize("no-omit-frame-pointer"))) void before(void **place) {
    free(*place);
}

int main(void) {
    for (int i = 0; i < 100; i++) {
        void *block = malloc(4567);
        before(&block);
    }
    return 0;
}
