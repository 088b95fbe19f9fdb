//! Children, commands, exec, closed descriptors: the parent's totals stay exact, and no other file
//! is touched.

use crate::common::{Target, assert_work_is_as_printed, files};
use heapglass_examples::recorded;

#[test]
fn forked_children_leave_the_parents_recording_alone() {
    let mut target = Target::case(&["fork", "100"]);
    let printed = target.succeed();
    let recording = recorded::open(&target.recording());
    assert_work_is_as_printed(&recording, &printed);
    assert_eq!(recorded::sums_in_scope(&recording, "child").total_blocks, 0);
    assert_eq!(files(target.folder.path()), ["out.hg"]);
}

#[test]
fn a_thousand_commands_leave_the_recording_alone() {
    let mut target = Target::case(&["spawn", "1000"]);
    let printed = target.succeed();
    assert_work_is_as_printed(&recorded::open(&target.recording()), &printed);
    assert_eq!(files(target.folder.path()), ["out.hg"]);
}

#[test]
fn a_program_that_becomes_another_leaves_two_recordings() {
    let mut target = Target::case(&["exec"]);
    let printed = target.ends_with(7);
    let (first, second) = printed.split_once('\n').expect("two lines");
    let names = files(target.folder.path());
    // The first program continues in the second, so its path remains taken.
    let [suffixed, wanted] = names.as_slice() else {
        panic!("{names:?}");
    };
    assert_eq!(wanted, "out.hg");
    assert_work_is_as_printed(&recorded::open(&target.recording()), first);
    let pid = recorded::open(&target.recording()).header.pid;
    assert_eq!(*suffixed, format!("out-{pid}.hg"));
    assert_work_is_as_printed(
        &recorded::open(&target.folder.path().join(suffixed)),
        second,
    );
}

#[test]
fn a_program_that_closes_all_descriptors_keeps_its_files_and_its_recording() {
    let mut target = Target::case(&["close-all"]);
    let own = target.folder.path().join("own");
    target.command.arg(&own);
    let printed = target.succeed();
    let recording = recorded::open(&target.recording());
    crate::common::assert_consistent(&recording);
    assert_eq!(
        recording.header.growth_ended, 0,
        "growing needs no old descriptor"
    );
    assert!(
        recorded::sums(&recording).total_blocks >= crate::common::number(&printed, "total_blocks")
    );
    assert_eq!(
        std::fs::read(own).expect("read"),
        b"nobody else writes here"
    );
}

#[test]
fn a_forked_child_may_record_on_its_own() {
    let mut target = Target::case(&["child-recorder"]);
    let own = target.folder.path().join("child.hg");
    target.command.arg(&own);
    let printed = target.succeed();
    assert_work_is_as_printed(&recorded::open(&target.recording()), &printed);
    let child = recorded::open(&own);
    crate::common::assert_consistent(&child);
    let counted = recorded::sums_in_scope(&child, "child");
    let bytes = 2 * (1..500u64).sum::<u64>();
    assert_eq!(
        (
            counted.total_bytes,
            counted.total_blocks,
            counted.live_blocks()
        ),
        (bytes, 2 * 499, 0)
    );
    assert_eq!(
        recorded::sums_in_scope(&child, "work").total_blocks,
        0,
        "phases of the parent are not the child's"
    );
}
