//! The losses of a recording, and contents that no recorder can have written.

use super::made::*;
use heapglass_profiler::profile::StackMarks;
use tracking_alloc_recording::*;

/// Counts contents that no writer leaves. Does not count an event that was cut short in a killed
/// program.
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
        profile.lost().damaged + profile.lost().torn
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
    // At the peak, threads may be apart by what happens between two of their checks, but not by
    // more.
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
    let apart = |bytes: i64, blocks: i64| {
        let mut parts = empty();
        add_scopes(&mut parts, 2);
        let rows = [
            row(3, (1 << 20, 1), (1 << 20, 1), (1 << 20, 1)),
            row(4, (9, 1), (9, 1), (bytes, blocks)),
        ];
        add_lanes(
            &mut parts,
            &[(lane(b"one\0\0\0\0\0"), &rows, [RowValue::default(); 2])],
        );
        load(&parts).lost().damaged
    };
    assert_eq!((apart(-drift, 0), apart(-drift - 1, 0)), (0, 1));
    assert_eq!((apart(0, -drift), apart(0, -drift - 1)), (0, 1));
    assert_eq!(apart(0, -drift - 2), 1);
}

#[test]
fn rows_that_counted_nothing_are_no_sites_and_numbers_that_no_site_has_are_damage() {
    let sites = |row: RowValue| {
        let mut parts = empty();
        add_scopes(&mut parts, 1);
        add_lanes(
            &mut parts,
            &[(lane(b"one\0\0\0\0\0"), &[row], [RowValue::default(); 2])],
        );
        load(&parts)
    };
    assert!(sites(row(3, (0, 0), (0, 0), (0, 0))).sites().is_empty());
    let profile = sites(row(0, (5, 1), (0, 0), (5, 1)));
    assert_eq!(synthetic(&profile, "(damaged)").figures.total_bytes, 5);
    assert_eq!(profile.totals().total_bytes, 5);
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
        load(&parts).lost().damaged
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
    (header.walk_disagreements, header.missed_snapshots) = (12, 13);
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
    // `again.so` came after another library at its place. `once.so` was the first at its place, and
    // the kernel's image is not a library.
    let module = |path, generation| ModuleValue {
        path,
        generation,
        ..ModuleValue::default()
    };
    let modules = [("/lib/again.so", 1), ("/lib/once.so", 0), ("[vdso]", 1)]
        .map(|(path, generation)| module(parts.string(path), generation));
    parts.append(table::MODULES, 0, &modules);
    parts.header.modules_len = 3;
    let profile = load(&parts);
    let lost = profile.lost();
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
        heapglass_fixture::made!(StackMarks {
            foreign: true,
            deep: true,
            folded: true,
        })
    );
    assert_eq!(
        site_in(&profile, 1).marks,
        heapglass_fixture::made!(StackMarks { cut: true })
    );
    let capture = profile.capture();
    assert_eq!(
        (capture.rss_bytes, capture.peak_rss_bytes, capture.own_bytes),
        (8, 9, 10)
    );
    for part in [
        "1 stack had the key",
        "1 library was loaded where another",
        "6 of the first stacks",
        "12 walks that reused",
        "the names of 7 threads",
    ] {
        assert!(
            lost.notes.iter().any(|note| note.starts_with(part)),
            "{part}: {:?}",
            lost.notes
        );
    }
    let mut none = two_lanes();
    let modules = [module(none.string("/lib/once.so"), 0)];
    none.append(table::MODULES, 0, &modules);
    none.header.modules_len = 1;
    assert!(load(&none).lost().notes.is_empty());
    let growth = |ended, errno| {
        let mut parts = two_lanes();
        (parts.header.growth_ended, parts.header.growth_errno) = (ended, errno);
        load(&parts).lost().notes.join("; ")
    };
    assert_eq!(growth(growth::OPEN, 0), "");
    assert!(growth(growth::OPEN, 24).contains("could not grow for a while"));
    for (ended, part) in [
        (growth::DISK_FULL, "the disk is full"),
        (growth::FILE_SIZE_LIMIT, "ulimit -f"),
        (growth::FILE_GONE, "removed or replaced"),
        (growth::NO_ACCESS, "HEAPGLASS_PREALLOC=1"),
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
