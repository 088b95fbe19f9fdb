//! Phases, marks, pauses, time, and a recording that stays small whatever happens.

use crate::common::{Target, assert_consistent, assert_work_is_as_printed};
use heapglass_examples::recorded::{self, Sums};
use tracking_alloc_recording::{
    CHECKPOINT_GROUP, CHECKPOINT_SLOTS, Checkpoints, FIRST_SITE, PHASE_IS_RUNNING, Recording,
    ScopeValue, mode, unwinder,
};

fn record(words: &[&str]) -> (Recording, String) {
    let mut target = Target::case(words);
    let printed = target.succeed();
    let recording = recorded::open(&target.recording());
    assert_consistent(&recording);
    (recording, printed)
}

fn live(recording: &Recording, scope: &str) -> (i64, i64) {
    let sums: Sums = recorded::sums_in_scope(recording, scope);
    (sums.live_bytes(), sums.live_blocks())
}

#[test]
fn blocks_belong_to_the_innermost_phase_they_were_made_in() {
    let (recording, _) = record(&["phases"]);
    assert_eq!(live(&recording, "load"), (2 * (1_000 + 24), 4));
    assert_eq!(live(&recording, "parse"), (600, 6));
    let scope = |name: &str| {
        let found = recording
            .scopes
            .iter()
            .position(|scope| recording.string(scope.name).as_deref() == Some(name));
        found.unwrap_or_else(|| panic!("no scope is called {name}"))
    };
    let (load, parse) = (
        recording.scopes[scope("load")],
        recording.scopes[scope("parse")],
    );
    assert_eq!((load.entered, load.input_bytes, load.depth), (2, 10_000, 1));
    assert_eq!((parse.entered, parse.records, parse.depth), (6, 12, 2));
    assert_eq!(parse.parent as usize, scope("load"));
    let panics = recorded::sums_in_scope(&recording, "panics");
    // Only the allocations of the panic itself, not the block allocated after the phase was
    // unwound.
    assert!(panics.total_blocks < 20, "{panics:?}");
}

#[test]
fn phases_that_take_each_others_place_end_in_turn() {
    let (recording, _) = record(&["phases-in-turn"]);
    assert_eq!(live(&recording, "load"), (1_000, 1));
    assert_eq!(live(&recording, "work"), (2_000, 1));
    assert_eq!(live(&recording, "save"), (3_000, 1));
}

fn scope(recording: &Recording, name: &str) -> ScopeValue {
    let scopes = recording.scopes.iter();
    let mut named = scopes.filter(|scope| recording.string(scope.name).as_deref() == Some(name));
    *named
        .next()
        .unwrap_or_else(|| panic!("no scope is called {name}"))
}

#[test]
fn eight_threads_that_enter_a_phase_by_its_handle_count_there() {
    const THREADS: i64 = 8;
    let (recording, printed) = record(&["phase-handles", "8"]);
    assert_work_in_phases(&recording, &printed);
    let of_threads: i64 = (1..=THREADS).map(|number| number * 100).sum();
    // Half the blocks of the threads, and one in the phase and one after it.
    let (live_bytes, live_blocks) = (5 * of_threads + 11 + 13, 5 * THREADS + 2);
    assert_eq!(live(&recording, "load"), (live_bytes, live_blocks));
    assert_eq!(live(&recording, "own"), (7 * THREADS, THREADS));
    let load = scope(&recording, "load");
    assert_eq!(
        (load.entered, load.input_bytes, load.records),
        (1, 8_000, 80)
    );
    assert_eq!(load.stayed_bytes, live_bytes);
    // The time of the phase alone: not summed over threads, nor longer after its end.
    let wall_ns = crate::common::number(&printed, "wall_ns");
    let elapsed_ns = load.value_bytes;
    assert!(
        (1..=wall_ns).contains(&elapsed_ns),
        "{elapsed_ns} of {wall_ns}"
    );
}

/// Every block of the case is in `load`, in `own`, or one of two of 3 bytes a thread.
fn assert_work_in_phases(recording: &Recording, printed: &str) {
    let sums = ["load", "own"].map(|name| recorded::sums_in_scope(recording, name));
    let blocks = sums.iter().map(|sums| sums.total_blocks).sum::<u64>();
    let bytes = sums.iter().map(|sums| sums.total_bytes).sum::<u64>();
    let number = |name| crate::common::number(printed, name);
    assert_eq!(blocks + 2 * 8, number("total_blocks"));
    assert_eq!(bytes + 2 * 8 * 3, number("total_bytes"));
}

#[test]
fn a_phase_that_has_not_ended_has_no_time() {
    let (recording, _) = record(&["phase-running"]);
    let ended = scope(&recording, "ended");
    assert_eq!(ended.entered, 2);
    assert!((2..PHASE_IS_RUNNING).contains(&ended.value_bytes));
    let running = scope(&recording, "running");
    assert_eq!(
        (running.entered, running.value_bytes),
        (1, PHASE_IS_RUNNING)
    );
}

#[test]
fn a_thread_leaves_the_phases_of_a_future_that_is_dropped_between_polls() {
    let (recording, _) = record(&["phase-in-dropped-future"]);
    assert_eq!(live(&recording, "inner"), (1_000, 1));
    let task = recorded::sums_in_scope(&recording, "task");
    assert_eq!(task.live_bytes(), 0, "the block after it is in no phase");
}

#[test]
fn futures_polled_in_turn_on_two_threads_keep_their_phases() {
    let (recording, _) = record(&["async", "1000"]);
    let sums = |scope: &str| {
        let sums = recorded::sums_in_scope(&recording, scope);
        (sums.total_bytes, sums.total_blocks, sums.live_blocks())
    };
    assert_eq!(sums("even"), (500 * 300, 1_500, 0));
    assert_eq!(sums("odd"), (500 * 99, 1_500, 0));
}

#[test]
fn a_pause_counts_no_new_blocks_and_follows_the_known_ones() {
    let (recording, printed) = record(&["pause"]);
    assert_work_is_as_printed(&recording, &printed);
}

#[test]
fn every_window_between_marks_has_a_peak_of_its_own() {
    let (recording, _) = record(&["windows"]);
    let figures: Vec<_> = recording
        .marks
        .iter()
        .map(|mark| (recording.string(mark.name).unwrap_or_default(), mark))
        .collect();
    assert_eq!(
        figures
            .iter()
            .map(|(name, _)| name.as_str())
            .collect::<Vec<_>>(),
        ["first", "second", "third"]
    );
    let work: std::collections::HashSet<u32> = (0u32..)
        .zip(&recording.sites)
        .filter(|(_, site)| {
            recording
                .scopes
                .get(site.scope as usize)
                .is_some_and(|scope| scope.depth > 0)
        })
        .map(|(number, _)| number)
        .collect();
    for ((name, mark), bytes) in figures.iter().zip([50_000, 400_000, 100_000]) {
        assert_eq!(mark.has_rows, 1);
        let rows =
            &recording.mark_rows[mark.first_row as usize..(mark.first_row + mark.rows) as usize];
        let in_work: i64 = rows
            .iter()
            .filter(|row| work.contains(&row.site))
            .map(|row| row.peak_bytes)
            .sum();
        assert_eq!(in_work, bytes + bytes / 2, "{name}");
        assert_eq!(
            rows.iter().map(|row| row.peak_bytes).sum::<i64>(),
            mark.peak_bytes,
            "{name}"
        );
    }
}

#[test]
fn timeline_and_checkpoints_follow_the_rise_and_fall() {
    let (recording, printed) = record(&["time", "2500"]);
    assert_work_is_as_printed(&recording, &printed);
    let points = &recording.timeline;
    assert!(
        (30..=1024).contains(&points.len()),
        "{} points",
        points.len()
    );
    assert!(points.windows(2).all(
        |pair| pair[0].time_ns <= pair[1].time_ns && pair[0].total_bytes <= pair[1].total_bytes
    ));
    let highest = points
        .iter()
        .max_by_key(|point| point.live_bytes)
        .expect("points");
    assert!(
        (4_000_000..6_000_000).contains(&highest.live_bytes),
        "{highest:?}"
    );
    let end = points.last().expect("points");
    assert!(
        end.live_bytes < 1_000_000 && end.time_ns > 2_000_000_000,
        "{end:?}"
    );
    assert!(
        (end.time_ns / 4..end.time_ns / 4 * 3).contains(&highest.time_ns),
        "{highest:?} of {end:?}"
    );
    assert!(points.iter().any(|point| point.rss_bytes > 1 << 20));
    let moments = recording.checkpoint_moments.iter().enumerate();
    let taken = moments.filter(|(_, moment)| moment.sequence != 0);
    let taken: Vec<_> = taken.collect();
    assert!(taken.len() >= 6, "{} checkpoints", taken.len());
    for (slot, moment) in taken {
        let time_ns = moment.time_ns;
        let seen = moment.live_bytes as i64;
        let mut sum = 0;
        for column in &recording.lanes {
            let rows = 0..column.rows.len();
            let live = rows.map(|index| column.at_checkpoint(index, slot, moment.sequence).0);
            sum += live.sum::<i64>();
        }
        assert_eq!(sum, seen, "the sites of the checkpoint at {time_ns} ns");
    }
}

#[test]
fn ten_thousand_sites_on_eight_lanes_stay_below_24_mebibytes_beside_checkpoints() {
    let (recording, printed) = record(&["bounded", "8", "10000"]);
    assert_eq!(recording.header.growth_ended, 0);
    assert!(recording.sites.len() > 10_000, "{}", recording.sites.len());
    assert!(
        recorded::sums(&recording).total_blocks >= crate::common::number(&printed, "total_blocks")
    );
    // How many checkpoints there are depends on the time that the program takes: each thread ends
    // 40,000 outermost phases.
    let mut checkpoints_bytes = 0;
    for lane in &recording.lanes {
        assert!(lane.checkpoints.len() <= lane.rows.len() * CHECKPOINT_SLOTS / CHECKPOINT_GROUP);
        checkpoints_bytes += lane.checkpoints.len() * size_of::<Checkpoints>();
    }
    let bytes = recording.file_bytes - checkpoints_bytes as u64;
    assert!(bytes < 24 << 20, "{} MiB", bytes >> 20);
    let longest = recording.lanes.iter().map(|column| {
        let mut counts = vec![0; column.rows.len()];
        column
            .sizes
            .iter()
            .for_each(|sizes| counts[sizes.row as usize] += 1);
        counts.into_iter().max().unwrap_or(0)
    });
    assert!(
        longest.max().unwrap_or(0) <= 14,
        "size records of one site are bounded by the number of classes"
    );
}

#[test]
fn counting_without_stacks_gives_the_same_figures() {
    for words in [&["phases"][..], &["pause"]] {
        let exact = record(words).0;
        let mut target = Target::case(words).env("HEAPGLASS_MODE", "count");
        let printed = target.succeed();
        let counted = recorded::open(&target.recording());
        assert_consistent(&counted);
        assert_eq!(counted.header.mode, mode::COUNT);
        assert_eq!(counted.header.unwinder, unwinder::NONE);
        assert!(counted.sites.iter().all(|site| site.stack == 0));
        // One site for each scope, and the fixed ones.
        assert!(counted.sites.len() <= counted.scopes.len() + FIRST_SITE as usize);
        for scope in exact.scopes.iter().skip(1) {
            let name = exact.string(scope.name).expect("a name");
            let sums = |recording| recorded::sums_in_scope(recording, &name);
            assert_eq!(sums(&counted), sums(&exact), "{name} of {words:?}");
        }
        if words == ["pause"] {
            assert_work_is_as_printed(&counted, &printed);
        }
    }
}

#[test]
fn an_unknown_mode_records_nothing_and_says_so() {
    let mut target = Target::case(&["phases"]).env("HEAPGLASS_MODE", "fast");
    let output = target.run();
    assert!(output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("unknown HEAPGLASS_MODE `fast`; use `exact`, `sample` or `count`\n"),
        "{said}"
    );
    assert!(!target.recording().exists());
}
