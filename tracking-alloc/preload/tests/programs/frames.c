// Allocates under frames of several kinds, for `.ci/release aarch64`: each function calls `leaf`.

#include <alloca.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) void *leaf(size_t bytes) {
    void *block = malloc(bytes);
    memset(block, 1, bytes);
    return block;
}

__attribute__((noinline)) void *by_alloca(size_t bytes) {
    volatile char *place = alloca(3 * bytes + 17);
    place[0] = 1;
    void *block = leaf(bytes);
    place[bytes] = 2;
    return block;
}

__attribute__((noinline)) void *large(size_t bytes) {
    volatile char place[100000];
    place[0] = 1;
    void *block = leaf(bytes);
    place[bytes] = 2;
    return block;
}

__attribute__((noinline)) void *variadic(const char *format, ...) {
    va_list list;
    va_start(list, format);
    size_t bytes = va_arg(list, size_t) + (size_t)va_arg(list, double);
    va_end(list);
    void *block = leaf(bytes);
    __asm__ volatile("" : : "r"(block), "r"(format));
    return block;
}

static int compare(const void *left, const void *right) {
    free(leaf(8));
    return *(const int *)left - *(const int *)right;
}

static void *thread(void *unused) {
    (void)unused;
    void *block = by_alloca(33);
    // Without this, the call would be a jump, and this function no longer on the stack.
    __asm__ volatile("" : "+r"(block));
    return block;
}

int main(void) {
    for (int i = 0; i < 100; i++) {
        free(by_alloca(50));
        free(large(60));
        free(variadic("", (size_t)i, 2.0));
    }
    int numbers[] = {3, 1, 2};
    qsort(numbers, 3, sizeof *numbers, compare);
    pthread_t other;
    void *block;
    pthread_create(&other, NULL, thread, NULL);
    pthread_join(other, &block);
    free(block);
    return 0;
}
