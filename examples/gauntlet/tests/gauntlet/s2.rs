//! Tests the gauntlet's cases of "The impact of memory allocators on performance": the counts that
//! their structure predicts, at a tenth of the size.

use crate::runner::run;

#[test]
fn the_script_on_the_allocator_api_is_two_allocations_a_grow_and_a_shrink() {
    let case = run(&["2.3"]);
    case.holds("2.3");
    // 8 B for the first push, 100 B, 200 B after the extension, and 101 B after shrinking.
    assert_eq!(case.figure("2.3", "Global", "total_blocks"), 4);
    assert_eq!(
        case.figure("2.3", "Global", "total_bytes"),
        8 + 100 + 200 + 101
    );
    assert_eq!(case.figure("2.3", "Global", "grows"), 1);
    assert_eq!(case.figure("2.3", "Global", "shrinks"), 1);
    assert_eq!(case.figure("2.3", "ArenaAllocator", "total_blocks"), 0);
}

#[test]
fn large_blocks_are_at_most_twenty_at_once() {
    // The verdict is about times, so it is not checked here.
    let case = run(&["2.6"]);
    for variant in ["glibc", "jemalloc", "mimalloc"] {
        assert_eq!(
            case.figure("2.6", variant, "total_blocks"),
            20 + 100,
            "{variant}"
        );
        assert_eq!(case.figure("2.6", variant, "peak_blocks"), 20, "{variant}");
    }
}

#[test]
fn small_vectors_spill_at_the_fifth_byte_and_growth_doubles() {
    let case = run(&["2.9", "2.10"]);
    case.holds("2.9");
    assert_eq!(case.figure("2.9", "SmallVec, 4", "total_blocks"), 1);
    assert_eq!(case.figure("2.9", "SmallVec, 5", "total_blocks"), 1 + 1_000);
    case.holds("2.10");
    // Room for 4, 8, .. 131,072.
    assert_eq!(case.figure("2.10", "push", "grows"), 15);
    assert_eq!(
        case.figure("2.10", "push", "total_bytes"),
        8 * (262_144 - 4)
    );
    assert_eq!(case.figure("2.10", "with_capacity", "total_bytes"), 800_000);
}

#[test]
fn calls_for_memory_are_seen_from_outside_and_do_not_change_what_is_counted() {
    let case = run(&["2.12"]);
    // 10,000 chunks, and 192 B each to replace the 992,000 - 62,000 B that were freed.
    for variant in ["glibc", "jemalloc", "mimalloc"] {
        let of = |name| case.figure("2.12", variant, name);
        assert_eq!(of("total_blocks"), 10_000 + 930_000 / 192, "{variant}");
        assert_eq!(of("peak_bytes"), 992_000, "{variant}");
    }
    assert_eq!(case.figure("2.12", "glibc, large", "total_blocks"), 100);
    let note = |variant, name| case.note("2.12", variant, name);
    // All chunks are written to.
    let resident = note("glibc", "full_resident_bytes");
    assert!(
        resident.is_some_and(|bytes| bytes >= 992_000.0),
        "{resident:?}"
    );
    let Some(grown) = note("glibc", "brk_calls") else {
        heapglass_examples::skip::skipped(format_args!("processes may not be traced here"));
        return;
    };
    assert!(grown > 0.0, "glibc's first arena is the program break");
    assert_eq!(note("jemalloc", "brk_calls"), Some(0.0));
    assert_eq!(note("mimalloc", "brk_calls"), Some(0.0));
    // Twenty blocks of at least 5 MB, of which none is freed before there are twenty.
    let mapped = note("jemalloc, large", "mmap_calls");
    assert!(mapped.is_some_and(|calls| calls > 0.0), "{mapped:?}");
}

#[test]
fn the_script_by_stds_own_allocator_api_is_the_same() {
    let case = run(&["2.13"]);
    case.holds("2.13");
    let of = |name| case.figure("2.13", "std Vec, global", name);
    assert_eq!(
        (of("total_blocks"), of("total_bytes")),
        (4, 8 + 100 + 200 + 101)
    );
    if case.says("2.13").contains("was not built") {
        heapglass_examples::skip::skipped(format_args!("no compiler with the unstable API"));
        return;
    }
    if !cfg!(feature = "nightly") {
        let told = |variant, name| case.note("2.13", variant, name);
        let program = "std, VerboseAllocator, in a program of its own";
        for name in [
            "told_allocs",
            "told_grows",
            "told_shrinks",
            "told_frees",
            "told_bytes",
        ] {
            assert_eq!(
                told(program, name),
                told("allocator-api2, VerboseAllocator", name),
                "{name}"
            );
        }
    }
}

#[test]
fn a_slice_is_copied_into_the_given_allocator_in_one_call() {
    run(&["2.14"]).holds("2.14");
}
