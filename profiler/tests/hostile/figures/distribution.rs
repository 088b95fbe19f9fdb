//! Sizes and lifetimes of a site's blocks.

use super::made::*;
use crate::parts::Parts;
use heapglass_profiler::profile::{Distribution, Profile};
use tracking_alloc_recording::*;

/// The pair of a size record: blocks of `bytes`.
fn pair(bytes: u64, blocks: u64) -> u64 {
    u64::from(size_class(bytes)) << 48 | blocks
}

fn lived(row: RowValue, lifetime: u64, blocks: u64, elsewhere: u64) -> RowValue {
    RowValue {
        lifetime,
        lifetime_blocks: blocks,
        freed_elsewhere: elsewhere,
        ..row
    }
}

fn sizes(pairs: &[(u64, u64)]) -> Distribution {
    let mut sizes = Distribution::default();
    for (bytes, blocks) in pairs {
        sizes.add_blocks(*bytes, *blocks);
    }
    sizes
}

/// One site has one size in one lane and nine in another; one has a single size class; one has
/// several but no record; and some blocks did not fit.
fn recorded() -> Parts {
    let mut parts = empty();
    add_scopes(&mut parts, 3);
    let none = (0, 0);
    let one = [
        // Ten of 24 bytes; seven were freed.
        lived(row(3, (240, 10), (168, 7), none), 30, 4, 1),
        // 33 + 33 + 34 bytes, all in one class.
        row(4, (100, 3), (0, 0), none),
        // 16 bytes on average, but not in each block.
        row(5, (50, 3), (16, 1), none),
    ];
    let two = [
        row(5, (0, 0), (34, 2), none),
        lived(row(3, (36 + 24, 9), (0, 2), none), 6, 2, 0),
    ];
    let full = row(SITE_TABLE_FULL, (64, 2), (0, 0), none);
    let two_records = LaneValue {
        sizes_len: 2,
        ..lane(b"two\0\0\0\0\0")
    };
    add_lanes(
        &mut parts,
        &[
            (lane(b"one\0\0\0\0\0"), &one, [full, RowValue::default()]),
            (two_records, &two, [RowValue::default(); 2]),
        ],
    );
    let records = [
        std::array::from_fn(|index| pair(index as u64 + 1, 1)),
        [pair(24, 1), pair(8, 1), 0, 0, 0, 0, 0],
    ];
    let records = records.map(|pairs| SizesValue {
        row: 1,
        pairs,
        ..SizesValue::default()
    });
    parts.append(table::SIZES, 2, &records);
    parts
}

fn of(profile: &Profile, scope: u32) -> Distribution {
    site_in(profile, scope).distribution.clone()
}

#[test]
fn blocks_of_a_site_are_those_of_its_rows_and_of_their_size_records() {
    let profile = load(&recorded());
    assert_eq!(profile.lost().damaged, 0);
    let first = of(&profile, 1);
    let mut expected = sizes(&[(24, 10 + 1), (8, 1)]);
    (1..=7).for_each(|bytes| expected.add_blocks(bytes, 1));
    (expected.lifetime, expected.lifetime_blocks) = (30 + 6, 4 + 2);
    expected.freed_elsewhere = 1;
    assert_eq!(first, expected);
    assert_eq!(first.mean_lifetime(), Some(6.0));
    assert_eq!(first.sized_blocks(), 10 + 9);
    let figures = site_in(&profile, 1).figures.clone();
    let known = first.known_share(&figures);
    assert_eq!((known.part, known.whole), (7, 9));
    let elsewhere = first.freed_elsewhere_share();
    assert_eq!((elsewhere.part, elsewhere.whole), (1, 7));
    assert_eq!(of(&profile, 2), sizes(&[(40, 3)]));
    assert_eq!(of(&profile, 3), Distribution::default(), "not known");
    let full = synthetic(&profile, "(table full)");
    assert_eq!(full.distribution, Distribution::default(), "of any size");
}

#[test]
fn where_a_size_record_may_be_missing_a_row_without_one_tells_no_size() {
    let changes: [fn(&mut HeaderValue); 3] = [
        |header| header.growth_ended = growth::CAP,
        |header| header.growth_errno = 28,
        |header| header.arch = arch::WASM32,
    ];
    for change in changes {
        let mut parts = recorded();
        change(&mut parts.header);
        let profile = load(&parts);
        assert_eq!(of(&profile, 1).sized_blocks(), 9, "those of the records");
        assert_eq!(of(&profile, 2), Distribution::default());
    }
}

#[test]
fn the_golden_recording_tells_sizes_and_lifetimes() {
    let golden = load(&Parts::of(&crate::golden("native.hg")));
    let phase = of(&golden, 1);
    let classes: Vec<_> = phase.classes().collect();
    assert_eq!(classes, [(24..=24, 3), (113..=128, 1)]);
    assert_eq!(phase.mean_lifetime(), Some(17.0 / 2.0));
    assert_eq!((phase.freed_elsewhere, phase.sized_blocks()), (1, 4));
}

#[test]
fn sizes_and_lifetimes_that_cannot_be_are_counted_as_damage() {
    let loaded = |state: u32, pairs: [u64; SIZE_PAIRS], change: fn(RowValue) -> RowValue| {
        let mut parts = empty();
        add_scopes(&mut parts, 1);
        let rows = [change(row(3, (64, 2), (32, 1), (0, 0)))];
        let with_sizes = LaneValue {
            sizes_len: 1,
            ..lane(b"one\0\0\0\0\0")
        };
        add_lanes(&mut parts, &[(with_sizes, &rows, [RowValue::default(); 2])]);
        let record = SizesValue {
            pairs,
            ..SizesValue::default()
        };
        parts.append(table::SIZES, 1, &[record]);
        parts.header.state = state;
        let profile = load(&parts);
        profile.lost().damaged + profile.lost().torn
    };
    let sizes = [pair(32, 1), pair(31, 1), 0, 0, 0, 0, 0];
    let more = [pair(32, 1), pair(31, 2), 0, 0, 0, 0, 0];
    let no_class = [(SIZE_CLASSES as u64) << 48 | 1, 0, 0, 0, 0, 0, 0];
    let same = |row| row;
    let as_freed = |row| lived(row, 1, 0, 1);
    let more_than_freed = |row| lived(row, 1, 1, 1);
    assert_eq!(loaded(state::FINISHED, sizes, same), 0);
    assert_eq!(loaded(state::FINISHED, sizes, as_freed), 0);
    assert_eq!(loaded(state::FINISHED, more, same), 1);
    assert_eq!(loaded(state::FINISHED, no_class, same), 1);
    assert_eq!(loaded(state::FINISHED, sizes, more_than_freed), 1);
    // While the recording is written, the value read last counts more.
    assert_eq!(loaded(state::RUNNING, more, same), 0);
    assert_eq!(loaded(state::RUNNING, sizes, more_than_freed), 0);
    assert_eq!(loaded(state::RUNNING, no_class, same), 1);
}
