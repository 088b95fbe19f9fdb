// Fills and empties containers, and throws exceptions, as often as the argument says.
#include <cstdio>
#include <cstdlib>
#include <list>
#include <map>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

static unsigned long lookups;

static void check(int number) {
    if (number % 50 == 0) throw std::runtime_error("number " + std::to_string(number) + " is a multiple of fifty");
    lookups++;
}

static size_t once(int seed) {
    std::map<int, std::string> ordered;
    std::unordered_map<std::string, std::vector<int>> hashed;
    std::list<std::string> listed;
    for (int i = 0; i < 2000; i++) {
        int key = (i * 7919 + seed) % 2003;
        ordered[key] = "a string that is too long to be stored inside " + std::to_string(i);
        hashed["the list with the number " + std::to_string(key % 300)].push_back(i);
        listed.push_back(ordered[key] + " and its copy");
        try {
            check(i);
        } catch (const std::exception &error) {
            listed.push_back(error.what());
        }
    }
    for (int key = 0; key < 2003; key += 2) ordered.erase(key);
    listed.sort();
    return ordered.size() + hashed.size() + listed.size();
}

int main(int count, char **words) {
    int times = count > 1 ? std::atoi(words[1]) : 1;
    size_t sum = 0;
    for (int i = 0; i < times; i++) sum += once(i);
    std::printf("%zu %lu\n", sum, lookups);
    return 0;
}
