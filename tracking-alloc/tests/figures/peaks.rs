//! The peak: its moment, and the values of each row at that moment.

use crate::child::{Block, Programs, Run, be_read, in_thread};
use crate::read::{self, all, phase};
use std::collections::BTreeMap;
use tracking_alloc::phase as enter;
use tracking_alloc_recording::Recording;

pub(crate) const PROGRAMS: Programs = &[
    ("equal-peaks", equal_peaks),
    ("one-for-one", one_for_one),
    ("two-for-two", two_for_two),
    ("shrunk-far", shrunk_far),
    ("fallen-far", fallen_far),
    ("after-a-mark", after_a_mark),
    ("far-sites", far_sites),
    ("shrunk", shrunk),
    ("last-rise", last_rise),
    ("zero-difference", zero_difference),
    ("large", large),
    ("windows", windows),
    ("snapshots", snapshots),
    ("snapshot-after", snapshot_after),
];

/// Two equal maxima of different phases.
fn equal_peaks() {
    {
        let _phase = enter("earlier");
        Block::new(500).free();
    }
    {
        let _phase = enter("later");
        let (one, other) = (Block::new(300), Block::new(200));
        one.free();
        other.free();
    }
    Block::new(499).free();
}

#[test]
fn of_equal_peaks_the_latest_counts() {
    let recording = Run::new("equal-peaks", "move").finished();
    assert_eq!(phase(&recording, "earlier").peak, (0, 0));
    assert_eq!(phase(&recording, "later").peak, (500, 2));
    assert_eq!(phase(&recording, "").peak, (0, 0));
    assert_eq!(recording.header.peak_bytes, 500);
}

/// The same maximum again, with one block instead of another.
fn one_for_one() {
    for name in ["earlier", "later"] {
        let _phase = enter(name);
        Block::new(500).free();
    }
}

#[test]
fn a_maximum_reached_with_another_block_is_the_later_one() {
    let recording = Run::new("one-for-one", "move").finished();
    assert_eq!(phase(&recording, "earlier").peak, (0, 0));
    assert_eq!(phase(&recording, "later").peak, (500, 1));
}

/// Two blocks are freed and two allocated: one of them at the same place, one elsewhere.
fn two_for_two() {
    fn kept(name: &str, bytes: usize) -> Block {
        let _phase = enter(name);
        Block::new(bytes)
    }
    // In a loop, so that each pair has one place and therefore one row.
    for name in ["b", "c"] {
        let (a, other) = (kept("a", 100), kept(name, 50)); // 150
        let [first, last] = if name == "b" { [a, other] } else { [other, a] };
        first.free();
        last.free();
    }
}

#[test]
fn a_maximum_reached_by_more_than_one_block_is_the_later_one() {
    let recording = Run::new("two-for-two", "move").finished();
    let peak = |name| phase(&recording, name).peak;
    assert_eq!(
        [peak("a"), peak("b"), peak("c")],
        [(100, 1), (0, 0), (50, 1)]
    );
}

/// A realloc that falls further than a lane may without a check.
fn shrunk_far() {
    let mut block = Block::new(100_000);
    block.resize(10_000);
    be_read();
    block.free();
}

#[test]
fn a_lane_looks_when_a_realloc_falls_by_more_than_32_kib() {
    let (alive, left) = Run::new("shrunk-far", "move").alive(false);
    let looked = &alive.lanes[0].lane;
    assert_eq!((looked.checked_bytes, looked.checked_blocks), (10_000, 2));
    assert_eq!(left.header.peak_bytes, 100_000);
}

/// A fall from the peak to less than 32 KiB below the lane's net at its last check, but to further
/// below the peak.
fn fallen_far() {
    let large = Block::new(40_000); // A look.
    let other = Block::new(30_000);
    large.free();
    be_read();
    other.free();
}

#[test]
fn a_lane_that_falls_far_from_the_peak_is_known_where_it_fell_to() {
    let (alive, left) = Run::new("fallen-far", "move").alive(false);
    let looked = &alive.lanes[0].lane;
    assert_eq!((looked.checked_bytes, looked.checked_blocks), (30_000, 2));
    assert_eq!(left.header.peak_bytes, 70_000);
}

/// The window after a mark stays below the maximum of the previous window.
fn after_a_mark() {
    Block::new(10_000).free();
    tracking_alloc::mark("one");
    Block::new(5_000).free();
    Block::new(1).free();
    tracking_alloc::mark("two");
}

#[test]
fn a_fall_from_less_than_the_maximum_before_the_mark_is_seen() {
    let recording = Run::new("after-a-mark", "move").finished();
    let peaks: Vec<_> = recording
        .marks
        .iter()
        .map(|mark| (mark.peak_bytes, mark.peak_blocks))
        .collect();
    assert_eq!(peaks, [(10_000, 1), (5_000, 1)]);
}

/// A thread whose sites all come after 512 others.
fn far_sites() {
    for number in 0..520 {
        let name = [b'a' + (number % 26) as u8, b'a' + (number / 26) as u8];
        let _phase = enter(std::str::from_utf8(&name).expect("letters"));
        Block::new(1).free();
    }
    in_thread(c"far", || {
        let _phase = enter("far");
        let _ = Block::new(70);
    });
    tracking_alloc::mark("one");
}

#[test]
fn a_mark_finds_the_rows_of_a_lane_that_knows_late_sites_only() {
    let recording = Run::new("far-sites", "move").finished();
    let rows: Vec<_> = recording
        .mark_rows
        .iter()
        .filter(|row| row.lane == 1)
        .map(|row| (row.site >= 512, row.peak_bytes, row.peak_blocks))
        .collect();
    assert_eq!(rows, [(true, 70, 1)]);
}

/// The first fall is a realloc.
fn shrunk() {
    let mut block = {
        let _phase = enter("top");
        Block::new(1_000)
    };
    let _phase = enter("shrunk");
    block.resize(10);
    block.resize(20);
    block.free();
}

#[test]
fn a_realloc_that_shrinks_falls_from_the_peak() {
    for word in ["move", "stay"] {
        let recording = Run::new("shrunk", word).finished();
        assert_eq!(phase(&recording, "top").peak, (1_000, 1));
        assert_eq!(phase(&recording, "shrunk").peak, (0, 0));
        assert_eq!(recording.header.peak_bytes, 1_000);
    }
}

/// The maximum occurs at the end, and is reached twice.
fn last_rise() {
    let block = Block::new(100);
    {
        let _phase = enter("fallen");
        Block::new(50).free();
    }
    let _phase = enter("stays");
    let _ = (block, Block::new(50));
}

#[test]
fn a_rise_without_a_fall_is_the_peak() {
    let recording = Run::new("last-rise", "move").finished();
    assert_eq!(phase(&recording, "").peak, (100, 1));
    assert_eq!(phase(&recording, "fallen").peak, (0, 0));
    assert_eq!(phase(&recording, "stays").peak, (50, 1));
}

/// At the maximum, a block moves to another phase without a change of its size.
fn zero_difference() {
    let mut block = Block::new(900);
    {
        let _phase = enter("then");
        block.resize(900);
    }
    block.free();
}

#[test]
fn a_realloc_to_the_same_size_takes_the_peak_along() {
    for word in ["move", "stay"] {
        let recording = Run::new("zero-difference", word).finished();
        assert_eq!(phase(&recording, "").peak, (0, 0));
        assert_eq!(phase(&recording, "then").peak, (900, 1));
    }
}

/// Large and small blocks around several maxima. The comments give the live bytes after each event.
fn large() {
    let base = Block::new(20_000); // 20,000
    let mut more = {
        let _phase = enter("more");
        Block::new(40_000) // 60,000
    };
    base.free(); // 40,000
    let small: [Block; 9] = std::array::from_fn(|_| Block::new(3_000)); // 67,000
    {
        let _phase = enter("grown");
        more.resize(100_000); // 127,000
        more.resize(99_999); // 126,999
    }
    small.into_iter().for_each(Block::free); // 99,999
    let _phase = enter("last");
    let one = Block::new(27_002); // 127,001: the peak
    let step = Block::new(1); // 127,002
    more.free();
    one.free();
    step.free();
    let slow: [Block; 40] = std::array::from_fn(|_| Block::new(3_000)); // 120,000
    slow.into_iter().for_each(Block::free);
}

#[test]
fn a_peak_among_large_and_small_blocks_is_exact_to_the_byte() {
    for word in ["move", "pack"] {
        let recording = Run::new("large", word).finished();
        assert_eq!(phase(&recording, "grown").peak, (99_999, 1));
        assert_eq!(phase(&recording, "last").peak, (27_003, 2));
        assert_eq!(phase(&recording, "more").peak, (0, 0));
        assert_eq!(all(&recording).peak, (127_002, 3));
        assert_eq!(recording.header.peak_bytes, 127_002);
        // There is one thread, so the peak is certain.
        assert!(recording.header.peak_bound_bytes <= 127_002);
    }
}

/// Three marks. The comments give the live bytes after each event.
fn windows() {
    let kept = {
        let _phase = enter("kept");
        Block::new(10) // 10
    };
    {
        let _phase = enter("first");
        Block::new(90).free(); // 100, 10
    }
    tracking_alloc::mark("one");
    {
        let _phase = enter("second");
        let (mut one, other) = (Block::new(50), Block::new(40)); // 100
        one.free(); // 50
        one = Block::new(5); // 55
        one.free();
        other.free(); // 10
    }
    tracking_alloc::mark("two");
    // Live bytes only rise in this window.
    let _ = Block::new(7); // 17
    tracking_alloc::mark("three");
    kept.free(); // 7
}

/// Returns the bytes and blocks of the phases at the peak of a mark's window.
fn of_mark(recording: &Recording, mark: usize) -> BTreeMap<String, (i64, i64)> {
    let mark = &recording.marks[mark];
    let rows = mark.first_row as usize..(mark.first_row + mark.rows) as usize;
    let mut phases: BTreeMap<String, (i64, i64)> = BTreeMap::new();
    for row in &recording.mark_rows[rows] {
        assert_eq!(row.lane, 0);
        let scope = recording.sites[row.site as usize].scope as usize;
        let name = recording.string(recording.scopes[scope].name);
        let sum = phases.entry(name.unwrap_or_default()).or_default();
        *sum = (sum.0 + row.peak_bytes, sum.1 + row.peak_blocks);
    }
    phases
}

#[test]
fn a_mark_keeps_the_totals_and_the_peak_of_its_window() {
    let recording = Run::new("windows", "move").finished();
    let marks: Vec<_> = recording
        .marks
        .iter()
        .map(|mark| {
            let name = recording.string(mark.name).expect("a name");
            let peak = (mark.peak_bytes, mark.peak_blocks);
            // There is one thread, so the peak of each window is certain.
            let doubt = (mark.peak_bound_bytes - mark.peak_bytes).max(0);
            (name, mark.figures, peak, doubt, mark.has_rows)
        })
        .collect();
    let expected = [
        ("one", [100, 2, 90, 1, 0, 0, 0, 1, 90], (100, 2)),
        ("two", [195, 5, 185, 4, 0, 0, 0, 2, 95], (100, 3)),
        ("three", [202, 6, 185, 4, 0, 0, 0, 2, 95], (17, 2)),
    ]
    .map(|(name, figures, peak)| (name.to_owned(), figures, peak, 0, 1));
    assert_eq!(marks, expected);
    let held = |expected: &[(&str, i64, i64)]| -> BTreeMap<String, (i64, i64)> {
        let owned = |row: &(&str, i64, i64)| (row.0.to_owned(), (row.1, row.2));
        expected.iter().map(owned).collect()
    };
    let first = held(&[("first", 90, 1), ("kept", 10, 1)]);
    let second = held(&[("second", 90, 2), ("kept", 10, 1)]);
    assert_eq!(
        (of_mark(&recording, 0), of_mark(&recording, 1)),
        (first, second)
    );
    assert_eq!(of_mark(&recording, 2), held(&[("", 7, 1), ("kept", 10, 1)]));
    // The window after the last mark.
    assert_eq!(recording.header.peak_bytes, 17);
    assert_eq!(recording.header.lost_marks, 0);
}

/// Three snapshots, each due when a large block is allocated. The comments give the live bytes
/// after each event.
fn snapshots() {
    fn take() {
        // SAFETY: no preconditions. A snapshot is due after 50 ms.
        unsafe { libc::usleep(60_000) };
        let _phase = enter("large");
        Block::new(40_000).free();
    }
    fn kept(name: &str, bytes: usize) -> Block {
        let _phase = enter(name);
        Block::new(bytes)
    }
    let first = kept("first", 100);
    let second = kept("second", 50);
    take(); // 40,150
    first.free();
    let again = kept("first", 30);
    take(); // 40,080
    second.free();
    take(); // 40,030
    again.free();
}

#[test]
fn snapshots_have_what_each_row_held() {
    let recording = Run::new("snapshots", "move").finished();
    let held = |phases: &[(&str, i64)]| -> BTreeMap<String, i64> {
        let owned = |(name, live): &(&str, i64)| ((*name).to_owned(), *live);
        phases.iter().map(owned).collect()
    };
    let expected = [
        (
            40_150,
            held(&[("first", 100), ("second", 50), ("large", 40_000)]),
        ),
        (
            40_080,
            held(&[("first", 30), ("second", 50), ("large", 40_000)]),
        ),
        (40_030, held(&[("first", 30), ("large", 40_000)])),
    ];
    let mut taken = read::snapshots(&recording);
    // On a busy machine, another snapshot may be due when the large block is freed.
    taken.dedup();
    assert_eq!(taken, expected);
}

/// A snapshot long after the peak, followed by changes of the rows that the peak consists of.
fn snapshot_after() {
    fn kept(name: &str, bytes: usize) -> Block {
        let _phase = enter(name);
        Block::new(bytes)
    }
    // In a loop, so that each pair has one place and therefore one row.
    for (of_large, of_small) in std::hint::black_box(vec![(50_000, 100), (20, 10)]) {
        let (large, small) = (kept("large", of_large), kept("small", of_small)); // 50,100
        small.free();
        large.free();
        // SAFETY: no preconditions. A snapshot is due after 50 ms.
        unsafe { libc::usleep(60_000) };
        Block::new(40_000).free();
    }
}

#[test]
fn rows_that_change_after_a_snapshot_keep_what_they_held_at_the_peak() {
    let recording = Run::new("snapshot-after", "move").finished();
    assert!(!read::snapshots(&recording).is_empty());
    assert_eq!(phase(&recording, "large").peak, (50_000, 1));
    assert_eq!(phase(&recording, "small").peak, (100, 1));
}
