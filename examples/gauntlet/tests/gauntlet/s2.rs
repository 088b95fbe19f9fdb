//! The gauntlet's cases of "The impact of memory allocators on performance": the counts that their structure predicts,
//! at a tenth of the size.

use crate::runner::run;

#[test]
fn the_script_on_the_allocator_api_is_two_allocations_a_grow_and_a_shrink() {
    let case = run(&["2.3"]);
    case.holds("2.3");
    // 8 B for the first push, 100 B, 200 B after the extension, 101 B when shrunk.
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
    // Its verdict is one of times, so it is not asked here.
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
