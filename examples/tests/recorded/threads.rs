//! Threads of every kind: no event is lost, whichever thread allocates or frees.

use crate::common::{Target, assert_work_is_as_printed, peak_error};
use heapglass_examples::recorded;
use tracking_alloc_recording::{MAX_LANES, Recording};

fn recorded_as_printed(words: &[&str]) -> Recording {
    let mut target = Target::case(words);
    let printed = target.succeed();
    let recording = recorded::open(&target.recording());
    assert_work_is_as_printed(&recording, &printed);
    recording
}

#[test]
fn one_thread_becoming_two_at_random_moments_loses_nothing() {
    recorded_as_printed(&["switch", "1000"]);
}

#[test]
fn two_threads_that_free_each_others_blocks_lose_nothing() {
    recorded_as_printed(&["swap", "100000"]);
}

#[test]
fn ten_thousand_short_threads_share_a_few_lanes_and_lose_nothing() {
    let recording = recorded_as_printed(&["short-threads", "10000"]);
    assert!(
        recording.lanes.len() < 20,
        "{} lanes for at most 5 threads at a time",
        recording.lanes.len()
    );
    let ended: u64 = recording.threads.iter().map(|threads| threads.count).sum();
    let present: u64 = recording
        .lanes
        .iter()
        .filter(|column| column.lane.kind == 1)
        .count() as u64;
    assert_eq!(
        ended + present,
        10_001,
        "threads by name and those that still have their lane"
    );
}

#[test]
fn sixty_four_live_threads_lose_nothing() {
    let recording = recorded_as_printed(&["live-threads", "64"]);
    assert_eq!(
        recording
            .lanes
            .iter()
            .filter(|column| column.lane.kind == 2)
            .count(),
        0,
        "nobody shares a lane"
    );
}

#[test]
fn more_live_threads_than_lanes_share_one_and_lose_nothing() {
    let threads = (MAX_LANES + 50).to_string();
    let recording = recorded_as_printed(&["live-threads", &threads]);
    assert_eq!(recording.lanes.len(), MAX_LANES);
    let shared = recording.lanes.iter().find(|column| column.lane.kind == 2);
    let shared = shared.expect("the shared lane");
    assert!(
        shared.all.total_blocks > 1_000,
        "{}",
        shared.all.total_blocks
    );
    let unattributed: u64 = recording
        .lanes
        .iter()
        .map(|column| column.unattributed.total_blocks)
        .sum();
    assert_eq!(
        unattributed, 0,
        "threads of the shared lane keep their stacks"
    );
}

#[test]
fn threads_that_panic_or_free_while_they_end_lose_nothing() {
    recorded_as_printed(&["thread-ends"]);
}

#[test]
fn the_peak_of_many_threads_is_within_the_stated_bound() {
    for threads in ["1", "2", "8"] {
        let mut target = Target::case(&["peak", threads]);
        let printed = target.succeed();
        let recording = recorded::open(&target.recording());
        assert_work_is_as_printed(&recording, &printed);
        let (rows, bound) = (
            recorded::sums(&recording).peak_bytes,
            peak_error(&recording),
        );
        let work = recorded::sums_in_scope(&recording, "work").peak_bytes;
        let wanted = crate::common::number(&printed, "work_peak_bytes") as i64;
        assert!(
            (work - wanted).abs() <= bound,
            "{threads} threads: {work} at the peak, {wanted} by arithmetic, bound {bound}"
        );
        assert!(
            (rows - recording.header.peak_bytes).abs() <= bound,
            "{rows} in rows, register {}",
            recording.header.peak_bytes
        );
        let most: i64 = threads.parse::<i64>().expect("a number") + 1;
        assert!(
            bound <= (most + 1) * (64 << 10),
            "{threads} threads: a bound of {bound} bytes"
        );
    }
}
