//! Sites and threads as sums of rows, and their bytes at the peak.

use super::made::*;
use crate::parts::Parts;
use heapglass_profiler::profile::{Figures, StackMarks, State, TimelinePoint};
use tracking_alloc_recording::*;

#[test]
fn sites_and_threads_are_sums_of_rows_and_the_peak_is_where_rows_saved_it() {
    let profile = load(&two_lanes());
    let of = |total: (u64, u64), freed: (u64, u64), live: (u64, u64), peak: (u64, u64)| {
        heapglass_fixture::made!(Figures {
            total_bytes: total.0,
            total_blocks: total.1,
            freed_bytes: freed.0,
            freed_blocks: freed.1,
            live_bytes: live.0,
            live_blocks: live.1,
            peak_bytes: peak.0,
            peak_blocks: peak.1,
        })
    };
    let busy = |figures: Figures| {
        heapglass_fixture::made!(Figures {
            grows: 3,
            shrinks: 1,
            copied_bytes: 50,
            temporary_blocks: 2,
            temporary_bytes: 20,
            ..figures
        })
    };
    assert_eq!(
        site_in(&profile, 1).figures,
        busy(of((1200, 12), (500, 5), (700, 7), (850, 9)))
    );
    assert_eq!(
        site_in(&profile, 2).figures,
        of((300, 3), (150, 2), (150, 1), (190, 2))
    );
    let full = synthetic(&profile, "(table full)");
    assert_eq!(full.figures, of((64, 2), (0, 0), (64, 2), (60, 1)));
    assert_eq!(
        full.marks,
        heapglass_fixture::made!(StackMarks { synthetic: true })
    );
    assert_eq!(
        synthetic(&profile, "(unattributed)").figures,
        of((8, 1), (0, 0), (8, 1), (0, 0))
    );
    assert_eq!(profile.totals().peak_bytes, 850 + 190 + 60);
    assert_eq!(
        (profile.totals().total_bytes, profile.totals().live_bytes),
        (1572, 922)
    );
    let capture = profile.capture();
    assert_eq!(
        capture.peak_error_bytes,
        1130 - 1100,
        "beyond what the rows held"
    );
    assert_eq!(capture.peak_discrepancy_bytes, 10);
    assert_eq!(capture.peak_time_ns, 4_000);
    assert_eq!(
        (capture.mode.as_str(), capture.unwinder.as_str()),
        ("exact", "frame-pointers")
    );
    assert_eq!(capture.architecture, "x86_64");
    let names: Vec<_> = profile
        .threads()
        .iter()
        .map(|thread| (thread.name.as_str(), thread.count))
        .collect();
    assert_eq!(names, [("first", 1), ("second", 1)]);
    // These blocks belong to no thread, so the thread's live bytes and peak stay zero, and reports
    // omit them.
    assert_eq!(
        thread(&profile, "first").figures,
        busy(of((1364, 15), (500, 5), (0, 0), (0, 0)))
    );
    assert_eq!(
        thread(&profile, "second").figures,
        of((200, 2), (150, 2), (0, 0), (0, 0))
    );
    assert_eq!(profile.process().state, State::Finished);
    let lost = profile.lost();
    assert_eq!((lost.table_full_bytes, lost.table_full_blocks), (64, 2));
    assert_eq!(
        (lost.unattributed_blocks, lost.damaged, lost.torn),
        (1, 0, 0)
    );
    assert!(lost.notes.is_empty(), "{:?}", lost.notes);
}

#[test]
fn a_rise_that_nothing_followed_is_the_peak() {
    let mut parts = two_lanes();
    // One more block than at the last maximum, in a row of its own epoch.
    let row = row(3, (500, 1), (0, 0), (0, 0));
    for (segment, bytes) in &mut parts.segments {
        if segment.table == table::ROWS && segment.lane == 2 {
            bytes[..RowValue::SIZE].copy_from_slice(&row.to_bytes());
        }
    }
    // 600 + 200 + 64 in the first lane, 500 - 50 + 8 in the second.
    let profile = load(&parts);
    assert_eq!(
        (profile.totals().peak_bytes, profile.totals().live_bytes),
        (1322, 1322)
    );
    let capture = profile.capture();
    assert_eq!(capture.peak_error_bytes, 0, "the bound is below it");
    assert_eq!(
        (capture.peak_discrepancy_bytes, capture.peak_time_ns),
        (0, 9_000)
    );
}

/// The bound of a recording that was not sealed adds what lanes did since their last check.
#[test]
fn the_bound_of_a_killed_programs_peak_adds_what_lanes_can_have_risen() {
    let mut parts = two_lanes();
    parts.header.state = state::RUNNING;
    parts.header.peak_bound_bytes = 0;
    // The bound is at least the difference between the rows and the running maximum.
    parts.header.peak_bytes = 1100;
    let looked = |parts: &mut Parts, lane: usize, bytes: i64, blocks: u64, total: u64| {
        for (segment, records) in &mut parts.segments {
            if segment.table == table::LANES {
                let at = lane * LaneValue::SIZE;
                let record = LaneValue {
                    checked_bytes: bytes,
                    checked_blocks: blocks,
                    checked_total_bytes: total,
                    ..LaneValue::parse(&records[at..])
                };
                records[at..at + LaneValue::SIZE].copy_from_slice(&record.to_bytes());
            }
        }
    };
    // The first lane allocated 864 bytes net and 1,364 in total; the second 50 net (without the 8
    // of its handlers) and 200 in total.
    looked(&mut parts, 1, 700, 10, 1000);
    looked(&mut parts, 2, 30, 1, 90);
    let error = |parts: &Parts| load(parts).capture().peak_error_bytes;
    assert_eq!(error(&parts), (700 + 364) + (30 + 110) - 1100);
    // If only one lane moved since, its events form a plain sequence.
    looked(&mut parts, 2, 50, 2, 200);
    let measured = load(&parts).capture().peak_discrepancy_bytes;
    assert_eq!(error(&parts), measured, "never below what was measured");
    // A lane that returns to the same net figure through other events has moved.
    looked(&mut parts, 2, 50, 1, 100);
    assert_eq!(error(&parts), (700 + 364) + (50 + 100) - 1100);
    // A lane that never checked had allocated nothing.
    looked(&mut parts, 2, 40, 0, 0);
    assert_eq!(error(&parts), 700 + 364 + 40 + 200 - 1100);
    // A finished recording has its bound in the header: the thread that seals it looks at every
    // lane first.
    parts.header.state = state::FINISHED;
    assert_eq!(error(&parts), measured);
    let unsealed = load_bytes(&parts.bytes());
    assert_eq!(
        unsealed.capture().peak_error_bytes,
        700 + 364 + 40 + 200 - 1100,
        "somebody stayed inside"
    );
}

#[test]
fn a_window_is_the_peak_when_it_held_more_than_all_later_ones() {
    let with_mark = |peak_bytes| {
        let mut parts = two_lanes();
        let row = MarkRowValue {
            site: 3,
            lane: 1,
            peak_bytes,
            peak_blocks: 1,
        };
        parts.append(table::MARK_ROWS, 0, &[row]);
        parts.header.mark_rows_len = 1;
        let mark = MarkValue {
            has_rows: 1,
            rows: 1,
            peak_bytes,
            peak_ns: 1_500,
            ..MarkValue::default()
        };
        parts.append(table::MARKS, 0, &[mark]);
        parts.header.marks_len = 1;
        let profile = load(&parts);
        (profile.totals().peak_bytes, profile.capture().peak_time_ns)
    };
    // The last window held 1,100 bytes; among equal peaks, the last one counts.
    assert_eq!(with_mark(600), (1_100, 4_000));
    assert_eq!(with_mark(1_100), (1_100, 4_000));
    assert_eq!(with_mark(1_101), (1_101, 1_500));
}

#[test]
fn how_and_what_was_recorded_is_told() {
    let mut parts = two_lanes();
    (parts.header.unwinder, parts.header.arch) = (unwinder::EH_FRAME, arch::AARCH64);
    parts.header.executable = parts.string("/usr/bin/tool (deleted)");
    parts.header.command = parts.string("tool\0--fast\0\0");
    parts.header.pid = 77;
    let points = [(5, 10), (9_500, 0)].map(|(time_ns, live_bytes)| PointValue {
        time_ns,
        live_bytes,
        live_blocks: 2,
        total_bytes: 3,
        rss_bytes: 4,
        own_bytes: 6,
    });
    parts.append(table::TIMELINE, 0, &points);
    parts.header.timeline_len = 2;
    let profile = load(&parts);
    let capture = profile.capture();
    assert_eq!(
        (capture.unwinder.as_str(), capture.architecture.as_str()),
        ("eh-frame", "aarch64")
    );
    let process = profile.process();
    assert_eq!(process.command, ["tool", "--fast", ""]);
    assert_eq!((process.program.as_str(), process.pid), ("tool", 77));
    assert_eq!(process.duration_ns, 9_500, "the last point came later");
    let point = |time_ns, live_bytes| {
        heapglass_fixture::made!(TimelinePoint {
            time_ns,
            live_bytes,
            live_blocks: 2,
            total_bytes: 3,
            rss_bytes: 4,
            own_bytes: 6,
        })
    };
    assert_eq!(*profile.timeline(), [point(5, 10), point(9_500, 0)]);
}

#[test]
fn further_threads_are_there_when_they_allocated_or_freed() {
    let threads = |row: RowValue| {
        let mut parts = empty();
        add_scopes(&mut parts, 1);
        let shared = LaneValue {
            kind: lane_kind::SHARED,
            ..LaneValue::default()
        };
        let none = [RowValue::default(); 2];
        let others = still(3, (100, 10), (0, 0));
        add_lanes(
            &mut parts,
            &[
                (lane(b"main\0\0\0\0"), &[others], none),
                (shared, &[row], none),
            ],
        );
        load(&parts).threads().len()
    };
    assert_eq!(threads(still(3, (0, 0), (0, 0))), 1);
    assert_eq!(threads(still(3, (8, 1), (0, 0))), 2);
    assert_eq!(threads(still(3, (0, 0), (8, 1))), 2);
}

#[test]
fn the_largest_window_is_the_peak_and_a_mark_keeps_its_rows() {
    let mut parts = two_lanes();
    let held = |site, lane, peak_bytes, peak_blocks| MarkRowValue {
        site,
        lane,
        peak_bytes,
        peak_blocks,
    };
    let rows = [
        held(4, 2, 1, 1),
        held(3, 1, 5000, 50),
        held(4, 2, 600, 6),
        held(3, 2, 100, 1),
    ];
    parts.append(table::MARK_ROWS, 0, &rows);
    parts.header.mark_rows_len = 4;
    let (early, late) = (parts.string("early"), parts.string("late"));
    let mark = MarkValue {
        name: early,
        has_rows: 1,
        time_ns: 2_000,
        sums: Sums::from([6000, 60, 300, 3, 1, 2, 10, 4, 40]),
        peak_bytes: 5710,
        peak_blocks: 57,
        first_row: 1,
        rows: 3,
        peak_ns: 1_500,
        peak_bound_bytes: 5720,
    };
    let none = MarkValue {
        name: late,
        time_ns: 3_000,
        sums: Sums::from([7000, 70, 6900, 69, 0, 0, 0, 0, 0]),
        peak_bound_bytes: 5705,
        ..MarkValue::default()
    };
    parts.append(table::MARKS, 0, &[mark, none]);
    parts.header.marks_len = 2;
    let profile = load(&parts);
    assert_eq!(profile.totals().peak_bytes, 5700);
    let at_peak = |scope| {
        let figures = site_in(&profile, scope).figures.clone();
        (figures.peak_bytes, figures.peak_blocks)
    };
    assert_eq!((at_peak(1), at_peak(2)), ((5100, 51), (600, 6)));
    let capture = profile.capture();
    assert_eq!(
        (capture.peak_time_ns, capture.peak_discrepancy_bytes),
        (1_500, 10)
    );
    assert_eq!(capture.peak_error_bytes, 20);
    let marks: Vec<_> = profile
        .marks()
        .iter()
        .map(|mark| (mark.name.as_str(), mark.time_ns, mark.figures.clone()))
        .collect();
    let first = heapglass_fixture::made!(Figures {
        total_bytes: 6000,
        total_blocks: 60,
        freed_bytes: 300,
        freed_blocks: 3,
        live_bytes: 5700,
        live_blocks: 57,
        peak_bytes: 5710,
        peak_blocks: 57,
        grows: 1,
        shrinks: 2,
        copied_bytes: 10,
        temporary_blocks: 4,
        temporary_bytes: 40,
    });
    let second = heapglass_fixture::made!(Figures {
        total_bytes: 7000,
        total_blocks: 70,
        freed_bytes: 6900,
        freed_blocks: 69,
        live_bytes: 100,
        live_blocks: 1,
    });
    assert_eq!(marks, [("early", 2_000, first), ("late", 3_000, second)]);
}

#[test]
fn threads_of_one_name_are_one() {
    let mut parts = empty();
    add_scopes(&mut parts, 1);
    let rows = [row(3, (1000, 10), (300, 3), (800, 8))];
    let since = [300, 3, 100, 1, 0, 0, 0, 0, 0];
    let heir = |name, clock| LaneValue {
        tenancies: 2,
        since: Sums::from(since),
        since_clock: Clock::new(clock, 0),
        ..lane(name)
    };
    let shared = LaneValue {
        kind: 2,
        tenancies: 9,
        ..lane(b"unused\0\0")
    };
    add_lanes(
        &mut parts,
        &[
            (lane(b"worker\0\0"), &rows, [RowValue::default(); 2]),
            (
                heir(b"worker\0\0", EPOCH - 1),
                &rows,
                [RowValue::default(); 2],
            ),
            (
                heir(b"late\0\0\0\0", EPOCH),
                &rows,
                [RowValue::default(); 2],
            ),
            (shared, &rows, [RowValue::default(); 2]),
            (
                LaneValue {
                    kind: 2,
                    ..LaneValue::default()
                },
                &[],
                [RowValue::default(); 2],
            ),
        ],
    );
    let ended = |name: &[u8; 8], clock: u64, live: u64| ThreadNameValue {
        name: named(name),
        count: 3,
        sums: Sums::from([50 + live, 5, 50, 4, 0, 0, 0, 0, 0]),
        peak_bytes: 40,
        peak_blocks: 2,
        clock: Clock::new(clock, 0),
    };
    parts.append(
        table::THREADS,
        0,
        &[
            ended(b"worker\0\0", EPOCH, 10),
            ended(b"gone\0\0\0\0", EPOCH - 1, 7),
        ],
    );
    parts.header.threads_len = 2;
    parts.header.peak_bytes = 3200;
    let profile = load(&parts);
    let threads: Vec<_> = profile
        .threads()
        .iter()
        .map(|thread| (thread.name.as_str(), thread.count))
        .collect();
    let expected = [
        ("(further threads)", 9),
        ("gone", 3),
        ("late", 1),
        ("worker", 5),
    ];
    assert_eq!(threads, expected);
    let worker = thread(&profile, "worker").figures.clone();
    assert_eq!(
        (worker.total_bytes, worker.total_blocks),
        (1000 + 700 + 60, 10 + 7 + 5)
    );
    assert_eq!(
        (worker.freed_bytes, worker.freed_blocks),
        (300 + 200 + 50, 3 + 2 + 4)
    );
    assert_eq!((worker.live_bytes, worker.peak_bytes), (0, 0));
}
