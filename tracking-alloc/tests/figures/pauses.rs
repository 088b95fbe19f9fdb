//! Pauses by code, by a signal and by the word in the file: figures of the time that is recorded.

use crate::child::{Block, OUT, Programs, Run, environment, join, spawn, until};
use crate::read::{all, rows};
use std::mem::offset_of;
use std::sync::atomic::{AtomicBool, Ordering::*};
use tracking_alloc::Recorder;
use tracking_alloc_recording::{EXCHANGE_OFFSET, Exchange, Header, PAUSES_KEPT, Recording};

pub(crate) const PROGRAMS: Programs = &[
    ("window", window),
    ("never-resumed", never_resumed),
    ("toggled", toggled),
    ("storm", storm),
];

/// Pauses and resumes in the storm, most of them from code.
const STORMS: u64 = 1000;
/// One pause in this number is made by the word in the file. The main thread then has to wait until
/// another one follows the word.
const BY_WORD: u64 = 20;
const THREADS: usize = 8;

fn recorder() -> Recorder {
    Recorder::current().expect("it records")
}

/// Begins paused.
fn window() {
    let before = Block::new(1000);
    recorder().resume();
    let kept = Block::new(300);
    let mut resized = Block::new(500);
    recorder().pause();
    let during = Block::new(200);
    before.free();
    kept.free();
    resized.resize(600);
    during.free();
    recorder().resume();
    // It counts already.
    recorder().resume();
    Block::new(40).free();
    recorder().pause();
    Block::new(7).free();
}

#[test]
fn the_figures_of_a_window_are_those_of_its_blocks() {
    let run = Run::by_environment("window", "move").with("HEAPGLASS_PAUSED", "1");
    let recording = run.finished();
    let sum = all(&recording);
    // A realloc of a known block is followed in a pause.
    assert_eq!(sum.total, (300 + 500 + 600 + 40, 4));
    assert_eq!(sum.freed, (300 + 500 + 40, 3));
    assert_eq!(sum.live(), (600, 1));
    assert_eq!(sum.peak, (800, 2));
    let unknown: u64 = recording
        .lanes
        .iter()
        .map(|lane| lane.lane.unknown_frees)
        .sum();
    assert_eq!(unknown, 3, "of 1000, 200 and 7 bytes");
    pauses_are_in_order(&recording, 3);
    // Nothing was recorded before the first check.
    let first = recording.timeline.first().expect("a point").time_ns;
    assert!(recording.header.pause_begins_ns[0] <= first.max(1));
    assert_eq!(
        recording.header.pause_ends_ns[2],
        recording.header.elapsed_ns
    );
}

/// Checks the times of pauses that have ended.
fn pauses_are_in_order(recording: &Recording, pauses: u64) {
    let header = &recording.header;
    assert_eq!((header.pauses, header.paused_since_ns), (pauses, 0));
    let kept = (pauses as usize).min(PAUSES_KEPT);
    let begins = header.pause_begins_ns[..kept].iter();
    let times = begins.zip(&header.pause_ends_ns[..kept]);
    let (mut last, mut sum) = (0, 0);
    for (begin, end) in times {
        assert!(last <= *begin && begin <= end, "{header:?}");
        last = *end;
        sum += end - begin;
    }
    assert!(last <= header.elapsed_ns);
    if pauses as usize <= PAUSES_KEPT {
        assert_eq!(header.paused_ns, sum);
    } else {
        assert!(sum <= header.paused_ns && header.paused_ns <= header.elapsed_ns);
    }
}

fn never_resumed() {
    for bytes in 1..100 {
        Block::new(bytes * 1000).free();
    }
}

#[test]
fn a_recording_that_is_never_resumed_is_empty() {
    let run = Run::by_environment("never-resumed", "move").with("HEAPGLASS_PAUSED", "1");
    let recording = run.finished();
    assert_eq!(all(&recording).total, (0, 0));
    pauses_are_in_order(&recording, 1);
    let header = &recording.header;
    let began_ns = header.pause_begins_ns[0];
    assert_eq!(header.paused_ns, header.elapsed_ns - began_ns);
}

#[test]
fn a_setting_that_is_not_understood_refuses_the_recording() {
    let mut run = Run::by_environment("never-resumed", "move").with("HEAPGLASS_PAUSED", "2s");
    run.succeeds();
    assert!(!run.is_there());
}

/// Gets its own signal.
fn toggled() {
    let raise = || {
        // SAFETY: a plain function.
        assert_eq!(unsafe { libc::raise(libc::SIGUSR1) }, 0);
    };
    Block::new(100).free();
    raise();
    // The first check after the signal: the event that needs it is still recorded.
    Block::new(100_000).free();
    Block::new(70_000).free();
    raise();
    // The first event after the signal is recorded.
    Block::new(5).free();
    // Two signals at once change nothing.
    raise();
    raise();
    Block::new(200_000).free();
    Block::new(6).free();
}

#[test]
fn a_signal_pauses_and_resumes() {
    let run = Run::by_environment("toggled", "move").with("HEAPGLASS_TOGGLE_SIGNAL", "USR1");
    let recording = run.finished();
    let sum = all(&recording);
    assert_eq!(sum.total, (100 + 100_000 + 5 + 200_000 + 6, 5));
    assert_eq!(sum.live(), (0, 0));
    pauses_are_in_order(&recording, 1);
}

static ENDS: AtomicBool = AtomicBool::new(false);

fn churn() {
    churn_until(&ENDS);
}

/// Allocates, reallocates and frees, and frees everything in the end.
pub(crate) fn churn_until(ends: &AtomicBool) {
    let mut held: [Option<Block>; 64] = [None; 64];
    let mut turn = 1_usize;
    while !ends.load(Acquire) {
        turn = turn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let place = &mut held[turn >> 40 & 63];
        let bytes = (turn >> 50) % 5000 + 1;
        match place {
            Some(block) if turn >> 33 & 1 == 0 => block.resize(bytes),
            Some(block) => {
                block.free();
                *place = None;
            }
            None => *place = Some(Block::new(bytes)),
        }
    }
    held.into_iter().flatten().for_each(Block::free);
}

/// Pauses and resumes while threads allocate.
fn storm() {
    let threads = [(); THREADS].map(|()| spawn(c"storm", churn));
    let mut path = [0_u8; 4096];
    let name = environment(OUT).expect("a path");
    path[..name.len()].copy_from_slice(name);
    // SAFETY: a path that ends with NUL.
    let file = unsafe { libc::open(path.as_ptr().cast(), libc::O_RDWR) };
    assert!(file >= 0);
    // The first event of any thread starts the recording.
    until(|| Recorder::current().is_some());
    let wants = |word: u32| {
        let offset = EXCHANGE_OFFSET + offset_of!(Exchange, paused);
        // SAFETY: four bytes that exist.
        let written =
            unsafe { libc::pwrite(file, (&raw const word).cast(), 4, offset as libc::off_t) };
        assert_eq!(written, 4);
    };
    let is_paused = || {
        let mut since = 0_u64;
        let offset = offset_of!(Header, paused_since_ns);
        // SAFETY: room for eight bytes.
        let read = unsafe { libc::pread(file, (&raw mut since).cast(), 8, offset as libc::off_t) };
        assert_eq!(read, 8);
        since != 0
    };
    let recorder = recorder();
    for number in 0..STORMS {
        if number % BY_WORD == 0 {
            wants(1);
            until(is_paused);
            wants(0);
            until(|| !is_paused());
        } else {
            recorder.pause();
            assert!(is_paused());
            recorder.resume();
            assert!(!is_paused());
        }
    }
    ENDS.store(true, Release);
    threads.into_iter().for_each(join);
}

#[test]
fn no_live_bytes_are_lost_or_negative_after_a_thousand_pauses_under_load() {
    let recording = Run::by_environment("storm", "move").finished();
    pauses_are_in_order(&recording, STORMS);
    let sum = all(&recording);
    assert!(sum.total.1 > 0);
    // Every block was freed in the end, those made before a pause and those made during one.
    assert_eq!(sum.live(), (0, 0));
    let mut live = std::collections::BTreeMap::<u32, (i64, i64)>::new();
    for row in recording.lanes.iter().flat_map(rows) {
        let site = live.entry(row.site).or_default();
        site.0 += row.total_bytes as i64 - row.freed_bytes as i64;
        site.1 += row.total_blocks as i64 - row.freed_blocks as i64;
    }
    assert!(live.values().all(|live| *live == (0, 0)), "{live:?}");
    assert!(recording.header.peak_bytes >= 0);
    assert!(
        recording
            .timeline
            .iter()
            .all(|point| point.live_bytes < 1 << 40)
    );
}
