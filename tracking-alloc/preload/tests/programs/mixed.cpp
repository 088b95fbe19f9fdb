// C++ without frame pointers: containers, exceptions, and a callback from C.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

static std::vector<std::string> kept;

__attribute__((noinline)) static void fail(int number) {
    if (number % 10 == 0) throw std::runtime_error("number " + std::to_string(number) + " with a long text");
    kept.push_back("a string that is too long to be stored inside " + std::to_string(number));
}

extern "C" int compare(const void *a, const void *b) {
    char *volatile block = new char[777];
    int difference = *(const int *)a - *(const int *)b + block[0] * 0;
    delete[] block;
    return difference;
}

__attribute__((noinline)) static int sort() {
    int numbers[50];
    for (int i = 0; i < 50; i++) numbers[i] = (i * 37) % 50;
    qsort(numbers, 50, sizeof(int), compare);
    return numbers[7];
}

int main() {
    std::map<int, std::string> failed;
    for (int i = 0; i < 1000; i++) {
        try {
            fail(i);
        } catch (const std::exception &error) {
            failed[i] = error.what();
        }
    }
    std::printf("%zu %zu %d\n", kept.size(), failed.size(), sort());
    return 0;
}
