//! The same window counted by heapglass, dhat-rs, stats_alloc and arithmetic: equal to the byte and
//! block.

use crate::common::Target;
use heapglass_examples::oracle::WORKLOADS;
use heapglass_examples::recorded;
use heapglass_limits::Command;
use serde_json::Value;
use tracking_alloc_recording::Recording;

fn dhat(workload: &str) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_oracle_dhat"))
        .arg(workload)
        .output()
        .expect("oracle_dhat starts");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn ours(words: &[&str]) -> (Value, Recording) {
    let mut target = Target::new(env!("CARGO_BIN_EXE_oracle"), words);
    let printed = serde_json::from_str(&target.succeed()).expect("JSON");
    (printed, recorded::open(&target.recording()))
}

/// Returns the window between the two marks, from the recording.
fn window(recording: &Recording) -> Value {
    let [begin, end] = recording.marks.as_slice() else {
        panic!("two marks: {:?}", recording.marks)
    };
    let between = end.sums.zip(begin.sums, u64::wrapping_sub);
    let (live_bytes, live_blocks) = between.net();
    let (bytes_before, blocks_before) = begin.sums.net();
    let rows = &recording.mark_rows[end.first_row as usize..(end.first_row + end.rows) as usize];
    // The rows at the window's peak include blocks that were live before the window.
    let (bytes, blocks) = rows.iter().fold((0, 0), |sum, row| {
        (sum.0 + row.peak_bytes, sum.1 + row.peak_blocks)
    });
    assert_eq!(
        (bytes, blocks),
        (end.peak_bytes, end.peak_blocks),
        "the sum over sites at the peak is the peak"
    );
    serde_json::json!({
        "total_bytes": between.total_bytes, "total_blocks": between.total_blocks,
        "live_bytes": live_bytes, "live_blocks": live_blocks,
        "peak_bytes": bytes - bytes_before, "peak_blocks": blocks - blocks_before,
    })
}

fn agree(workload: &str, extra: &[&str]) {
    let theirs = dhat(workload);
    let (printed, recording) = ours(&[&[workload], extra].concat());
    assert_eq!(
        window(&recording),
        theirs,
        "{workload} {extra:?}: the window between two marks (left) and dhat-rs (right)"
    );
    assert_eq!(
        recorded::sums(&recording),
        recorded::sums_of_lanes(&recording),
        "{workload}: sites and lanes"
    );

    let (stats, counted) = (&printed["stats"], &printed["stats_alloc"]);
    for key in ["total_bytes", "total_blocks", "live_bytes", "live_blocks"] {
        assert_eq!(
            stats[key], theirs[key],
            "{workload}: {key} of stats() and of dhat-rs"
        );
    }
    // stats_alloc counts a failed realloc as a successful one.
    for key in if workload == "realloc_failed" {
        &["fresh_blocks"][..]
    } else {
        &["live_bytes", "fresh_blocks"]
    } {
        assert_eq!(
            stats[*key], counted[*key],
            "{workload}: {key} of stats() and of stats_alloc"
        );
    }
    let measured = &printed["measure"];
    if extra.contains(&"measure") {
        for key in [
            "total_bytes",
            "total_blocks",
            "live_bytes",
            "live_blocks",
            "peak_bytes",
            "peak_blocks",
        ] {
            assert_eq!(
                measured[key], theirs[key],
                "{workload}: {key} of measure() and of dhat-rs"
            );
        }
    }
}

#[test]
fn every_workload_counts_as_dhat_and_stats_alloc_count_it() {
    WORKLOADS
        .iter()
        .for_each(|(workload, _)| agree(workload, &[]));
}

#[test]
fn measuring_beside_a_recording_changes_neither() {
    WORKLOADS
        .iter()
        .for_each(|(workload, _)| agree(workload, &["measure"]));
}

#[test]
fn a_sleeping_second_thread_changes_nothing() {
    WORKLOADS
        .iter()
        .for_each(|(workload, _)| agree(workload, &["second-thread"]));
}

#[test]
fn totals_equal_arithmetic() {
    // 99 blocks of 3, 6, .. 297 bytes, each reallocated to its own size, and their boxed vector.
    let (printed, recording) = ours(&["realloc_same", "measure"]);
    let blocks: u64 = (1..100).map(|bytes| bytes * 3).sum();
    let vector = 99 * 24 + 24;
    assert_eq!(window(&recording)["total_bytes"], 2 * blocks + vector);
    assert_eq!(window(&recording)["total_blocks"], 2 * 99 + 2);
    assert_eq!(
        printed["measure"]["grows"], 99,
        "the same size counts as a grow"
    );
    assert_eq!(printed["measure"]["shrinks"], 0);
    // Only the box around the triple: boxes, vectors and strings of nothing are no blocks.
    let (printed, _) = ours(&["zero_sized", "measure"]);
    // The vector of a hundred boxes is still one block.
    assert_eq!(printed["measure"]["total_blocks"], 2);
    assert_eq!(printed["measure"]["total_bytes"], 100 * 8 + 72);
    // A failed realloc is no event: 49 blocks and 20 reallocs, the vector and its box.
    let (printed, _) = ours(&["realloc_failed", "measure"]);
    assert_eq!(printed["measure"]["total_blocks"], 49 + 20 + 2);
    assert_eq!(printed["measure"]["live_bytes"], 20 * 500 + 49 * 24 + 24);
}
