//! Difficult moments: signal handlers during events, `errno`, a frame register that holds data.

use crate::common::{Target, assert_consistent, assert_work_is_as_printed, number};
use heapglass_examples::recorded;

#[test]
fn signal_handlers_that_allocate_neither_deadlock_nor_lose_an_event() {
    let mut target = Target::case(&["signals", "3000"]).env("CASE_ALLOC", "pack");
    let printed = target.succeed();
    let recording = recorded::open(&target.recording());
    assert_consistent(&recording);
    assert!(number(&printed, "handled") >= 3000, "{printed}");
    let work = recorded::sums_in_scope(&recording, "work");
    let missed = recording.lanes.iter().fold((0, 0, 0), |sum, column| {
        let row = &column.unattributed;
        (
            sum.0 + row.total_bytes,
            sum.1 + row.total_blocks,
            sum.2 + row.freed_blocks,
        )
    });
    let found = (
        work.total_bytes + missed.0,
        work.total_blocks + missed.1,
        work.freed_blocks + missed.2,
    );
    let wanted = (
        number(&printed, "total_bytes"),
        number(&printed, "total_blocks"),
        number(&printed, "freed_blocks"),
    );
    assert_eq!(
        found, wanted,
        "of them without a stack: {missed:?}; {printed}"
    );
    assert_eq!(
        recording.header.growth_ended, 0,
        "an interrupted system call is tried again"
    );
}

#[test]
fn errno_comes_through_every_path_of_the_hook() {
    Target::case(&["errno"]).succeed();
}

#[test]
fn a_call_site_behind_a_frame_register_full_of_data_makes_a_handful_of_sites() {
    let mut target = Target::case(&["frame-register", "20000"]);
    let printed = target.succeed();
    let recording = recorded::open(&target.recording());
    assert_work_is_as_printed(&recording, &printed);
    assert!(
        recording.sites.len() < 150,
        "{} sites, {} stacks",
        recording.sites.len(),
        recording.stacks.len()
    );
}
