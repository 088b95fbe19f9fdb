// Loads a library by its name, which only this library's own path leads to.
#include <dlfcn.h>
#include <stddef.h>

int load(void) { return dlopen("libsub_of_finder.so", RTLD_NOW) != NULL; }
