// Says which stacks ask for how many bytes, and what they are for: as watch.rs does.
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <execinfo.h>
#include <fstream>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <new>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

struct Row { int load; size_t bytes; int depth; void *frames[64]; };
static Row rows[4096];
static int count, current;

static void *watched(size_t bytes) {
    if (current && count < 4096) {
        Row &row = rows[count++];
        row.load = current;
        row.bytes = bytes;
        current = 0;
        row.depth = backtrace(row.frames, 64);
        current = row.load;
    }
    return malloc(bytes);
}

__attribute__((noinline)) void *operator new(size_t bytes) { return watched(bytes); }
void operator delete(void *block) noexcept { free(block); }
void operator delete(void *block, size_t) noexcept { free(block); }

namespace app {
struct Point { long x, y; };
struct Track { std::string name; std::vector<Point> points; };

__attribute__((noinline)) std::vector<int> numbers() {
    std::vector<int> made;
    for (int at = 0; at < 100; at++) made.push_back(at);
    return made;
}
__attribute__((noinline)) std::vector<bool> flags() { return std::vector<bool>(1000, true); }
__attribute__((noinline)) std::string text(size_t length) {
    std::string made;
    for (size_t at = 0; at < length; at++) made += char('a' + at % 26);
    return made;
}
__attribute__((noinline)) std::vector<std::string> texts() {
    std::vector<std::string> made;
    made.reserve(10);
    for (int at = 0; at < 10; at++) made.push_back(text(40));
    return made;
}
__attribute__((noinline)) std::vector<Track> tracks() {
    std::vector<Track> made;
    made.emplace_back();
    made.back().points.resize(7);
    return made;
}
__attribute__((noinline)) std::map<int, int> tree() {
    std::map<int, int> made;
    for (int at = 0; at < 10; at++) made[at] = at;
    return made;
}
// The nodes of the copied map are no block of the vector.
__attribute__((noinline)) std::vector<std::map<int, int>> trees(const std::map<int, int> &one) {
    std::vector<std::map<int, int>> made;
    made.push_back(one);
    return made;
}
__attribute__((noinline)) std::deque<int> queue() { return std::deque<int>(100, 1); }
__attribute__((noinline)) std::unique_ptr<Point> point() { return std::make_unique<Point>(); }
__attribute__((noinline)) std::unique_ptr<Point[]> points() { return std::make_unique<Point[]>(9); }
__attribute__((noinline)) std::set<long> keys() {
    std::set<long> made;
    for (long at = 0; at < 10; at++) made.insert(at);
    return made;
}
// The texts are no blocks of the map.
__attribute__((noinline)) std::multimap<std::string, Point> names() {
    std::multimap<std::string, Point> made;
    for (int at = 0; at < 10; at++) made.emplace(std::string(40, 'x'), Point());
    return made;
}
__attribute__((noinline)) std::unordered_map<int, Point> table() {
    std::unordered_map<int, Point> made;
    for (int at = 0; at < 100; at++) made[at] = Point();
    return made;
}
__attribute__((noinline)) std::unordered_set<long> members() {
    std::unordered_set<long> made;
    for (long at = 0; at < 100; at++) made.insert(at);
    return made;
}
__attribute__((noinline)) std::list<Point> chain() { return std::list<Point>(10); }
__attribute__((noinline)) std::shared_ptr<Point> shared() { return std::make_shared<Point>(); }
struct Work { char held[500]; void operator()() const {} };
__attribute__((noinline)) std::function<void()> work() { return Work(); }
// The value is made by the program, and only the counts by the library.
__attribute__((noinline)) std::shared_ptr<Point> adopted() { return std::shared_ptr<Point>(new Point()); }
}

static std::vector<void *> bases;
template <class F> static auto load(int number, F work) {
    current = number;
    auto made = work();
    current = 0;
    return made;
}

struct Map { unsigned long start, end, base; char path[512]; };
static Map maps[256];

int main() {
    auto a = load(1, app::numbers);
    auto b = load(2, [] { return app::text(1000); });
    auto c = load(3, app::texts);
    auto d = load(4, app::tracks);
    auto e = load(5, app::tree);
    auto f = load(6, [&] { return app::trees(e); });
    auto g = load(7, app::queue);
    auto h = load(8, app::point);
    auto i = load(9, app::flags);
    auto j = load(10, app::keys);
    auto k = load(11, app::names);
    auto l = load(12, app::table);
    auto m = load(13, app::members);
    auto n = load(14, app::chain);
    auto o = load(15, app::shared);
    auto p = load(16, app::work);
    auto q = load(17, app::adopted);
    auto r = load(18, app::points);
    p();
    printf("want 1|std::vector<int>|%d\n", 4 * (1 + 2 + 4 + 8 + 16 + 32 + 64 + 128));
    printf("want 2|std::string|0\n");
    printf("want 3|std::vector<std::string>|%zu\n", 10 * sizeof(std::string));
    printf("want 3|std::string|0\n");
    printf("want 4|std::vector<app::Track>|%zu\n", sizeof(app::Track));
    printf("want 4|std::vector<app::Point>|%zu\n", 7 * sizeof(app::Point));
    printf("want 5|std::map<int, int>|0\n");
    printf("want 6|std::map<int, int>|0\n");
    printf("want 6|std::vector<std::map<int, int>>|%zu\n", sizeof(std::map<int, int>));
    printf("want 7|std::deque<int>|0\n");
    printf("want 8|std::unique_ptr<app::Point>|%zu\n", sizeof(app::Point));
    printf("want 9|std::vector<bool>|%d\n", 128);
    printf("want 10|std::set<long>|0\n");
    printf("want 11|std::multimap<std::string, app::Point>|0\n");
    printf("want 11|std::string|%d\n", 10 * 41);
    printf("want 12|std::unordered_map<int, app::Point>|0\n");
    printf("want 13|std::unordered_set<long>|0\n");
    printf("want 14|std::list<app::Point>|%d\n", 10 * 32);
    printf("want 15|std::shared_ptr<app::Point>|%d\n", 32);
    printf("want 16|std::function<void ()>|%zu\n", sizeof(app::Work));
    printf("want 17|?|%zu\n", sizeof(app::Point));
    printf("want 17|std::shared_ptr<app::Point>|%d\n", 24);
    printf("want 18|std::unique_ptr<app::Point []>|%zu\n", 9 * sizeof(app::Point));
    int known = 0;
    FILE *file = fopen("/proc/self/maps", "r");
    char line[1024];
    while (known < 256 && fgets(line, sizeof line, file)) {
        Map &map = maps[known];
        map.path[0] = 0;
        sscanf(line, "%lx-%lx %*s %*s %*s %*s %511s", &map.start, &map.end, map.path);
        map.base = map.start;
        for (int at = 0; at < known; at++)
            if (std::string(maps[at].path) == map.path) { map.base = maps[at].base; break; }
        known++;
    }
    for (int at = 0; at < count; at++) {
        printf("row %d|%zu|", rows[at].load, rows[at].bytes);
        for (int frame = 0; frame < rows[at].depth; frame++) {
            unsigned long address = (unsigned long)rows[at].frames[frame];
            for (int map = 0; map < known; map++)
                if (maps[map].start <= address && address < maps[map].end)
                    printf("%s@%lu ", maps[map].path, address - maps[map].base);
        }
        printf("\n");
    }
    return a.size() + b.size() + c.size() + d.size() + e.size() + f.size() + g.size() + i.size() + !h + j.size() + k.size()
        + l.size() + m.size() + n.size() + !o + !q + !r == 0;
}
