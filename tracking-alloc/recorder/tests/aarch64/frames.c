// Functions with frames of every kind that compilers lay out. `make` builds them.

typedef unsigned long size;

void *outside(void *, size);
double number(double);
_Noreturn void ends(int);

// It saves nothing.
size leaf(size n) { return n * 7 + 3; }

void *plain(size n) {
    void *block = outside(0, n);
    return outside(block, n + 1);
}

// The stack pointer moves, so the frame's end is counted from x29.
void *by_alloca(size n) {
    volatile char *place = __builtin_alloca(3 * n + 17);
    place[0] = 1;
    void *block = outside((void *)place, n);
    place[n] = 2;
    return block;
}

// The return address lies far from the frame's end, or far from the stack pointer.
void *large(size n) {
    volatile char place[100000];
    place[5] = 1;
    void *block = outside((void *)place, n);
    place[n] = 2;
    return block;
}

// Too large for a rule.
void *huge(size n) {
    volatile char place[9 << 20];
    place[n] = 1;
    return outside((void *)place, n);
}

// The end of a variadic function's frame holds the registers of its arguments.
void *variadic(const char *format, ...) {
    __builtin_va_list list;
    __builtin_va_start(list, format);
    size n = __builtin_va_arg(list, size) + (size)__builtin_va_arg(list, double);
    __builtin_va_end(list);
    return outside((void *)format, n);
}

// Every register that a function has to save.
double registers(size *a, double *b) {
    size v0 = a[0], v1 = a[1], v2 = a[2], v3 = a[3], v4 = a[4], v5 = a[5];
    size v6 = a[6], v7 = a[7], v8 = a[8], v9 = a[9], v10 = a[10], v11 = a[11];
    double d0 = b[0], d1 = b[1], d2 = b[2], d3 = b[3], d4 = b[4], d5 = b[5], d6 = b[6], d7 = b[7];
    outside(a, v0);
    number(d0);
    size sum = v0 + v1 * v2 + v3 * v4 + v5 * v6 + v7 * v8 + v9 * v10 + v11;
    return sum + d0 * d1 + d2 * d3 + d4 * d5 + d6 * d7;
}

// Its stack pointer is a multiple of 256.
void *realigned(size n) {
    _Alignas(256) volatile char place[512];
    place[n] = 1;
    return outside((void *)place, n);
}

// Arguments on the stack of the called function.
size many(size, size, size, size, size, size, size, size, size, size, size);
size passes(size n) { return many(n, 1, 2, 3, 4, 5, 6, 7, 8, 9, n) + 1; }

// It saves its registers on one of two ways only.
void *sometimes(size *n) {
    if (*n == 0) {
        return n;
    }
    void *block = outside(n, *n);
    outside(block, *n + 1);
    return n;
}

void stops(size n) {
    if (outside(0, n)) {
        ends(1);
    }
    ends(2);
}

// The start of a stack, and the frame of a signal handler's caller.
__asm__(".text\n"
        ".globl outermost\n.type outermost, %function\n"
        "outermost:\n.cfi_startproc\n.cfi_undefined x30\nbl outside\nnop\n.cfi_endproc\n"
        ".size outermost, . - outermost\n"
        ".globl handled\n.type handled, %function\n"
        "handled:\n.cfi_startproc\n.cfi_signal_frame\n.cfi_def_cfa x29, 16\n.cfi_offset x29, -16\n"
        ".cfi_offset x30, -8\nmov x8, #139\nsvc #0\n.cfi_endproc\n.size handled, . - handled\n");
