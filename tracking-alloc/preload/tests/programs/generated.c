// Calls malloc from generated code, which no unwind table describes.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef void *call(void *(*function)(size_t), size_t size);

int main(void) {
    unsigned char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
#ifdef __x86_64__
    // sub rsp, 24; mov rax, rdi; mov rdi, rsi; call rax; add rsp, 24; ret
    static const unsigned char bytes[] = {0x48, 0x83, 0xec, 0x18, 0x48, 0x89, 0xf8, 0x48, 0x89,
                                          0xf7, 0xff, 0xd0, 0x48, 0x83, 0xc4, 0x18, 0xc3};
#else
    static const uint32_t bytes[] = {0xa9be7bfd, 0xaa0003e2, 0xaa0103e0, 0xd63f0040, 0xa8c27bfd,
                                     0xd65f03c0};
#endif
    memcpy(code, bytes, sizeof bytes);
    __builtin___clear_cache((char *)code, (char *)code + sizeof bytes);
    for (int i = 0; i < 100; i++) free(((call *)code)(malloc, 1234));
    puts("done");
    return 0;
}
