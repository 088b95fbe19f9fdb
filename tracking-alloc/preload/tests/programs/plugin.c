// A library that allocates. NAME is its function. Built twice, as two libraries.
#include <stdlib.h>

#ifndef NAME
#define NAME allocate_one
#endif

int answer(void) { return 42; }

void *NAME(int size) { return malloc(size); }
void release(void *block) { free(block); }
int call_answer(void) { return answer(); }
