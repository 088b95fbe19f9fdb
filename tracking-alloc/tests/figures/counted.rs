//! The figures that the program itself gets: `measure` and `stats`, before, during and after a
//! recording.

use crate::child::{Block, Programs, Run, in_thread};
use crate::read;
use tracking_alloc::{Recorder, Stats, measure, stats};

pub(crate) const PROGRAMS: Programs = &[
    ("measured", measured),
    ("nested", nested),
    ("counted", counted),
    ("recorded-stats", recorded_stats),
];

/// Returns all thirteen figures, in the order of [`Stats`].
pub(crate) fn words(figures: Stats) -> [i64; 13] {
    [
        figures.total_bytes as i64,
        figures.total_blocks as i64,
        figures.freed_bytes as i64,
        figures.freed_blocks as i64,
        figures.live_bytes,
        figures.live_blocks,
        figures.peak_bytes as i64,
        figures.peak_blocks as i64,
        figures.grows as i64,
        figures.shrinks as i64,
        figures.copied_bytes as i64,
        figures.temporary_blocks as i64,
        figures.temporary_bytes as i64,
    ]
}

/// Events of every kind. The comments give the live bytes after each event, counted from the start.
fn work() -> Block {
    let mut block = Block::new(100); // 100
    block.resize(150); // 150
    block.resize(150); // 150
    block.resize(30); // 30
    Block::new(70).free(); // 100, 30
    let (one, other) = (Block::new(40), Block::new(80)); // 150: the peak again, with 3 blocks
    one.free(); // 110
    other.free(); // 30
    block
}

const WORK: [i64; 13] = [
    100 + 150 + 150 + 30 + 70 + 40 + 80,
    7,
    100 + 150 + 150 + 70 + 40 + 80,
    6,
    30,
    1,
    150,
    3,
    2,
    1,
    100 + 150 + 30,
    2,
    70 + 80,
];

fn measured() {
    let older = Block::new(1000);
    // Nothing of it is counted outside.
    let (block, delta) = measure(work);
    assert_eq!(words(delta), WORK);
    let ((), delta) = measure(|| block.free());
    assert_eq!(words(delta), [0, 0, 30, 1, -30, -1, 0, 0, 0, 0, 0, 0, 0]);
    // Freeing older blocks makes room, so the maximum of live bytes is below zero.
    let ((), delta) = measure(|| {
        older.free();
        Block::new(400).free();
    });
    assert_eq!(
        words(delta),
        [400, 1, 1400, 2, -1000, -1, 0, 0, 0, 0, 0, 1, 400]
    );
    let ((), delta) = measure(|| in_thread(c"other", || work().free()));
    assert_eq!(words(delta), [0; 13], "another thread's");
    let unwound = std::panic::catch_unwind(|| {
        measure(|| std::panic::resume_unwind(Box::new(())));
    });
    assert!(unwound.is_err());
    let ((), delta) = measure(|| ());
    assert_eq!(words(delta), [0; 13]);
}

#[test]
fn measure_counts_every_kind_of_event_of_its_thread() {
    for record in [false, true] {
        let run = if record { Run::new } else { Run::unrecorded };
        run("measured", "move").succeeds();
    }
    // Measuring changes nothing in the recording: one lane for each of the two threads, taken once.
    let recording = Run::new("measured", "move").finished();
    let tenancies = recording.lanes.iter().map(|lane| lane.lane.tenancies);
    assert_eq!(tenancies.collect::<Vec<_>>(), [1, 1]);
}

fn nested() {
    let mut figures = [Stats::default(); 3];
    let (block, outer) = measure(|| {
        let first = Block::new(1000); // 1,000
        let (block, inner) = measure(work); // 1,150: 4 blocks
        figures[0] = inner;
        // The block allocated last belongs to the inner call, so it cannot be temporary here.
        let ((), freed) = measure(|| first.free()); // 30
        figures[1] = freed;
        let last = Block::new(5);
        let ((), nothing) = measure(|| ());
        figures[2] = nothing;
        last.free(); // Its thread measured in between.
        block
    });
    assert_eq!(words(figures[0]), WORK);
    assert_eq!(words(figures[1])[..6], [0, 0, 1000, 1, -1000, -1]);
    assert_eq!(words(figures[2]), [0; 13]);
    let mut expected = WORK;
    expected[0] += 1005;
    expected[1] += 2;
    expected[2] += 1005;
    expected[3] += 2;
    (expected[6], expected[7]) = (1150, 4);
    assert_eq!(words(outer), expected);
    // Of equal peaks, the latest counts. The second one has one block more.
    let ((), twice) = measure(|| {
        let ((), _) = measure(|| Block::new(60).free());
        let ((), _) = measure(|| {
            let (one, other) = (Block::new(50), Block::new(10));
            one.free();
            other.free();
        });
        // A call that only frees is never the peak.
        let ((), _) = measure(|| block.free());
    });
    assert_eq!(words(twice)[6..8], [60, 2]);
    assert_eq!(words(twice)[..6], [120, 3, 150, 4, -30, -1]);
}

#[test]
fn what_an_inner_measure_counts_is_the_outer_ones_too() {
    Run::unrecorded("nested", "move").succeeds();
    Run::new("nested", "move").succeeds();
}

fn counted() {
    let older = Block::new(5000);
    assert_eq!(words(stats()), [0; 13], "it begins here");
    let block = work();
    assert_eq!(words(stats()), WORK);
    block.free();
    in_thread(c"other", || {
        let mut block = work();
        block.resize(20);
        block.free();
    });
    let mut expected = WORK.map(|figure| 2 * figure);
    (expected[0], expected[1]) = (2 * WORK[0] + 20, 15);
    (expected[2], expected[3]) = (2 * WORK[0] + 20, 15);
    (expected[4], expected[5]) = (0, 0);
    (expected[6], expected[7]) = (150, 3);
    expected[9] += 1;
    expected[10] += 20;
    assert_eq!(words(stats()), expected);
    older.free();
    assert_eq!(stats().live_bytes, -5000);
}

#[test]
fn stats_count_all_threads_while_nothing_records() {
    Run::unrecorded("counted", "move").succeeds();
}

fn recorded_stats() {
    let block = work();
    assert_eq!(words(stats()), WORK);
    in_thread(c"other", || {
        let mut block = Block::new(110); // 140
        block.resize(7);
        block.free();
    });
    let mut expected = WORK;
    for (figure, more) in [(0, 117), (1, 2), (2, 117), (3, 2), (9, 1), (10, 7)] {
        expected[figure] += more;
    }
    assert_eq!(words(stats()), expected);
    Recorder::current()
        .expect("it records")
        .finish()
        .expect("it was");
    block.free();
}

#[test]
fn stats_tell_what_the_recording_tells() {
    let recording = Run::new("recorded-stats", "move").finished();
    let all = read::all(&recording);
    assert_eq!(all.total, (620 + 117, 9));
    assert_eq!((all.live(), all.peak), ((30, 1), (150, 3)));
}
