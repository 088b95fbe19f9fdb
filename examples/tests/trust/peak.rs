//! The peak and its printed bound, with few and many threads, and events and figures outside of a
//! recording.

use crate::common::{Target, assert_consistent, assert_work_is_as_printed, number, peak_error};
use heapglass_examples::recorded;
use heapglass_limits::rounds;
use tracking_alloc_recording::{MAX_LANES, Recording};

fn recorded_as_printed(words: &[&str]) -> (Target, Recording, String) {
    let mut target = Target::case(words);
    let printed = target.succeed();
    let recording = recorded::open(&target.recording());
    assert_work_is_as_printed(&recording, &printed);
    (target, recording, printed)
}

/// Runs a case that starts its own recording, or none.
fn unrecorded(words: &[&str]) -> String {
    let mut target = Target::case(words);
    target.command.env_remove("HEAPGLASS_OUT");
    target.succeed()
}

/// Returns the bound that reports print.
fn printed_bound(target: &Target) -> i64 {
    let symbols = heapglass_profiler::SymbolOptions {
        cache: Some(env!("CARGO_TARGET_TMPDIR").into()),
        ..Default::default()
    };
    let options = heapglass_profiler::OpenOptions {
        symbols,
        ..heapglass_profiler::OpenOptions::default()
    };
    let profile = heapglass_profiler::open(&target.recording(), &options, &|_| ());
    profile.expect("a recording").capture().peak_error_bytes as i64
}

/// Returns the bound printed for a recording, and the distance of its peak from the known one.
fn bound_and_error(threads: usize, seed: usize, largest: usize) -> (i64, i64) {
    let words = [threads, seed, largest].map(|word| word.to_string());
    let words: Vec<&str> = std::iter::once("known-peak")
        .chain(words.iter().map(String::as_str))
        .collect();
    let (target, recording, printed) = recorded_as_printed(&words);
    let bound = printed_bound(&target);
    let work = recorded::sums_in_scope(&recording, "work").peak_bytes;
    let error = (work - number(&printed, "work_peak_bytes") as i64).abs();
    assert!(
        error <= bound,
        "{words:?}: {error} bytes from the known peak, stated are {bound}"
    );
    (bound, error)
}

#[test]
fn the_stated_bound_is_never_below_the_error_and_its_median_is_small() {
    let runs = rounds(8, 64);
    let threads = [2, 3, 4, 8, 16, 32, 100, 300];
    let mut found: Vec<(i64, i64, usize)> = (0..runs)
        .map(|run| {
            let count = threads[run % threads.len()];
            let largest = [60, 400, 3_000, 60_000][run / threads.len() % 4];
            let (bound, error) = bound_and_error(count, run, largest);
            (bound, error, count)
        })
        .collect();
    found.sort_unstable();
    let errors = found.iter().map(|(_, error, _)| *error).max();
    let (median, most) = (found[runs / 2].0, found[runs - 1]);
    println!("{runs} runs: median bound {median}, largest {most:?}, largest error {errors:?}");
    for count in threads {
        let of: Vec<i64> = found
            .iter()
            .filter(|(.., threads)| *threads == count)
            .map(|(bound, ..)| *bound)
            .collect();
        println!("{count} threads: median bound {:?}", of.get(of.len() / 2));
    }
    assert!(median <= 64 << 10, "a median of {median} bytes");
}

#[test]
fn one_thread_knows_its_peak_to_the_byte() {
    for largest in [50, 3_000, 100_000] {
        assert_eq!(
            bound_and_error(1, 5, largest),
            (0, 0),
            "blocks up to {largest}"
        );
    }
}

#[test]
fn equal_maxima_are_the_latest() {
    for times in ["1", "2", "3", "63", "64", "65", "200"] {
        let mut target = Target::case(&["equal-peaks", times]);
        target.succeed();
        let recording = recorded::open(&target.recording());
        assert_consistent(&recording);
        let at = |name| recorded::sums_in_scope(&recording, name).peak_bytes;
        assert_eq!(
            ["early", "other", "late", "below"].map(at),
            [0, 0, 500, 0],
            "{times} times"
        );
    }
}

#[test]
fn stats_go_on_over_the_beginning_and_the_end_of_a_recording() {
    unrecorded(&["stats-across"]);
}

#[test]
fn stats_asked_first_while_recording_are_the_rows_and_go_on_after_it() {
    unrecorded(&["stats-while-recording"]);
}

#[test]
fn a_thread_that_measures_itself_and_those_beside_it_are_counted_exactly() {
    recorded_as_printed(&["measure-beside", "2000"]);
}

#[test]
fn three_and_six_hundred_live_threads_have_lanes_of_their_own_and_lose_nothing() {
    for threads in ["300", "600"] {
        let (target, recording, _) = recorded_as_printed(&["live-threads", threads]);
        // It was sealed when no thread changed anything any more, so the last check knew the final
        // figures.
        assert_eq!(printed_bound(&target), peak_error(&recording));
        assert!(recording.lanes.iter().all(|column| column.lane.kind == 1));
        assert!(recording.lanes.len() < MAX_LANES);
        let least: usize = threads.parse().expect("a number");
        assert!(recording.lanes.len() > least, "{}", recording.lanes.len());
    }
}

#[test]
fn heapglass_knows_its_own_memory_and_never_claims_more_than_is_resident() {
    for mebibytes in ["1", "20", "60"] {
        let mut target = Target::case(&["own-bytes", mebibytes]);
        let printed = target.succeed();
        let recording = recorded::open(&target.recording());
        let (own, told) = (recording.header.own_bytes, number(&printed, "own_bytes"));
        let slack = (told / 10).max(1 << 20);
        assert!(
            own <= told + (256 << 10) && own + slack >= told,
            "{mebibytes} MiB: {own} counted, {told} resident"
        );
        assert!(own <= number(&printed, "rss_bytes"));
        for point in recording
            .timeline
            .iter()
            .filter(|point| point.rss_bytes > 0)
        {
            assert!(point.own_bytes <= point.rss_bytes);
            assert!(point.own_bytes > 0);
        }
    }
}
