// Blocks of each operator new, some of which are deleted, and one request that cannot be met. Prints
// the blocks, their bytes, and those that are live.
#include <cstdio>
#include <new>

struct alignas(64) Wide {
    char bytes[64];
};

int main() {
    static char out[4096];
    setvbuf(stdout, out, _IOFBF, sizeof out);
    static int *lists[1000];
    static Wide *wide[100], *wide_lists[100];
    long blocks = 0, bytes = 0, live = 0;
    auto made = [&](long size) { blocks++, bytes += size, live += size; };
    for (int i = 0; i < 1000; i++) lists[i] = new int[25], made(100);
    for (int i = 0; i < 500; i++) delete[] lists[i], live -= 100;
    for (int i = 0; i < 100; i++) wide[i] = new Wide, made(64);
    for (int i = 0; i < 50; i++) delete wide[i], live -= 64;
    for (int i = 0; i < 100; i++) wide_lists[i] = new Wide[2], made(128);
    for (int i = 0; i < 50; i++) delete[] wide_lists[i], live -= 128;
    void *one = operator new(333), *other = operator new(444, std::nothrow);
    made(333), made(444);
    operator delete(one, 333), live -= 333;
    operator delete(other, std::nothrow), live -= 444;
    int caught = 0;
    try {
        other = operator new(1ul << 60);
    } catch (std::bad_alloc &) {
        caught++;
    }
    if (!operator new(1ul << 60, std::nothrow)) caught++;
    printf("%d %ld %ld %ld\n", caught, blocks, bytes, live);
    return 0;
}
