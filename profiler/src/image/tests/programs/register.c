/* A thread that computes, with the only pointer to a block of 100,000 bytes in a register. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uintptr_t hidden;

__attribute__((noinline)) static void hide(void) {
    void *block = malloc(100000);
    memset(block, 1, 100000);
    hidden = ~(uintptr_t)block;
}

/* Overwrites what functions have left below the stack pointer. */
__attribute__((noinline)) static void clear(void) {
    char below[32768];
    memset(below, 0, sizeof below);
    __asm__ volatile("" : : "r"(below) : "memory");
}

int main() {
    hide();
    puts("ready");
    fflush(stdout);
    clear();
    __asm__ volatile("mov %0, %%r12\n\tnot %%r12\n1:\tpause\n\tjmp 1b" : : "m"(hidden) : "r12");
}
