//! Every kind of end of a recording: nothing is written into a finished file.

use super::{assert_retained_is_known, entered, sealed};
use crate::common::{Target, assert_work_is_as_printed, files, number};
use heapglass_examples::recorded;
use heapglass_limits::rounds;
use tracking_alloc_recording::state;

#[test]
fn what_outlives_a_recording_does_not_write_into_it() {
    let mut target = Target::case(&["outlive-finish"]);
    target.succeed();
    let recording = sealed(&target.recording());
    assert_eq!(entered(&recording, "held"), 1);
    assert_eq!(entered(&recording, "new"), 0, "entered after the end");
    assert_eq!(recording.marks.len(), 0, "set after the end");
    assert_retained_is_known(&recording);
}

#[test]
fn finishing_while_threads_write_seals_what_they_wrote() {
    for seed in 0..rounds(40, 200) {
        let mut target = Target::case(&["finish-while-others-write", &seed.to_string()]);
        target.succeed();
        sealed(&target.recording());
    }
}

#[test]
fn a_program_that_exits_while_its_threads_write_leaves_a_sealed_recording() {
    for seed in 0..rounds(25, 100) {
        let mut target = Target::case(&["exit-while-others-write", &seed.to_string()]);
        target.succeed();
        sealed(&target.recording());
    }
}

#[test]
fn a_program_that_exits_in_a_signal_handler_leaves_a_recording_at_once() {
    let mut sealed_by = [0; 2];
    for seed in 0..rounds(40, 60) {
        let mut target = Target::case(&["exit-in-a-handler", &seed.to_string()]);
        target.succeed();
        let recording = recorded::open(&target.recording());
        assert_eq!(recording.header.state, state::FINISHED);
        // A recording that ends during an event is not sealed, because that event is half applied.
        let (sites, lanes) = (
            recorded::sums(&recording),
            recorded::sums_of_lanes(&recording),
        );
        assert!(sites.total_blocks.abs_diff(lanes.total_blocks) <= 1);
        assert!(sites.freed_blocks.abs_diff(lanes.freed_blocks) <= 1);
        sealed_by[usize::from(recording.header.checksum != 0)] += 1;
    }
    assert!(sealed_by.iter().all(|runs| *runs > 0), "{sealed_by:?}");
}

#[test]
fn of_many_threads_that_finish_one_does_and_all_return_to_a_finished_file() {
    for _ in 0..rounds(12, 50) {
        let mut target = Target::case(&["finish-from-many"]);
        let printed = target.succeed();
        assert_eq!(number(&printed, "won"), 1, "{printed}");
        assert_eq!(
            printed.matches("was finished before").count(),
            7,
            "{printed}"
        );
        sealed(&target.recording());
    }
}

#[test]
fn a_recording_in_a_file_refuses_its_bytes_and_goes_on() {
    for ended_by_exit in [false, true] {
        let mut target = Target::case(&["bytes-of-a-file"]);
        let path = target.recording();
        if ended_by_exit {
            std::fs::write(path.with_extension("leave"), "").expect("written");
        }
        target.command.arg(&path).env_remove("HEAPGLASS_OUT");
        let printed = target.succeed();
        let (error, figures) = printed.split_once('\n').expect("two lines");
        for word in ["out.hg", "finish()", "Recording continues"] {
            assert!(error.contains(word), "{word}: {error}");
        }
        assert_work_is_as_printed(&sealed(&path), figures);
    }
}

#[test]
fn a_recording_begun_from_code_is_finished_when_the_program_exits() {
    let mut target = Target::case(&["never-finished"]);
    let path = target.recording();
    target.command.arg(&path).env_remove("HEAPGLASS_OUT");
    let printed = target.succeed();
    let recording = sealed(&path);
    assert_work_is_as_printed(&recording, &printed);
    assert_eq!(recording.header.state, state::FINISHED);
    assert_eq!(files(target.folder.path()), ["out.hg"]);
}

#[test]
fn threads_cancelled_while_they_write_harm_neither_the_program_nor_the_recording() {
    let mut target = Target::case(&["cancelled", "200"]);
    let printed = target.succeed();
    assert!(number(&printed, "cancelled") > 150, "{printed}");
    assert_work_is_as_printed(&sealed(&target.recording()), &printed);
}
