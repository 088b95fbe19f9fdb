//! Valid recordings made by hand, and every figure of what is loaded from them, by arithmetic.

use crate::parts::{Parts, seal};
use heapglass_profiler::Options;
use heapglass_profiler::profile::{Figures, Profile, ScopeKind, Site, StackMarks, State, Thread};
use tracking_alloc_recording::*;

/// A finished recording without anything in its tables but what is reserved.
fn empty() -> Parts {
    let mut parts = Parts::of(&crate::golden("v2.hg"));
    parts.segments.clear();
    let golden = parts.header;
    parts.header = HeaderValue {
        magic: golden.magic,
        version: golden.version,
        header_bytes: golden.header_bytes,
        state: state::FINISHED,
        mode: mode::EXACT,
        unwinder: unwinder::FRAME_POINTERS,
        os: os::LINUX,
        arch: arch::X86_64,
        clock: EPOCH << CLOCK_SNAPSHOT_BITS,
        ..HeaderValue::default()
    };
    parts.append_bytes(table::STRINGS, 0, 1, vec![0; 4]);
    parts.header.strings_len = 4;
    parts.append(
        table::SCOPES,
        0,
        &[ScopeValue {
            kind: scope_kind::ROOT,
            ..ScopeValue::default()
        }],
    );
    parts.header.scopes_len = 1;
    parts.append(
        table::SITES,
        0,
        &[SiteValue::default(); FIRST_SITE as usize],
    );
    parts.header.sites_len = FIRST_SITE;
    parts
}

/// The epoch of the last peak.
const EPOCH: u64 = 5;

/// Lanes 1 and up with their rows; "(table full)" and "(unattributed)" among the fixed ones, as is the sum.
fn add_lanes(parts: &mut Parts, lanes: &[(LaneValue, &[RowValue], [RowValue; 2])]) {
    let mut records = vec![LaneValue::default()];
    let mut fixed = vec![RowValue::default(); 3];
    for (number, (lane, rows, [full, unattributed])) in (1..).zip(lanes) {
        records.push(LaneValue {
            rows_len: rows.len() as u32,
            ..*lane
        });
        let all = rows
            .iter()
            .chain([full])
            .fold(RowValue::default(), |sum, row| RowValue {
                total_bytes: sum.total_bytes + row.total_bytes,
                total_blocks: sum.total_blocks + row.total_blocks,
                freed_bytes: sum.freed_bytes + row.freed_bytes,
                freed_blocks: sum.freed_blocks + row.freed_blocks,
                grows: sum.grows + row.grows,
                shrinks: sum.shrinks + row.shrinks,
                copied_bytes: sum.copied_bytes + row.copied_bytes,
                temporary_blocks: sum.temporary_blocks + row.temporary_blocks,
                temporary_bytes: sum.temporary_bytes + row.temporary_bytes,
                saved_bytes: sum.saved_bytes + row.saved_bytes,
                saved_blocks: sum.saved_blocks + row.saved_blocks,
                clock: sum.clock.max(row.clock),
                ..RowValue::default()
            });
        fixed.extend([all, *full, *unattributed]);
        parts.append(table::ROWS, number, rows);
    }
    parts.append(table::LANES, 0, &records);
    parts.append(table::FIXED_ROWS, 0, &fixed);
    parts.header.lanes = lanes.len() as u32;
    parts.header.most_lanes = lanes.len() as u32;
}

fn add_sites(parts: &mut Parts, sites: &[SiteValue]) {
    parts.append(table::SITES, 0, sites);
    parts.header.sites_len += sites.len() as u32;
}

fn load(parts: &Parts) -> Profile {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("made.hg");
    let mut bytes = parts.bytes();
    if parts.header.state == state::FINISHED {
        seal(&mut bytes);
    }
    std::fs::write(&path, bytes).expect("written");
    heapglass_profiler::open(&path, &Options::default(), &|_| ()).expect("a recording")
}

fn named(name: &[u8; 8]) -> [u64; 2] {
    [u64::from_le_bytes(*name), 0]
}

/// A row with its net saved at the present epoch: at the peak it held `peak`.
fn row(site: u32, total: (u64, u64), freed: (u64, u64), peak: (i64, i64)) -> RowValue {
    RowValue {
        site,
        total_bytes: total.0,
        total_blocks: total.1,
        freed_bytes: freed.0,
        freed_blocks: freed.1,
        saved_bytes: peak.0,
        saved_blocks: peak.1,
        clock: EPOCH << CLOCK_SNAPSHOT_BITS,
        ..RowValue::default()
    }
}

/// One that did not change since the peak: its net is what it held then.
fn still(site: u32, total: (u64, u64), freed: (u64, u64)) -> RowValue {
    RowValue {
        clock: (EPOCH - 1) << CLOCK_SNAPSHOT_BITS,
        ..row(site, total, freed, (777, 7))
    }
}

fn lane(name: &[u8; 8]) -> LaneValue {
    LaneValue {
        kind: 1,
        tenancies: 1,
        name: named(name),
        ..LaneValue::default()
    }
}

/// Sites of so many scopes, one in each: scope `n` has site `FIRST_SITE + n - 1`.
fn add_scopes(parts: &mut Parts, count: u32) {
    let names: Vec<u32> = (1..=count)
        .map(|number| parts.string(&format!("scope {number}")))
        .collect();
    let scopes: Vec<ScopeValue> = names
        .iter()
        .map(|name| ScopeValue {
            kind: scope_kind::PHASE,
            name: *name,
            depth: 1,
            ..ScopeValue::default()
        })
        .collect();
    parts.append(table::SCOPES, 0, &scopes);
    parts.header.scopes_len += count;
    let sites: Vec<SiteValue> = (1..=count)
        .map(|scope| SiteValue {
            scope,
            ..SiteValue::default()
        })
        .collect();
    add_sites(parts, &sites);
}

fn site_in(profile: &Profile, scope: u32) -> &Site {
    let mut sites = profile
        .sites
        .iter()
        .filter(|site| site.scope.0 == scope && !site.marks.synthetic);
    sites.next().expect("a site in that scope")
}

fn synthetic<'a>(profile: &'a Profile, name: &str) -> &'a Site {
    let mut sites = profile
        .sites
        .iter()
        .filter(|site| site.marks.synthetic && profile.function(site.stack[0]).name == name);
    sites.next().expect("a site of that name")
}

fn thread<'a>(profile: &'a Profile, name: &str) -> &'a Thread {
    let mut threads = profile.threads.iter().filter(|thread| thread.name == name);
    threads.next().expect("a thread of that name")
}

/// Two threads alive, and rows of which some changed since the peak.
fn two_lanes() -> Parts {
    let mut parts = empty();
    add_scopes(&mut parts, 2);
    let busy = RowValue {
        grows: 3,
        shrinks: 1,
        copied_bytes: 50,
        temporary_blocks: 2,
        temporary_bytes: 20,
        ..row(3, (1000, 10), (400, 4), (700, 7))
    };
    let first = [busy, still(4, (300, 3), (100, 1))];
    // Frees what the first one allocated.
    let second = [
        row(3, (200, 2), (100, 1), (150, 2)),
        row(4, (0, 0), (50, 1), (-10, 0)),
    ];
    let full = row(SITE_TABLE_FULL, (64, 2), (0, 0), (60, 1));
    let unattributed = row(SITE_UNATTRIBUTED, (8, 1), (0, 0), (0, 0));
    add_lanes(
        &mut parts,
        &[
            (lane(b"first\0\0\0"), &first, [full, RowValue::default()]),
            (
                lane(b"second\0\0"),
                &second,
                [RowValue::default(), unattributed],
            ),
        ],
    );
    // The rows at the peak: 700 + 200 + 150 - 10 + 60.
    parts.header.peak_bytes = 1090;
    parts.header.doubt_bytes = 1130;
    parts.header.peak_ns = 4_000;
    parts.header.elapsed_ns = 9_000;
    parts
}

#[test]
fn sites_and_threads_are_sums_of_rows_and_the_peak_is_where_rows_saved_it() {
    let profile = load(&two_lanes());
    let of = |total: (u64, u64), freed: (u64, u64), live: (u64, u64), peak: (u64, u64)| Figures {
        total_bytes: total.0,
        total_blocks: total.1,
        freed_bytes: freed.0,
        freed_blocks: freed.1,
        live_bytes: live.0,
        live_blocks: live.1,
        peak_bytes: peak.0,
        peak_blocks: peak.1,
        ..Figures::default()
    };
    let busy = Figures {
        grows: 3,
        shrinks: 1,
        copied_bytes: 50,
        temporary_blocks: 2,
        temporary_bytes: 20,
        ..Figures::default()
    };
    let mut expected = of((1200, 12), (500, 5), (700, 7), (850, 9));
    expected = Figures {
        grows: 3,
        shrinks: 1,
        copied_bytes: 50,
        temporary_blocks: 2,
        temporary_bytes: 20,
        ..expected
    };
    assert_eq!(site_in(&profile, 1).figures, expected);
    assert_eq!(
        site_in(&profile, 2).figures,
        of((300, 3), (150, 2), (150, 1), (190, 2))
    );
    let full = synthetic(&profile, "(table full)");
    assert_eq!(full.figures, of((64, 2), (0, 0), (64, 2), (60, 1)));
    assert_eq!(
        full.marks,
        StackMarks {
            synthetic: true,
            ..StackMarks::default()
        }
    );
    assert_eq!(
        synthetic(&profile, "(unattributed)").figures,
        of((8, 1), (0, 0), (8, 1), (0, 0))
    );
    assert_eq!(profile.totals.peak_bytes, 850 + 190 + 60);
    assert_eq!(
        (profile.totals.total_bytes, profile.totals.live_bytes),
        (1572, 922)
    );
    let capture = &profile.capture;
    assert_eq!(
        capture.peak_error_bytes,
        1130 - 1100,
        "beyond what the rows held"
    );
    assert_eq!(capture.peak_discrepancy_bytes, 10);
    assert_eq!((capture.peak_time_ns, capture.layout), (4_000, VERSION));
    assert_eq!(
        (capture.mode.as_str(), capture.unwinder.as_str()),
        ("exact", "frame-pointers")
    );
    assert_eq!(capture.architecture, "x86_64");
    let names: Vec<_> = profile
        .threads
        .iter()
        .map(|thread| (thread.name.as_str(), thread.count))
        .collect();
    assert_eq!(names, [("first", 1), ("second", 1)]);
    let first = of((1364, 15), (500, 5), (864, 10), (760, 8));
    // The row that did not change counts with what it has now in its lane's sum: 700 + 777 + 60.
    let first = Figures {
        peak_bytes: 1537,
        peak_blocks: 15,
        ..first
    };
    let first = Figures {
        grows: 3,
        shrinks: 1,
        copied_bytes: 50,
        temporary_blocks: 2,
        temporary_bytes: 20,
        ..first
    };
    assert_eq!(
        (first.grows, thread(&profile, "first").figures),
        (busy.grows, first)
    );
    assert_eq!(
        thread(&profile, "second").figures,
        of((200, 2), (150, 2), (50, 0), (140, 2))
    );
    assert_eq!(profile.process.state, State::Finished);
    let lost = &profile.lost;
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
        (profile.totals.peak_bytes, profile.totals.live_bytes),
        (1322, 1322)
    );
    let capture = &profile.capture;
    assert_eq!(capture.peak_error_bytes, 0, "the bound is below it");
    assert_eq!(
        (capture.peak_discrepancy_bytes, capture.peak_time_ns),
        (0, 9_000)
    );
    assert_eq!(thread(&profile, "first").figures.peak_bytes, 864);
}

/// The bound of a recording that was not sealed: what lanes did since they were last looked at.
#[test]
fn the_bound_of_a_killed_programs_peak_adds_what_lanes_can_have_risen() {
    let mut parts = two_lanes();
    parts.header.state = state::RUNNING;
    parts.header.doubt_bytes = 0;
    let looked = |parts: &mut Parts, lane: usize, bytes: i64, blocks: u64, total: u64| {
        for (segment, records) in &mut parts.segments {
            if segment.table == table::LANES {
                let at = lane * LaneValue::SIZE;
                let record = LaneValue {
                    looked_bytes: bytes,
                    looked_blocks: blocks,
                    looked_total_bytes: total,
                    ..LaneValue::parse(&records[at..])
                };
                records[at..at + LaneValue::SIZE].copy_from_slice(&record.to_bytes());
            }
        }
    };
    // The first allocated 864 bytes net, 1,364 in total; the second 50 net (without its handlers' 8), 200 in total.
    looked(&mut parts, 1, 700, 10, 1000);
    looked(&mut parts, 2, 30, 1, 90);
    let error = |parts: &Parts| load(parts).capture.peak_error_bytes;
    assert_eq!(error(&parts), (700 + 364) + (30 + 110) - 1100);
    // One lane that moved since is a plain sequence of events.
    looked(&mut parts, 2, 50, 2, 200);
    assert_eq!(error(&parts), 0);
    // Back at the same net by other events, it moved.
    looked(&mut parts, 2, 50, 1, 100);
    assert_eq!(error(&parts), (700 + 364) + (50 + 100) - 1100);
    // Recordings of old do not say how much had been allocated.
    looked(&mut parts, 2, 50, 1, 0);
    assert_eq!(error(&parts), 700 + 364 + 50 + (64 << 10) - 1100);
    // A lane that never looked had allocated nothing.
    looked(&mut parts, 2, 40, 0, 0);
    assert_eq!(error(&parts), 700 + 364 + 40 + 200 - 1100);
    // A finished one has its bound in the header.
    parts.header.state = state::FINISHED;
    assert_eq!(error(&parts), 0);
}

#[test]
fn the_largest_window_is_the_peak_and_a_mark_keeps_its_rows() {
    let mut parts = two_lanes();
    let held = |site, lane, peak_bytes, peak_blocks| MarkRowValue {
        site,
        lane,
        peak_bytes,
        peak_blocks,
        ..MarkRowValue::default()
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
        figures: [6000, 60, 300, 3, 1, 2, 10, 4, 40],
        peak_bytes: 5710,
        peak_blocks: 57,
        first_row: 1,
        rows: 3,
        peak_ns: 1_500,
        doubt_bytes: 5720,
        ..MarkValue::default()
    };
    let none = MarkValue {
        name: late,
        time_ns: 3_000,
        figures: [7000, 70, 6900, 69, 0, 0, 0, 0, 0],
        doubt_bytes: 5705,
        ..MarkValue::default()
    };
    parts.append(table::MARKS, 0, &[mark, none]);
    parts.header.marks_len = 2;
    let profile = load(&parts);
    assert_eq!(profile.totals.peak_bytes, 5700);
    let at_peak = |scope| {
        let figures = site_in(&profile, scope).figures;
        (figures.peak_bytes, figures.peak_blocks)
    };
    assert_eq!((at_peak(1), at_peak(2)), ((5100, 51), (600, 6)));
    let capture = &profile.capture;
    assert_eq!(
        (capture.peak_time_ns, capture.peak_discrepancy_bytes),
        (1_500, 10)
    );
    assert_eq!(capture.peak_error_bytes, 20);
    let of_thread = |name| {
        let figures = thread(&profile, name).figures;
        (figures.peak_bytes, figures.peak_blocks)
    };
    assert_eq!(
        (of_thread("first"), of_thread("second")),
        ((5000, 50), (700, 7))
    );
    let marks: Vec<_> = profile
        .marks
        .iter()
        .map(|mark| (mark.name.as_str(), mark.time_ns, mark.figures))
        .collect();
    let first = Figures {
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
    };
    let second = Figures {
        total_bytes: 7000,
        total_blocks: 70,
        freed_bytes: 6900,
        freed_blocks: 69,
        live_bytes: 100,
        live_blocks: 1,
        ..Figures::default()
    };
    assert_eq!(marks, [("early", 2_000, first), ("late", 3_000, second)]);
}

#[test]
fn threads_of_one_name_are_one_and_have_what_they_held_at_the_peak() {
    let mut parts = empty();
    add_scopes(&mut parts, 1);
    let rows = [row(3, (1000, 10), (300, 3), (800, 8))];
    let since = [300, 3, 100, 1, 0, 0, 0, 0, 0];
    let heir = |name, clock| LaneValue {
        tenancies: 2,
        since,
        since_clock: clock << CLOCK_SNAPSHOT_BITS,
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
        figures: [50 + live, 5, 50, 4, 0, 0, 0, 0, 0],
        peak_bytes: 40,
        peak_blocks: 2,
        clock: clock << CLOCK_SNAPSHOT_BITS,
        ..ThreadNameValue::default()
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
    let peaks: Vec<_> = profile
        .threads
        .iter()
        .map(|thread| {
            (
                thread.name.as_str(),
                thread.count,
                thread.figures.peak_bytes,
                thread.figures.peak_blocks,
            )
        })
        .collect();
    let expected = [
        ("(further threads)", 9, 800, 8),
        // Ended before the peak: what they left.
        ("gone", 3, 7, 1),
        // Came after it.
        ("late", 1, 0, 0),
        // One from the start, one that found 200 bytes in its lane, three that ended after the peak.
        ("worker", 5, 800 + 600 + 40, 8 + 6 + 2),
    ];
    assert_eq!(peaks, expected);
    let worker = thread(&profile, "worker").figures;
    assert_eq!(
        (worker.total_bytes, worker.total_blocks),
        (1000 + 700 + 60, 10 + 7 + 5)
    );
    assert_eq!(
        (worker.freed_bytes, worker.freed_blocks),
        (300 + 200 + 50, 3 + 2 + 4)
    );
    assert_eq!(
        (worker.live_bytes, worker.live_blocks),
        (700 + 500 + 10, 7 + 5 + 1)
    );
}

/// What no writer leaves is counted, and not what an event cut short leaves in a program that was killed.
#[test]
fn figures_that_cannot_be_are_counted() {
    let plain = row(3, (1000, 10), (1000, 10), (0, 0));
    let loaded = |row: RowValue, running: bool| {
        let mut parts = empty();
        add_scopes(&mut parts, 1);
        add_lanes(
            &mut parts,
            &[(lane(b"one\0\0\0\0\0"), &[row], [RowValue::default(); 2])],
        );
        if running {
            parts.header.state = state::RUNNING;
        }
        let profile = load(&parts);
        profile.lost.damaged + profile.lost.torn
    };
    let cases: [(&str, RowValue, u64, u64); 14] = [
        ("nothing wrong", plain, 0, 0),
        (
            "as many reallocs as blocks",
            RowValue {
                grows: 6,
                shrinks: 4,
                ..plain
            },
            0,
            0,
        ),
        (
            "one more",
            RowValue {
                grows: 7,
                shrinks: 4,
                ..plain
            },
            1,
            0,
        ),
        (
            "two more",
            RowValue {
                grows: 7,
                shrinks: 5,
                ..plain
            },
            1,
            1,
        ),
        (
            "all temporary",
            RowValue {
                temporary_blocks: 10,
                ..plain
            },
            0,
            0,
        ),
        (
            "one more temporary",
            RowValue {
                temporary_blocks: 11,
                ..plain
            },
            1,
            0,
        ),
        (
            "two more temporary",
            RowValue {
                temporary_blocks: 12,
                ..plain
            },
            1,
            1,
        ),
        (
            "all bytes temporary",
            RowValue {
                temporary_bytes: 1000,
                ..plain
            },
            0,
            0,
        ),
        (
            "one more byte temporary",
            RowValue {
                temporary_bytes: 1001,
                ..plain
            },
            1,
            0,
        ),
        (
            "all bytes copied",
            RowValue {
                copied_bytes: 1000,
                ..plain
            },
            0,
            0,
        ),
        (
            "one more byte copied",
            RowValue {
                copied_bytes: 1001,
                ..plain
            },
            1,
            0,
        ),
        (
            "more freed than allocated",
            RowValue {
                freed_bytes: 1001,
                ..plain
            },
            1,
            1,
        ),
        (
            "more blocks freed",
            RowValue {
                freed_blocks: 11,
                ..plain
            },
            1,
            1,
        ),
        (
            "as much as there can be",
            RowValue {
                total_bytes: 1 << 56,
                ..plain
            },
            0,
            0,
        ),
    ];
    for (what, row, finished, running) in cases {
        assert_eq!(loaded(row, false), finished, "{what}, finished");
        assert_eq!(loaded(row, true), running, "{what}, running");
    }
    assert_eq!(
        loaded(
            RowValue {
                total_bytes: (1 << 56) + 1,
                ..plain
            },
            true
        ),
        1
    );
    // Threads are apart at the peak by what they may do between two checks, and not by more.
    let drift = 64 << 10;
    assert_eq!(
        loaded(
            RowValue {
                saved_bytes: -drift,
                ..plain
            },
            false
        ),
        0
    );
    assert_eq!(
        loaded(
            RowValue {
                saved_bytes: -drift - 1,
                ..plain
            },
            false
        ),
        0,
        "now is the peak"
    );
    let apart = |bytes: i64| {
        let mut parts = empty();
        add_scopes(&mut parts, 2);
        let rows = [
            row(3, (1 << 20, 1), (1 << 20, 1), (1 << 20, 1)),
            row(4, (9, 1), (9, 1), (bytes, 0)),
        ];
        add_lanes(
            &mut parts,
            &[(lane(b"one\0\0\0\0\0"), &rows, [RowValue::default(); 2])],
        );
        load(&parts).lost.damaged
    };
    assert_eq!((apart(-drift), apart(-drift - 1)), (0, 1));
}

#[test]
fn lanes_that_are_not_the_sum_of_their_rows_are_counted() {
    let damaged = |blocks: u64, bytes: u64| {
        let mut parts = empty();
        add_scopes(&mut parts, 1);
        add_lanes(
            &mut parts,
            &[(
                lane(b"one\0\0\0\0\0"),
                &[row(3, (100, 2), (0, 0), (0, 0))],
                [RowValue::default(); 2],
            )],
        );
        for (segment, rows) in &mut parts.segments {
            if segment.table == table::FIXED_ROWS {
                let at = 3 * RowValue::SIZE;
                let all = RowValue {
                    total_blocks: blocks,
                    total_bytes: bytes,
                    ..RowValue::parse(&rows[at..])
                };
                rows[at..at + RowValue::SIZE].copy_from_slice(&all.to_bytes());
            }
        }
        load(&parts).lost.damaged
    };
    assert_eq!(
        (
            damaged(2, 100),
            damaged(2, 101),
            damaged(4, 100),
            damaged(3, 150)
        ),
        (0, 1, 1, 0)
    );
}

#[test]
fn snapshots_are_what_rows_held_when_they_were_taken() {
    let mut parts = empty();
    add_scopes(&mut parts, 2);
    let at = |seen: u64, row: RowValue| RowValue {
        clock: EPOCH << CLOCK_SNAPSHOT_BITS | seen,
        ..row
    };
    // The second snapshot was taken after the second row changed last.
    let rows = [
        at(2, row(3, (1000, 10), (0, 0), (0, 0))),
        at(1, row(4, (80, 1), (0, 0), (0, 0))),
    ];
    let first = LaneValue {
        snaps_len: 2,
        ..lane(b"one\0\0\0\0\0")
    };
    add_lanes(
        &mut parts,
        &[
            (first, &rows, [RowValue::default(); 2]),
            (
                lane(b"two\0\0\0\0\0"),
                &[at(0, row(3, (5, 1), (0, 0), (0, 0)))],
                [RowValue::default(); 2],
            ),
        ],
    );
    let live = |first: i64, second: i64| {
        std::array::from_fn(|slot| [second, 9, first].get(slot).copied().unwrap_or(0))
    };
    let snaps = [
        SnapsValue {
            row: 0,
            live_bytes: live(300, 600),
            ..SnapsValue::default()
        },
        SnapsValue {
            row: 1,
            live_bytes: live(0, -9),
            ..SnapsValue::default()
        },
    ];
    parts.append(table::SNAPS, 1, &snaps);
    (parts.header.snapshot_seq[2], parts.header.snapshot_ns[2]) = (1, 100);
    (parts.header.snapshot_seq[0], parts.header.snapshot_ns[0]) = (2, 200);
    let profile = load(&parts);
    let of: Vec<_> = profile
        .snapshots
        .iter()
        .map(|snapshot| {
            let live = |scope| {
                let index = profile.sites.iter().position(|site| site.scope.0 == scope);
                snapshot.live_bytes[index.expect("a site")]
            };
            (snapshot.time_ns, live(1), live(2))
        })
        .collect();
    assert_eq!(of, [(100, 300 + 5, 0), (200, 600 + 5, 80)]);
}

#[test]
fn losses_and_reasons_are_told() {
    let mut parts = two_lanes();
    let header = &mut parts.header;
    (
        header.untracked_blocks,
        header.lost_marks,
        header.lost_scopes,
        header.lost_records,
    ) = (2, 3, 4, 5);
    (header.unwinder_disagreements, header.lost_threads) = (6, 7);
    (header.rss_bytes, header.peak_rss_bytes, header.own_bytes) = (8, 9, 10);
    for (segment, records) in &mut parts.segments {
        if segment.table == table::LANES {
            let record = LaneValue {
                unknown_frees: 11,
                ..LaneValue::parse(&records[LaneValue::SIZE..])
            };
            records[LaneValue::SIZE..2 * LaneValue::SIZE].copy_from_slice(&record.to_bytes());
        }
        if segment.table == table::SITES && segment.first != 0 {
            let flags = [
                site_flags::CUT | site_flags::COLLIDED,
                site_flags::FOREIGN | site_flags::DEEP | site_flags::FOLDED,
            ];
            *records = (1..)
                .zip(flags)
                .flat_map(|(scope, flags)| {
                    SiteValue {
                        scope,
                        flags,
                        ..SiteValue::default()
                    }
                    .to_bytes()
                })
                .collect();
        }
    }
    let path = parts.string("/lib/again.so");
    parts.append(
        table::MODULES,
        0,
        &[ModuleValue {
            path,
            generation: 1,
            ..ModuleValue::default()
        }],
    );
    parts.header.modules_len = 1;
    let profile = load(&parts);
    let lost = &profile.lost;
    assert_eq!(
        (
            lost.untracked_blocks,
            lost.marks,
            lost.scopes,
            lost.records,
            lost.unknown_frees
        ),
        (2, 3, 4, 5, 11)
    );
    assert_eq!(
        (
            lost.cut_stacks,
            lost.foreign_stacks,
            lost.deep_stacks,
            lost.folded_stacks
        ),
        (12, 3, 3, 1)
    );
    let marks = site_in(&profile, 2).marks;
    assert_eq!(
        marks,
        StackMarks {
            foreign: true,
            deep: true,
            folded: true,
            ..StackMarks::default()
        }
    );
    assert_eq!(
        site_in(&profile, 1).marks,
        StackMarks {
            cut: true,
            ..StackMarks::default()
        }
    );
    let capture = &profile.capture;
    assert_eq!(
        (capture.rss_bytes, capture.peak_rss_bytes, capture.own_bytes),
        (8, 9, 10)
    );
    for part in [
        "1 stacks had the key",
        "1 libraries were loaded",
        "6 of the first stacks",
        "7 threads ended",
    ] {
        assert!(
            lost.notes.iter().any(|note| note.starts_with(part)),
            "{part}: {:?}",
            lost.notes
        );
    }
    let growth = |ended, errno| {
        let mut parts = two_lanes();
        (parts.header.growth_ended, parts.header.growth_errno) = (ended, errno);
        load(&parts).lost.notes.join("; ")
    };
    assert_eq!(growth(growth::OPEN, 0), "");
    assert!(growth(growth::OPEN, 24).contains("could not grow for a while"));
    for (ended, part) in [
        (growth::DISK_FULL, "the disk is full"),
        (growth::FILE_SIZE_LIMIT, "ulimit -f"),
        (growth::FILE_GONE, "removed or replaced"),
        (growth::NO_MEMORY, "no more memory"),
        (growth::CAP, "HEAPGLASS_MAX_BYTES"),
        (growth::OTHER, "the file system refused"),
    ] {
        assert!(
            growth(ended, 0).contains(part),
            "{part}: {}",
            growth(ended, 0)
        );
        assert!(growth(ended, 28).contains("(os error 28)"));
    }
}

#[test]
fn scopes_and_footprints_are_as_they_were_recorded() {
    let mut parts = empty();
    let kinds = [
        (scope_kind::PHASE, ScopeKind::Phase),
        (scope_kind::FIELD, ScopeKind::Field),
        (scope_kind::ELEMENT, ScopeKind::Element),
        (scope_kind::KEY, ScopeKind::Key),
        (scope_kind::VALUE, ScopeKind::Value),
        (scope_kind::VARIANT, ScopeKind::Variant),
        (scope_kind::INDEX, ScopeKind::Index),
        (scope_kind::BUFFERED, ScopeKind::Buffered),
        (scope_kind::FROM_BUFFER, ScopeKind::FromBuffer),
        (scope_kind::OTHER, ScopeKind::Other),
    ];
    let (name, type_name) = (parts.string("field"), parts.string("app::Type"));
    let flags = [
        0,
        scope_flags::RECURSIVE,
        scope_flags::FOLDED,
        scope_flags::IN_ARENA,
        scope_flags::RETAINED_UNKNOWN,
    ];
    let scopes: Vec<ScopeValue> = (0u32..)
        .zip(kinds)
        .map(|(index, (kind, _))| ScopeValue {
            kind,
            parent: index,
            name,
            type_name: if index == 3 { 0 } else { type_name },
            depth: index + 1,
            entered: 2,
            input_bytes: 10,
            records: 1,
            value_bytes: 24,
            flags: flags.get(index as usize).copied().unwrap_or(0),
            retained_bytes: -5,
        })
        .collect();
    parts.append(table::SCOPES, 0, &scopes);
    parts.header.scopes_len += scopes.len() as u32;
    let visits = |scope, count| VisitsValue {
        scope,
        count,
        ..VisitsValue::default()
    };
    let with_visits = |length| LaneValue {
        visits_len: length,
        ..lane(b"one\0\0\0\0\0")
    };
    add_lanes(
        &mut parts,
        &[
            (with_visits(2), &[], [RowValue::default(); 2]),
            (with_visits(1), &[], [RowValue::default(); 2]),
        ],
    );
    parts.append(table::VISITS, 1, &[visits(1, 100), visits(2, 7)]);
    parts.append(table::VISITS, 2, &[visits(1, 11)]);
    let nodes: Vec<FootprintNodeValue> = (0..4u32)
        .map(|index| FootprintNodeValue {
            // Among those of its footprint, which begins with the second.
            parent: index.saturating_sub(2),
            kind: kinds[index as usize].0,
            name,
            type_name,
            count: 1,
            inline_bytes: 2,
            blocks: 3,
            block_bytes: 4,
            usable_bytes: 5,
            used_bytes: 6,
            shared_blocks: 7,
            shared_bytes: 8,
            ..FootprintNodeValue::default()
        })
        .collect();
    parts.append(table::FOOTPRINT_NODES, 0, &nodes);
    parts.header.footprint_nodes_len = 4;
    let footprint = FootprintValue {
        label: name,
        type_name,
        time_ns: 9,
        live_bytes: 10,
        kind: footprint_kind::EXACT,
        first_node: 1,
        nodes: 3,
        folded: 11,
        hidden_values: 12,
        ..FootprintValue::default()
    };
    let estimate = FootprintValue {
        kind: footprint_kind::ESTIMATE,
        nodes: 0,
        ..footprint
    };
    parts.append(table::FOOTPRINTS, 0, &[footprint, estimate]);
    parts.header.footprints_len = 2;
    let profile = load(&parts);
    assert_eq!(profile.scopes.len(), 11);
    let field_type = profile.scopes[1].value_type.expect("a type");
    assert_eq!(profile.type_name(field_type).full, "app::Type");
    for (index, (scope, (_, kind))) in profile.scopes[1..].iter().zip(kinds).enumerate() {
        assert_eq!(
            (scope.kind, scope.parent as usize, scope.name.as_str()),
            (kind, index, "field")
        );
        assert_eq!(scope.value_type, (index != 3).then_some(field_type));
        assert_eq!(
            (scope.value_bytes, scope.input_bytes, scope.records),
            (24, 10, 1)
        );
        assert_eq!(
            (scope.recursive, scope.folded, scope.in_arena),
            (index == 1, index == 2, index == 3)
        );
        assert_eq!(scope.retained_bytes, (index != 4).then_some(-5));
        assert_eq!(scope.entered, 2 + [111, 7].get(index).copied().unwrap_or(0));
    }
    let [exact, estimate] = &profile.footprints[..] else {
        panic!("two footprints");
    };
    assert_eq!(
        (
            exact.label.as_str(),
            exact.value_type,
            exact.time_ns,
            exact.live_bytes
        ),
        ("field", Some(field_type), 9, 10)
    );
    assert_eq!(
        (
            exact.estimate,
            exact.folded,
            exact.hidden_values,
            exact.nodes.len()
        ),
        (false, 11, 12, 3)
    );
    assert_eq!((estimate.estimate, estimate.nodes.len()), (true, 0));
    let node = &exact.nodes[2];
    assert_eq!(
        (node.parent, node.kind, node.name.as_str()),
        (1, ScopeKind::Key, "field")
    );
    assert_eq!(
        (node.count, node.inline_bytes, node.blocks, node.block_bytes),
        (1, 2, 3, 4)
    );
    assert_eq!(
        (
            node.usable_bytes,
            node.used_bytes,
            node.shared_blocks,
            node.shared_bytes
        ),
        (5, 6, 7, 8)
    );
}
