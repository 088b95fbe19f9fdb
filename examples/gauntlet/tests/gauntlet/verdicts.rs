//! Tests the verdicts of given figures: each claim must compare the figures that it names, in their
//! order.

use heapglass_gauntlet::Verdict::{self, Contradicted, NotJudged, Reproduced, Stronger, Weaker};
use heapglass_gauntlet::{Claim, Compared, Found, Judged, Span, find};

/// The figures of a case, the verdicts of its claims, and two figures whose swap changes a verdict.
struct Fixture {
    id: &'static str,
    figures: &'static [(&'static str, &'static str, f64)],
    verdicts: &'static [Verdict],
    swapped: [(&'static str, &'static str); 2],
}

const DOM_TO_RECORD: &str = "serde_json DOM to the record, deserialize";
const SAX_TO_RECORD: &str = "serde_json SAX to the record, deserialize";

const FIXTURES: &[Fixture] = &[
    Fixture {
        id: "2.4",
        // The largest gain is at another size, and another allocator is the slowest of the others.
        figures: &[
            ("glibc 16 B", "time_ns", 130.0),
            ("jemalloc 16 B", "time_ns", 150.0),
            ("mimalloc 16 B", "time_ns", 120.0),
            ("bumpalo 16 B", "time_ns", 110.0),
            ("glibc 32 B", "time_ns", 900.0),
            ("jemalloc 32 B", "time_ns", 900.0),
            ("mimalloc 32 B", "time_ns", 900.0),
            ("bumpalo 32 B", "time_ns", 100.0),
            ("glibc 64 B", "time_ns", 900.0),
            ("jemalloc 64 B", "time_ns", 700.0),
            ("mimalloc 64 B", "time_ns", 800.0),
            ("bumpalo 64 B", "time_ns", 100.0),
            ("glibc 128 B", "time_ns", 900.0),
            ("jemalloc 128 B", "time_ns", 900.0),
            ("mimalloc 128 B", "time_ns", 900.0),
            ("bumpalo 128 B", "time_ns", 100.0),
            ("glibc 256 B", "time_ns", 900.0),
            ("jemalloc 256 B", "time_ns", 900.0),
            ("mimalloc 256 B", "time_ns", 900.0),
            ("bumpalo 256 B", "time_ns", 100.0),
        ],
        verdicts: &[Reproduced, Contradicted],
        swapped: [("mimalloc 16 B", "time_ns"), ("bumpalo 32 B", "time_ns")],
    },
    Fixture {
        id: "0.1",
        figures: &[
            ("global", "time_ns", 190.0),
            ("bumpalo, pre-sized", "time_ns", 100.0),
            ("bumpalo", "time_ns", 120.0),
            ("global, 100k", "time_ns", 15.0),
            ("bumpalo, pre-sized, 100k", "time_ns", 10.0),
            // This variant is not the source's, whose arena is sized in advance.
            ("bumpalo, 100k", "time_ns", 90.0),
        ],
        verdicts: &[Reproduced, Reproduced, Contradicted],
        swapped: [("global", "time_ns"), ("bumpalo", "time_ns")],
    },
    Fixture {
        id: "0.2",
        figures: &[("global", "time_ns", 250.0), ("bumpalo", "time_ns", 100.0)],
        verdicts: &[Weaker],
        swapped: [("global", "time_ns"), ("bumpalo", "time_ns")],
    },
    Fixture {
        id: "0.3",
        figures: &[
            ("by the size of the data", "total_blocks", 2.0),
            ("by what was used", "total_blocks", 1.0),
            ("grown", "time_ns", 104.0),
            ("by the size of the data", "time_ns", 100.0),
        ],
        verdicts: &[Contradicted, Reproduced],
        swapped: [
            ("by the size of the data", "total_blocks"),
            ("by what was used", "total_blocks"),
        ],
    },
    Fixture {
        id: "0.24",
        figures: &[
            ("heap", "time_ns", 105.0),
            ("heap, used before", "time_ns", 300.0),
            ("heap, between live blocks", "time_ns", 102.0),
            ("bumpalo", "time_ns", 100.0),
            ("heap, at random", "time_ns", 900.0),
            ("bumpalo, at random", "time_ns", 500.0),
        ],
        verdicts: &[Contradicted, Reproduced, Contradicted, Reproduced],
        swapped: [("heap", "time_ns"), ("heap, used before", "time_ns")],
    },
    Fixture {
        id: "0.25",
        figures: &[
            ("glibc", "time_ns", 100.0),
            ("glibc, a program", "time_ns", 101.0),
            ("musl, a program", "time_ns", 200.0),
            ("mimalloc", "time_ns", 70.0),
        ],
        verdicts: &[Reproduced],
        swapped: [("musl, a program", "time_ns"), ("mimalloc", "time_ns")],
    },
    Fixture {
        id: "2.1",
        figures: &[
            ("heap", "time_ns", 300.0),
            ("static", "time_ns", 20.0),
            ("stack", "time_ns", 290.0),
        ],
        verdicts: &[Reproduced, Contradicted],
        swapped: [("static", "time_ns"), ("stack", "time_ns")],
    },
    Fixture {
        id: "0.6",
        figures: &[
            ("bumpalo, own Vec", "time_ns", 125.0),
            ("bump-scope, own Vec", "time_ns", 100.0),
            ("bumpalo, same Vec", "time_ns", 99.0),
            ("bump-scope, same Vec", "time_ns", 100.0),
        ],
        verdicts: &[Weaker, Reproduced],
        swapped: [
            ("bumpalo, own Vec", "time_ns"),
            ("bump-scope, own Vec", "time_ns"),
        ],
    },
    Fixture {
        id: "0.10",
        figures: &[
            ("String", "inline bytes", 24.0),
            ("buckets", "inline bytes", 6.0),
        ],
        verdicts: &[Stronger],
        swapped: [("String", "inline bytes"), ("buckets", "inline bytes")],
    },
    Fixture {
        id: "0.11",
        figures: &[
            ("validate, then store", "time_ns", 100.0),
            ("store, then truncate", "time_ns", 131.0),
            ("deferred", "time_ns", 54.0),
            ("deferred, 1 % validated later", "time_ns", 55.0),
            ("ASCII fast path", "time_ns", 85.0),
            ("validate, then store, mixed", "time_ns", 200.0),
            ("store, then truncate, mixed", "time_ns", 180.0),
            ("deferred, 1 % validated later, mixed", "time_ns", 230.0),
        ],
        verdicts: &[
            Stronger,
            Contradicted,
            Reproduced,
            Reproduced,
            Reproduced,
            Reproduced,
            Contradicted,
        ],
        swapped: [("validate, then store", "time_ns"), ("deferred", "time_ns")],
    },
    Fixture {
        id: "0.12",
        figures: &[
            ("global", "time_ns", 212.0),
            ("thread-local arena", "time_ns", 100.0),
            ("lazy, RefCell", "time_ns", 93.0),
        ],
        verdicts: &[Reproduced, Contradicted],
        swapped: [("global", "time_ns"), ("thread-local arena", "time_ns")],
    },
    Fixture {
        id: "0.14",
        figures: &[
            // Neither keeps its pages, as the source's do.
            ("thread-local arena", "time_ns", 82.0),
            ("thread-local arena, pages kept", "time_ns", 118.0),
            ("by hand, bumpalo, pages kept", "time_ns", 100.0),
            ("derive, bumpalo, pages kept", "time_ns", 120.0),
            ("derive, bumpalo", "time_ns", 100.0),
            ("global", "time_ns", 180.0),
            ("derive, bumpalo, released", "global_release_ns", 900.0),
            ("derive, bumpalo, released", "release_ns", 10.0),
        ],
        verdicts: &[Reproduced, Contradicted, Weaker, Reproduced],
        swapped: [
            ("thread-local arena", "time_ns"),
            ("thread-local arena, pages kept", "time_ns"),
        ],
    },
    Fixture {
        id: "0.16",
        figures: &[
            ("glibc", "time_ns", 195.0),
            ("mimalloc", "time_ns", 100.0),
            ("arena, derive", "time_ns", 40.0),
        ],
        verdicts: &[Reproduced, Stronger],
        swapped: [("glibc", "time_ns"), ("mimalloc", "time_ns")],
    },
    Fixture {
        id: "0.17",
        figures: &[
            ("pass 1", "time_ns", 361.0),
            ("pass 2, in place", "time_ns", 100.0),
            ("pass 1, mimalloc", "time_ns", 110.0),
            ("pass 2, in place, mimalloc", "time_ns", 100.0),
            ("not read", "code_bytes", 100.0),
            ("pass 1", "code_bytes", 200.0),
            ("pass 2, in place", "code_bytes", 290.0),
        ],
        verdicts: &[Stronger, Reproduced, Reproduced],
        swapped: [("pass 1", "time_ns"), ("pass 1, mimalloc", "time_ns")],
    },
    Fixture {
        id: "0.19",
        figures: &[
            ("lasso, all different", "time_ns", 766.0),
            ("String, all different", "time_ns", 100.0),
            ("lasso, airlines", "time_ns", 140.0),
            ("String, airlines", "time_ns", 100.0),
        ],
        verdicts: &[Stronger],
        swapped: [
            ("lasso, all different", "time_ns"),
            ("lasso, airlines", "time_ns"),
        ],
    },
    Fixture {
        id: "1.3",
        figures: &[("vec", "time_ns", 336.0), ("zerovec", "time_ns", 100.0)],
        verdicts: &[Reproduced],
        swapped: [("vec", "time_ns"), ("zerovec", "time_ns")],
    },
    Fixture {
        id: "2.10",
        figures: &[
            ("push, 5", "time_ns", 280.0),
            ("with_capacity, 5", "time_ns", 100.0),
            ("push, 20", "time_ns", 105.0),
            ("with_capacity, 20", "time_ns", 100.0),
            ("push, 100", "time_ns", 340.0),
            ("with_capacity, 100", "time_ns", 100.0),
            ("push, 1000", "time_ns", 130.0),
            ("with_capacity, 1000", "time_ns", 100.0),
            // Longer lists are not judged.
            ("push, 100000", "time_ns", 50.0),
            ("with_capacity, 100000", "time_ns", 100.0),
            ("push_str, 50 B", "time_ns", 220.0),
            ("String::with_capacity, 50 B", "time_ns", 100.0),
            ("push_str, 200 B", "time_ns", 150.0),
            ("String::with_capacity, 200 B", "time_ns", 100.0),
        ],
        verdicts: &[
            Reproduced,
            Contradicted,
            Reproduced,
            Reproduced,
            Reproduced,
            Reproduced,
        ],
        swapped: [("push, 5", "time_ns"), ("push, 20", "time_ns")],
    },
    Fixture {
        id: "3.5",
        figures: &[
            ("clone", "records", 10.0),
            ("Arc, 4 threads", "records", 400.0),
            ("Arc, 4 threads", "time_ns", 16_000.0),
            ("Arc, 4 threads", "cores", 2.0),
            ("Arcs in 54 KiB", "records", 10.0),
            ("Arcs in 54 KiB", "time_ns", 34.0),
            ("Arcs in 427 MiB", "records", 10.0),
            ("Arcs in 427 MiB", "time_ns", 380.0),
        ],
        verdicts: &[Reproduced, Reproduced, Weaker],
        swapped: [("Arc, 4 threads", "records"), ("Arc, 4 threads", "time_ns")],
    },
    Fixture {
        id: "3.6",
        figures: &[
            ("Box<dyn>", "time_ns", 1_400.0),
            ("enum_dispatch", "time_ns", 100.0),
            ("Box<dyn>, calls alone", "time_ns", 311.0),
            ("enum_dispatch, calls alone", "time_ns", 100.0),
        ],
        verdicts: &[Reproduced],
        swapped: [
            ("Box<dyn>", "time_ns"),
            ("Box<dyn>, calls alone", "time_ns"),
        ],
    },
    Fixture {
        id: "3.8",
        figures: &[
            ("serde_json", "time_ns", 141.0),
            ("json", "time_ns", 100.0),
            ("serde_json", "total_bytes", 100.0),
            ("json", "total_bytes", 107.0),
            // This figure is without the source's reader.
            ("serde_json", "peak_bytes", 5_600.0),
            ("json", "peak_bytes", 4_444.0),
            ("serde_json by BufRead", "peak_bytes", 15_600.0),
            ("json by BufRead", "peak_bytes", 14_444.0),
        ],
        verdicts: &[Reproduced, Reproduced, Weaker],
        swapped: [
            ("serde_json", "total_bytes"),
            ("serde_json by BufRead", "peak_bytes"),
        ],
    },
    Fixture {
        id: "3.12",
        figures: &[
            ("binary: release, debug = 2", "file_bytes", 1_000.0),
            ("binary: debug = 0", "file_bytes", 900.0),
            ("binary: strip", "file_bytes", 700.0),
            // One is of the runner's own process, the other of the program: neither is the
            // source's.
            ("binary: strip", "code_bytes", 10.0),
            ("binary: strip", "binary_code_bytes", 20.0),
        ],
        verdicts: &[Weaker, Reproduced],
        swapped: [
            ("binary: strip", "file_bytes"),
            ("binary: strip", "code_bytes"),
        ],
    },
    Fixture {
        id: "0.5",
        figures: &[("talc", "time_ns", 120.0), ("dlmalloc", "time_ns", 100.0)],
        verdicts: &[Reproduced],
        swapped: [("talc", "time_ns"), ("dlmalloc", "time_ns")],
    },
    Fixture {
        id: "0.22",
        figures: &[
            ("json, people, glibc", "time_ns", 110.0),
            ("json, people, mimalloc", "time_ns", 100.0),
            ("postcard, glibc", "time_ns", 200.0),
            ("postcard, mimalloc", "time_ns", 100.0),
        ],
        verdicts: &[Reproduced],
        swapped: [
            ("json, people, glibc", "time_ns"),
            ("postcard, glibc", "time_ns"),
        ],
    },
    Fixture {
        id: "0.23",
        // Figures that were not measured in Firefox are not judged.
        figures: &[
            ("Chromium", "global, 1000000, ms", 500.0),
            ("Chromium", "global, 100000, ms", 16.5),
            ("Chromium", "global, talc, 1000000, ms", 400.0),
            ("Chromium", "bumpalo, pre-sized, 1000000, ms", 100.0),
            ("Chromium", "bumpalo, pre-sized, 100000, ms", 10.0),
            ("Chromium", "bumpalo, 1000000, ms", 105.0),
            ("Chromium", "bump-scope, 1000000, ms", 70.0),
            ("Chromium", "bumpalo, same Vec, 1000000, ms", 60.0),
            ("Chromium", "bump-scope, same Vec, 1000000, ms", 40.0),
            (
                "Chromium",
                "String, names of 2 to 80 bytes, 200000, ms",
                20.0,
            ),
            (
                "Chromium",
                "compact_str, names of 2 to 80 bytes, 200000, ms",
                22.0,
            ),
            ("Firefox", "global, 1000000, ms", 218.0),
            ("Firefox", "bumpalo, pre-sized, 1000000, ms", 78.0),
        ],
        verdicts: &[
            Reproduced,
            Reproduced,
            Reproduced,
            Contradicted,
            Weaker,
            Contradicted,
            Reproduced,
            Stronger,
            NotJudged,
            NotJudged,
            NotJudged,
            NotJudged,
            NotJudged,
            NotJudged,
        ],
        swapped: [
            ("Chromium", "global, 1000000, ms"),
            ("Chromium", "global, 100000, ms"),
        ],
    },
    Fixture {
        id: "1.1",
        figures: &[("vec", "time_ns", 1_160.0), ("zerovec", "time_ns", 100.0)],
        verdicts: &[Reproduced],
        swapped: [("vec", "time_ns"), ("zerovec", "time_ns")],
    },
    Fixture {
        id: "1.2",
        figures: &[("vec", "time_ns", 440.0), ("zerovec", "time_ns", 100.0)],
        verdicts: &[Weaker],
        swapped: [("vec", "time_ns"), ("zerovec", "time_ns")],
    },
    Fixture {
        id: "1.4",
        figures: &[
            ("slice", "time_ns", 100.0),
            ("zerovec", "time_ns", 101.0),
            ("zerovec unaligned", "time_ns", 131.0),
        ],
        verdicts: &[Reproduced],
        swapped: [("slice", "time_ns"), ("zerovec unaligned", "time_ns")],
    },
    Fixture {
        id: "1.5",
        figures: &[
            ("slice", "time_ns", 100.0),
            ("zerovec", "time_ns", 101.0),
            ("slice, ever others", "time_ns", 100.0),
            ("zerovec, ever others", "time_ns", 131.0),
        ],
        verdicts: &[Contradicted, Reproduced],
        swapped: [("zerovec", "time_ns"), ("zerovec, ever others", "time_ns")],
    },
    Fixture {
        id: "1.6",
        figures: &[
            ("u32 slice, copied first", "time_ns", 150.0),
            ("u32 zerovec", "time_ns", 100.0),
            ("char slice, copied first", "time_ns", 900.0),
            ("char zerovec", "time_ns", 100.0),
        ],
        verdicts: &[Weaker, Reproduced],
        swapped: [
            ("u32 slice, copied first", "time_ns"),
            ("char slice, copied first", "time_ns"),
        ],
    },
    Fixture {
        id: "1.7",
        figures: &[
            ("vec of String", "time_ns", 580.0),
            ("vec of &str", "time_ns", 102.0),
            ("varzerovec", "time_ns", 100.0),
            ("count in varzerovec", "time_ns", 170.0),
            ("count in vec", "time_ns", 100.0),
        ],
        verdicts: &[Reproduced, Weaker, Reproduced],
        swapped: [("vec of String", "time_ns"), ("vec of &str", "time_ns")],
    },
    Fixture {
        id: "1.8",
        figures: &[
            ("vec, 1", "time_ns", 100.0),
            ("varzerovec, 1", "time_ns", 80.0),
            ("vec, 10", "time_ns", 100.0),
            ("varzerovec, 10", "time_ns", 178.0),
            ("vec, ever others", "time_ns", 100.0),
            ("varzerovec, ever others", "time_ns", 130.0),
        ],
        verdicts: &[Contradicted, Reproduced, Weaker],
        swapped: [("varzerovec, 1", "time_ns"), ("varzerovec, 10", "time_ns")],
    },
    Fixture {
        id: "1.9",
        figures: &[
            ("zeromap look up", "time_ns", 300.0),
            ("hashmap look up", "time_ns", 100.0),
        ],
        verdicts: &[Reproduced],
        swapped: [
            ("zeromap look up", "time_ns"),
            ("hashmap look up", "time_ns"),
        ],
    },
    Fixture {
        id: "3.1",
        figures: &[
            ("HashMap<String, Vec>", "records", 10.0),
            ("Vec of (String, Vec<String>)", "live_bytes", 820.0),
            ("Vec of (String, Vec<String>)", "payload_bytes", 100.0),
            ("HashMap<String, Vec<String>>", "live_bytes", 980.0),
            ("HashMap<String, Vec<String>>", "payload_bytes", 100.0),
        ],
        verdicts: &[Reproduced, Stronger],
        swapped: [
            ("Vec of (String, Vec<String>)", "live_bytes"),
            ("Vec of (String, Vec<String>)", "payload_bytes"),
        ],
    },
    Fixture {
        id: "3.3",
        figures: &[
            ("Vec<String>", "records", 50_000.0),
            ("Vec<String>", "usable_bytes", 2_453_667.0),
            ("Nested", "usable_bytes", 1_918_894.0),
            ("Vec<String>", "peak_bytes", 2_210_511.0),
        ],
        verdicts: &[Reproduced, Reproduced, Reproduced],
        swapped: [("Vec<String>", "usable_bytes"), ("Nested", "usable_bytes")],
    },
    Fixture {
        id: "3.7",
        figures: &[
            ("value", "records", 4_408.0),
            ("value", "total_bytes", 24_912_640.0),
            ("value", "total_blocks", 193_952.0),
            ("typed", "total_blocks", 22_040.0),
            ("value", "key_bytes", 1_000_000.0),
            ("value", "text_bytes", 1_625_792.0),
            ("value", "peak_bytes", 5_600.0),
            ("value by BufRead", "peak_bytes", 17_000.0),
        ],
        verdicts: &[
            Reproduced,
            Reproduced,
            Reproduced,
            Reproduced,
            Contradicted,
            Reproduced,
        ],
        swapped: [("value", "total_blocks"), ("typed", "total_blocks")],
    },
    Fixture {
        id: "3.9",
        figures: &[
            ("serde_json, glibc", "time_ns", 160.0),
            ("json, glibc", "time_ns", 100.0),
            ("serde_json, jemalloc", "time_ns", 250.0),
            ("json, jemalloc", "time_ns", 100.0),
        ],
        verdicts: &[Reproduced, Stronger],
        swapped: [
            ("serde_json, glibc", "time_ns"),
            ("serde_json, jemalloc", "time_ns"),
        ],
    },
    Fixture {
        id: "4.1",
        figures: &[
            ("serde_json DOM, serialize", "input_bytes", 600.0),
            ("serde_json DOM, serialize", "time_ns", 100.0),
            (DOM_TO_RECORD, "input_bytes", 600.0),
            (DOM_TO_RECORD, "time_ns", 180.0),
            (SAX_TO_RECORD, "input_bytes", 600.0),
            (SAX_TO_RECORD, "time_ns", 60.0),
        ],
        verdicts: &[Reproduced, Stronger],
        swapped: [
            ("serde_json DOM, serialize", "time_ns"),
            (DOM_TO_RECORD, "time_ns"),
        ],
    },
    Fixture {
        id: "4.2",
        figures: &[
            ("Value, serialize", "input_bytes", 600.0),
            ("Value, serialize", "time_ns", 100.0),
            ("Value, deserialize", "input_bytes", 600.0),
            ("Value, deserialize", "time_ns", 285.0),
            ("derive, serialize", "input_bytes", 600.0),
            ("derive, serialize", "time_ns", 45.0),
        ],
        verdicts: &[Reproduced, Reproduced],
        swapped: [
            ("Value, serialize", "time_ns"),
            ("derive, serialize", "time_ns"),
        ],
    },
    Fixture {
        id: "4.3",
        figures: &[
            ("serialize", "input_bytes", 600.0),
            ("serialize", "time_ns", 100.0),
            ("deserialize", "input_bytes", 600.0),
            ("deserialize", "time_ns", 400.0),
        ],
        verdicts: &[Stronger],
        swapped: [("serialize", "time_ns"), ("deserialize", "time_ns")],
    },
    Fixture {
        id: "4.4",
        figures: &[
            ("serialize, written alone", "input_bytes", 600.0),
            ("serialize, written alone", "time_ns", 100.0),
            ("deserialize copied, opened alone", "input_bytes", 600.0),
            ("deserialize copied, opened alone", "time_ns", 150.0),
        ],
        verdicts: &[Weaker],
        swapped: [
            ("serialize, written alone", "time_ns"),
            ("deserialize copied, opened alone", "time_ns"),
        ],
    },
    Fixture {
        id: "4.5",
        figures: &[
            ("serialize, with capacity", "input_bytes", 600.0),
            ("serialize, with capacity", "time_ns", 100.0),
            ("String, deserialize", "input_bytes", 600.0),
            ("String, deserialize", "time_ns", 190.0),
            ("String by way of Value, deserialize", "input_bytes", 600.0),
            ("String by way of Value, deserialize", "time_ns", 450.0),
        ],
        verdicts: &[Weaker, Reproduced],
        swapped: [
            ("serialize, with capacity", "time_ns"),
            ("String, deserialize", "time_ns"),
        ],
    },
    Fixture {
        id: "4.8",
        figures: &[
            ("JSON, Value", "records", 1.0),
            ("JSON, Value", "total_blocks", 40.0),
            ("JSON, deserialize", "records", 1.0),
            ("JSON, deserialize", "total_blocks", 10.0),
            ("binary, deserialize", "records", 1.0),
            ("binary, deserialize", "total_blocks", 10.0),
        ],
        verdicts: &[Reproduced, Contradicted],
        swapped: [
            ("JSON, Value", "total_blocks"),
            ("JSON, deserialize", "total_blocks"),
        ],
    },
    Fixture {
        id: "1.14",
        figures: &[
            ("replace, varzerovec", "time_ns", 300.0),
            ("replace, vec", "time_ns", 100.0),
            ("insert and remove, varzerovec", "time_ns", 200.0),
            ("insert and remove, vec", "time_ns", 100.0),
            ("push 100, varzerovec", "time_ns", 99.0),
            ("push 100, vec", "time_ns", 100.0),
        ],
        verdicts: &[Reproduced, Reproduced, Contradicted],
        swapped: [
            ("replace, varzerovec", "time_ns"),
            ("replace, vec", "time_ns"),
        ],
    },
    Fixture {
        id: "2.12",
        figures: &[
            ("glibc", "brk_calls", 30.0),
            ("glibc", "brk_shrink_calls", 20.0),
            ("glibc", "mmap_calls", 0.0),
            ("glibc, large", "brk_calls", 12.0),
            ("glibc, large", "brk_shrink_calls", 10.0),
            ("glibc, large", "mmap_calls", 2.0),
        ],
        verdicts: &[Contradicted, Weaker],
        swapped: [("glibc, large", "brk_calls"), ("glibc", "mmap_calls")],
    },
    Fixture {
        id: "3.15",
        figures: &[
            ("serde_json, jemalloc", "time_ns", 110.0),
            ("serde_json, mimalloc", "time_ns", 100.0),
            ("serde_json, tcmalloc", "time_ns", 90.0),
        ],
        verdicts: &[Reproduced, Contradicted],
        swapped: [
            ("serde_json, jemalloc", "time_ns"),
            ("serde_json, tcmalloc", "time_ns"),
        ],
    },
];

fn judged(id: &str, figures: &[(&str, &str, f64)]) -> Judged {
    let figure = |variant: &str, name: &str| {
        let found = figures
            .iter()
            .find(|(of, named, _)| *of == variant && *named == name);
        found.map(|(_, _, value)| *value)
    };
    (find(id).expect("a case").judge)(&Found {
        figure: &figure,
        rounds: &|_| Vec::new(),
    })
}

fn verdicts(judged: &Judged) -> Vec<Verdict> {
    judged.claims.iter().map(|claim| claim.verdict()).collect()
}

#[test]
fn claims_compare_the_figures_they_say() {
    for fixture in FIXTURES {
        let id = fixture.id;
        let found = judged(id, fixture.figures);
        assert_eq!(
            verdicts(&found),
            fixture.verdicts,
            "{id}: {:#?}",
            found.claims
        );
        let [one, other] = fixture.swapped;
        let value = |of: (&str, &str)| {
            let mut figures = fixture.figures.iter();
            let found = figures.find(|(variant, name, _)| (*variant, *name) == of);
            found.unwrap_or_else(|| panic!("{id} has no {of:?}")).2
        };
        let swapped: Vec<(&str, &str, f64)> = fixture
            .figures
            .iter()
            .map(|&(variant, name, own)| match (variant, name) {
                of if of == one => (variant, name, value(other)),
                of if of == other => (variant, name, value(one)),
                _ => (variant, name, own),
            })
            .collect();
        let found = judged(id, &swapped);
        assert_ne!(
            verdicts(&found),
            fixture.verdicts,
            "{id} swapped: {:#?}",
            found.claims
        );
    }
}

#[test]
fn every_case_with_claims_has_figures_here() {
    for case in heapglass_gauntlet::all() {
        let claims = judged(case.id, &[]).claims.len();
        let here = FIXTURES.iter().find(|fixture| fixture.id == case.id);
        assert_eq!(
            here.map_or(0, |fixture| fixture.verdicts.len()),
            claims,
            "{}",
            case.id
        );
    }
}

#[test]
fn what_was_not_measured_is_not_judged() {
    for case in heapglass_gauntlet::all() {
        let found = judged(case.id, &[]);
        let said = verdicts(&found);
        assert!(
            said.iter().all(|verdict| *verdict == NotJudged),
            "{}: {said:?}",
            case.id
        );
    }
}

#[test]
fn a_verdict_has_the_direction_and_the_size_of_the_claim() {
    let twice = Claim::times("times as long", 2.0);
    for (here, verdict) in [
        (f64::NAN, NotJudged),
        (1.6, Reproduced),
        (2.4, Reproduced),
        (2.41, Stronger),
        (1.59, Weaker),
        (1.06, Weaker),
        (1.04, Contradicted),
        (0.5, Contradicted),
    ] {
        assert_eq!(twice.compare(here), verdict, "{here}");
    }
    // A ratio below 1.
    let less = Claim::times("times the peak", 0.5).within(0.1);
    for (here, verdict) in [
        (0.5, Reproduced),
        (0.4, Stronger),
        (0.9, Weaker),
        (1.2, Contradicted),
    ] {
        assert_eq!(less.compare(here), verdict, "{here}");
    }
    let between = Claim::times("times as long", 0.0)
        .between(2.0, 4.0)
        .within(0.1);
    for (here, verdict) in [
        (1.8, Reproduced),
        (4.4, Reproduced),
        (1.5, Weaker),
        (5.0, Stronger),
    ] {
        assert_eq!(between.compare(here), verdict, "{here}");
    }
    // A figure without an effect does not reproduce a small effect, however wide its tolerance.
    let third = Claim::times("times as long", 1.3).within(0.25);
    for (here, verdict) in [
        (1.0, Contradicted),
        (1.1, Weaker),
        (1.2, Reproduced),
        (1.6, Reproduced),
    ] {
        assert_eq!(third.compare(here), verdict, "{here}");
    }
    assert!(
        Compared {
            claim: third,
            here: Span::from(1.0),
            other_runs: Vec::new(),
            reason: ""
        }
        .to_string()
        .contains("half of the effect at least; here 1: contradicted, ")
    );
    // 0.9171 is the most that counts as the same.
    let near = Compared {
        claim: Claim::times("times the peak", 16_746.0 / 19_173.0).within(0.05),
        here: Span::from(0.92),
        other_runs: Vec::new(),
        reason: "",
    };
    assert_eq!(near.accepted_and_here(), ["0.830", "0.917", "0.920"]);
    assert!(near.to_string().ends_with("; here 0.920: weaker"), "{near}");
    let count = Claim::count("blocks", 27.0);
    assert_eq!(
        [27.0, 26.0, 28.0, 0.0].map(|here| count.compare(here)),
        [Reproduced, Weaker, Stronger, Contradicted]
    );
    let more = Claim::more("times as fast");
    assert_eq!(
        [0.96, 50.0, 0.94].map(|here| more.compare(here)),
        [Reproduced, Reproduced, Contradicted]
    );
    let clearly = Claim::clearly_more("times as fast");
    assert_eq!(
        [1.1, 50.0, 1.05, 0.94].map(|here| clearly.compare(here)),
        [Reproduced, Reproduced, Contradicted, Contradicted]
    );
    let level = Claim::level("times as long");
    assert_eq!(
        [0.91, 1.09, 1.2, 0.8].map(|here| level.compare(here)),
        [Reproduced, Reproduced, Contradicted, Contradicted]
    );
}

#[test]
fn a_round_that_was_disturbed_whole_or_in_part_does_not_move_the_ratio() {
    let rounds = |variant: &str| match variant {
        // The machine was half as fast in two rounds; in one of them only after the first variant
        // had run.
        "first" => vec![100.0, 100.0, 200.0, 100.0, 100.0],
        "second" => vec![10.0, 10.0, 20.0, 20.0, 10.0],
        _ => Vec::new(),
    };
    let found = Found {
        figure: &|_, name| (name == "time_ns").then_some(7.0),
        rounds: &rounds,
    };
    assert_eq!(found.times("first", "second").value, 10.0);
    assert_eq!(found.times("second", "first").value, 0.1);
    // This variant was not timed by round.
    assert_eq!(found.times("first", "third"), Span::from(1.0));
}

#[test]
fn the_median_of_the_rounds_is_judged_and_where_it_may_lie_is_said() {
    let rounds = vec![1.0, 1.9, 1.3, 1.2, 1.4, 1.5, 1.6, 1.7, 1.1];
    let found = Span::median(rounds);
    // All of the nine except the smallest and the largest.
    assert_eq!((found.value, found.low, found.high), (1.4, 1.1, 1.7));
    let few = Span::median(vec![3.0, 1.0, 2.0]);
    assert_eq!((few.value, few.low, few.high), (2.0, 1.0, 3.0));
    assert!(Span::median(Vec::new()).value.is_nan());
    let rest = found.map(|times| 2.0 - times);
    assert!((rest.value - 0.6).abs() < 1e-9 && rest.low < rest.high);

    let claimed = |times: f64| Claim::times("times as long", times).compare(found);
    assert_eq!(claimed(1.25), Reproduced);
    // 1.6 and 1.7, or 1.1 and 1.2, would suffice and are possible; but the median is not enough.
    assert_eq!([2.0, 3.0, 1.0].map(claimed), [Weaker, Weaker, Contradicted]);
    assert_eq!(
        Claim::times("times as long", 0.5).compare(found),
        Contradicted
    );
    let said = Judged::facts(true, String::new()).claim(Claim::times("times as long", 3.0), found);
    assert!(
        said.claims[0]
            .to_string()
            .contains("; here 1.40 (1.10 to 1.70): weaker")
    );
}

#[test]
fn a_claim_that_runs_do_not_agree_on_is_not_judged_and_says_what_each_found() {
    let run = |here: f64| {
        Judged::facts(true, String::new())
            .claim(Claim::times("times as long", 2.0), here)
            .claim(Claim::count("blocks", 3.0), 3.0)
    };
    let judged = run(1.7).with_other_runs(&[run(1.5), run(1.8)]);
    assert_eq!(verdicts(&judged), [NotJudged, Reproduced]);
    assert_eq!(judged.verdict(), NotJudged);
    assert_eq!(
        judged.claims[0].figures(),
        "times as long: source 2, within 20 %; here 1.70 (reproduced), 1.50 (weaker), 1.80 (reproduced): not judged, the runs \
         do not agree"
    );
    let agreed = run(1.7).with_other_runs(&[run(1.9), run(1.8)]);
    assert_eq!(agreed.verdict(), Reproduced);
    // The interval covers all of them.
    let figures = agreed.claims[0].figures();
    assert!(
        figures.contains("; here 1.70 (1.70 to 1.90): "),
        "{figures}"
    );
    // Counts that hold in only one run do not hold.
    let failed = Judged::facts(false, String::new());
    let counts = Judged::facts(true, String::new()).with_other_runs(&[failed]);
    assert!(!counts.counts_hold());
}

#[test]
fn the_least_favourable_claim_is_the_verdict_and_facts_that_do_not_hold_contradict() {
    let twice = || Claim::times("times as long", 2.0);
    let of = |held, here: &[f64]| {
        let facts = Judged::facts(held, String::new());
        here.iter()
            .fold(facts, |judged, here| judged.claim(twice(), *here))
            .verdict()
    };
    assert_eq!(of(true, &[]), Reproduced);
    assert_eq!(of(true, &[2.0, f64::NAN]), NotJudged);
    assert_eq!(of(true, &[f64::NAN, 3.0]), Stronger);
    assert_eq!(of(true, &[3.0, 1.5]), Weaker);
    assert_eq!(of(true, &[1.5, 1.0]), Contradicted);
    assert_eq!(of(false, &[2.0]), Contradicted);
    let unjudged = |held| Judged::unjudged(held, "no figures", String::new()).verdict();
    assert_eq!((unjudged(true), unjudged(false)), (NotJudged, Contradicted));
    let said = Judged::facts(true, String::new())
        .claim(twice(), 1.0)
        .because("it is fast here");
    assert_eq!(
        said.claims[0].to_string(),
        "times as long: source 2, within 20 %; here 1: contradicted, it is fast here"
    );
}
