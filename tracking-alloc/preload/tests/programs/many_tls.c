// A library with a thread-local variable. Loaded under many names, it makes the loader allocate
// when a thread first uses the variable.
static __thread long variable[50];
long *place(void) { return variable; }
