// Calls malloc from generated code, which no unwind table describes: from a function that keeps a
// frame pointer, from one behind it that returns at once, and from one that does neither.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef void *call(void *(*function)(size_t), size_t size);

#ifdef __x86_64__
// push rbp; mov rbp, rsp; mov rax, rdi; mov rdi, rsi; call rax; pop rbp; ret
static const uint8_t linked[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8, 0x48,
                                 0x89, 0xf7, 0xff, 0xd0, 0x5d, 0xc3};
// sub rsp, 24; mov rax, rdi; mov rdi, rsi; call rax; add rsp, 24; ret
static const uint8_t returning[] = {0x48, 0x83, 0xec, 0x18, 0x48, 0x89, 0xf8, 0x48, 0x89,
                                    0xf7, 0xff, 0xd0, 0x48, 0x83, 0xc4, 0x18, 0xc3};
// The same with a nop after the call.
static const uint8_t bare[] = {0x48, 0x83, 0xec, 0x18, 0x48, 0x89, 0xf8, 0x48, 0x89,
                               0xf7, 0xff, 0xd0, 0x90, 0x48, 0x83, 0xc4, 0x18, 0xc3};
#else
static const uint32_t linked[] = {0xa9bf7bfd, 0x910003fd, 0xaa0003e2, 0xaa0103e0,
                                  0xd63f0040, 0xa8c17bfd, 0xd65f03c0};
#define returning linked
static const uint32_t bare[] = {0xa9be7bfd, 0xaa0003e2, 0xaa0103e0, 0xd63f0040, 0xa8c27bfd,
                                0xd65f03c0};
#endif

__attribute__((noinline)) static void through(call *code, size_t size) {
    for (int i = 0; i < 100; i++) free(code(malloc, size));
}

int main(void) {
    uint8_t *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(code + 512, linked, sizeof linked);
    memcpy(code + 1024, returning, sizeof returning);
    memcpy(code + 1536, bare, sizeof bare);
    __builtin___clear_cache((char *)code, (char *)code + 4096);
    through((call *)(code + 512), 2345);
    through((call *)(code + 1024), 3456);
    through((call *)(code + 1536), 1234);
    puts("done");
    return 0;
}
