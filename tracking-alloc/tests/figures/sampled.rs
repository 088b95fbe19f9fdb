//! Recordings that take samples: what is exact, what estimates are of, and what is left when all
//! blocks are freed.

use crate::child::{Block, OUT, Programs, Run, be_read, environment, join, spawn, until};
use crate::inner::HUGE;
use crate::pauses::churn_until;
use crate::read::{all, rows};
use std::collections::BTreeMap;
use std::mem::offset_of;
use std::sync::atomic::{AtomicBool, Ordering::*};
use tracking_alloc::Recorder;
use tracking_alloc_recording::{
    EXCHANGE_OFFSET, Exchange, Recording, Sampled, change_refused, mode, sample_counts,
};

pub(crate) const PROGRAMS: Programs = &[
    ("sampled-sizes", sizes),
    ("sampled-doubling", doubling),
    ("sampled-threads", threads),
    ("sampled-later", later),
    ("sampled-paused", paused),
    ("sampled-temporary", temporary),
    ("sampled-storm", storm),
    ("sampled-refused", refused),
    ("sampled-preset", preset),
    ("sampled-killed", killed),
];

const MEAN: u64 = 4096;

/// Prepares a program with a small mean, so that few events are enough.
fn run(name: &str) -> Run {
    Run::new(name, "move")
        .with("HEAPGLASS_MODE", "sample")
        .with("HEAPGLASS_SAMPLE_BYTES", "4KiB")
        .with("HEAPGLASS_SEED", "7")
}

/// The samples of all rows: allocated, and live.
fn samples(recording: &Recording) -> (Sampled, Sampled) {
    let mut sums = (Sampled::default(), Sampled::default());
    for record in recording.lanes.iter().flat_map(|lane| &lane.samples) {
        sums.0 = sums.0.plus(record.allocated);
        sums.1 = sums.1.plus(record.allocated.minus(record.freed));
    }
    sums
}

/// Checks that an estimate is within four standard deviations.
fn is_near(estimate: f64, exact: f64, variance: f64) {
    let deviations = (estimate - exact).abs() / variance.sqrt();
    assert!(
        deviations < 4.0,
        "{estimate} {exact}: {deviations} deviations"
    );
}

const ROUNDS: usize = 20_000;
const SIZES: [usize; 5] = [16, 100, 700, 5_000, 40_000];

/// Keeps each tenth block until the end.
fn sizes() {
    let mut kept: [Option<Block>; ROUNDS / 10] = [None; ROUNDS / 10];
    for round in 0..ROUNDS {
        let block = Block::new(SIZES[round % SIZES.len()]);
        match kept.get_mut(round / 10).filter(|_| round % 10 == 3) {
            Some(place) => *place = Some(block),
            None => block.free(),
        }
    }
    if environment(c"FIGURES_FREE").is_some() {
        kept.into_iter().flatten().for_each(Block::free);
    }
}

#[test]
fn total_bytes_are_exact_and_estimates_near() {
    let exact_bytes = (ROUNDS / SIZES.len() * SIZES.iter().sum::<usize>()) as u64;
    let recording = run("sampled-sizes").finished();
    let header = &recording.header;
    assert_eq!(header.mode, mode::SAMPLE);
    assert_eq!(
        (header.sample_bytes, header.most_sample_bytes),
        (MEAN, MEAN)
    );
    assert_eq!(header.sample_counts, sample_counts::NOTHING);
    assert_eq!(header.sampled_total_bytes, exact_bytes);
    assert_eq!(header.sampled_total_blocks, 0);
    let last = recording.timeline.last().expect("a point");
    assert_eq!(last.total_bytes, exact_bytes);
    let (allocated, live) = samples(&recording);
    let sum = all(&recording);
    // The rows have the estimates, and nothing else.
    assert_eq!(sum.total, (allocated.bytes, allocated.blocks));
    assert_eq!(sum.live(), (live.bytes as i64, live.blocks as i64));
    is_near(
        allocated.bytes as f64,
        exact_bytes as f64,
        allocated.variance,
    );
    let kept = (ROUNDS / 10 * SIZES[3]) as f64;
    is_near(live.bytes as f64, kept, live.variance);
    assert!(live.seen_bytes <= kept as u64);
    // The peak is that of the estimate.
    assert!(sum.peak.0 >= sum.live().0);
    assert_eq!(recording.header.peak_bytes, sum.peak.0);
    // The same seed gives the same samples.
    let again = run("sampled-sizes").finished();
    assert_eq!(samples(&again), (allocated, live));
}

#[test]
fn counts_are_exact_and_nothing_is_left_when_all_is_freed() {
    let run = run("sampled-sizes")
        .with("HEAPGLASS_SAMPLE_COUNTS", "1")
        .with("FIGURES_FREE", "1");
    let recording = run.finished();
    let header = &recording.header;
    assert_eq!(header.sample_counts, sample_counts::BLOCKS_AND_BYTES);
    let counted = [header.sampled_total_blocks, header.sampled_freed_blocks];
    assert_eq!(counted, [ROUNDS as u64; 2]);
    assert_eq!(header.sampled_total_bytes, header.sampled_freed_bytes);
    let (allocated, live) = samples(&recording);
    assert!(allocated.hits > 1000);
    assert_eq!((live.hits, live.bytes, live.blocks), (0, 0, 0));
    assert_eq!(all(&recording).live(), (0, 0));
}

const LISTS: usize = 400;
const LARGEST: usize = 16 << 10;

/// Lists that double from 64 bytes, and stay.
fn doubling() {
    for _ in 0..LISTS {
        let mut list = Block::new(64);
        while list.bytes() < LARGEST {
            list.resize(2 * list.bytes());
        }
    }
}

#[test]
fn a_realloc_is_a_free_and_a_draw_of_its_own() {
    for word in ["move", "stay"] {
        let run = Run::by_environment("sampled-doubling", word)
            .with("HEAPGLASS_MODE", "sample")
            .with("HEAPGLASS_SAMPLE_BYTES", "64KiB")
            .with("HEAPGLASS_SAMPLE_COUNTS", "1")
            .with("HEAPGLASS_SEED", "3");
        let recording = run.finished();
        let blocks = LISTS * 9;
        let total = (LISTS * (2 * LARGEST - 64)) as u64;
        let header = &recording.header;
        assert_eq!(header.sampled_total_bytes, total);
        assert_eq!(header.sampled_total_blocks, blocks as u64);
        assert_eq!(header.sampled_freed_bytes, total - (LISTS * LARGEST) as u64);
        assert_eq!(header.sampled_freed_blocks, (blocks - LISTS) as u64);
        let (allocated, live) = samples(&recording);
        is_near(allocated.bytes as f64, total as f64, allocated.variance);
        is_near(live.bytes as f64, (LISTS * LARGEST) as f64, live.variance);
        let sum = all(&recording);
        assert_eq!((sum.shrinks, sum.temporary), (0, (0, 0)));
        assert_eq!(sum.grows > 0, word == "move" || sum.copied_bytes == 0);
        if word == "stay" {
            assert_eq!(sum.copied_bytes, 0);
        } else {
            // Each list copies all of its sizes but the last.
            let copied = sum.copied_bytes as f64;
            let exact = (total / 2) as f64 - 32.0 * LISTS as f64;
            assert!((copied / exact - 1.0).abs() < 0.3, "{copied} {exact}");
        }
    }
}

/// Two threads after each other, and one that frees what they made.
fn threads() {
    static MADE: [std::sync::atomic::AtomicPtr<u8>; 4000] =
        [const { std::sync::atomic::AtomicPtr::new(std::ptr::null_mut()) }; 4000];
    fn make(half: usize) {
        for place in &MADE[2000 * half..][..2000] {
            place.store(Block::new(500).as_ptr(), Release);
        }
    }
    fn free_all() {
        for place in &MADE {
            // SAFETY: made above, and used by nobody else.
            let block = unsafe { Block::of(place.load(Acquire), 500) };
            block.into_iter().for_each(Block::free);
        }
    }
    join(spawn(c"one", || make(0)));
    join(spawn(c"other", || make(1)));
    join(spawn(c"freeing", free_all));
}

#[test]
fn samples_of_threads_that_ended_are_followed_and_their_bytes_exact() {
    let recording = run("sampled-threads").finished();
    assert_eq!(recording.header.sampled_total_bytes, 4000 * 500);
    let (allocated, live) = samples(&recording);
    is_near(allocated.bytes as f64, 2e6, allocated.variance);
    assert_eq!((live.hits, live.bytes), (0, 0));
    assert_eq!(all(&recording).live(), (0, 0));
}

/// Records every event at first.
fn later() {
    let recorder = Recorder::current().expect("it records");
    let mut kept: [Option<Block>; 300] = [None; 300];
    for place in &mut kept {
        *place = Some(Block::new(1000));
    }
    recorder.sample(MEAN).expect("it may");
    for (index, place) in kept.iter_mut().enumerate() {
        let Some(block) = place else { continue };
        match index % 3 {
            0 => {
                block.free();
                *place = None;
            }
            1 => block.resize(3000),
            _ => {}
        }
    }
    let mut more: [Option<Block>; 1000] = [None; 1000];
    for place in &mut more {
        *place = Some(Block::new(200));
    }
    be_read();
    recorder.sample(8 * MEAN).expect("it may");
    let all = kept.into_iter().chain(more).flatten();
    all.for_each(Block::free);
    // A block for each of both means, at the least.
    for _ in 0..1000 {
        Block::new(900).free();
    }
}

#[test]
fn blocks_from_before_the_first_sample_stay_exact() {
    let run = Run::new("sampled-later", "move").with("HEAPGLASS_SEED", "5");
    let (alive, left) = run.alive(false);
    assert_eq!(alive.header.mode, mode::SAMPLE);
    assert!(alive.header.sampled_since_ns > 0);
    let (allocated, live) = samples(&alive);
    let sum = all(&alive);
    // 300 blocks before, of which 100 were freed, and 100 resized: those are new blocks.
    let exact_total = sum.total.0 - allocated.bytes;
    let exact_live = sum.live().0 - live.bytes as i64;
    assert_eq!((exact_total, exact_live), (300_000, 100_000));
    assert_eq!(sum.total.1 - allocated.blocks, 300);
    is_near(live.bytes as f64, 300_000.0 + 200_000.0, live.variance);

    let header = &left.header;
    assert_eq!(header.sampled_total_bytes, 300_000 + 200_000 + 900_000);
    assert_eq!(
        (header.sample_bytes, header.most_sample_bytes),
        (8 * MEAN, 8 * MEAN)
    );
    assert_eq!(header.sample_changes, 1);
    let total = left.timeline.last().expect("a point").total_bytes;
    assert_eq!(total, 300_000 + header.sampled_total_bytes);
    let (_, live) = samples(&left);
    assert_eq!((live.hits, live.bytes, all(&left).live()), (0, 0, (0, 0)));
}

/// Samples, a pause, and reallocs of sampled blocks in it.
fn paused() {
    let recorder = Recorder::current().expect("it records");
    let mut kept: [Option<Block>; 1000] = [None; 1000];
    for place in &mut kept {
        *place = Some(Block::new(1000));
    }
    recorder.pause();
    for block in kept.iter_mut().flatten() {
        block.resize(2000);
    }
    // Not recorded.
    for _ in 0..1000 {
        Block::new(1000);
    }
    if environment(c"FIGURES_FREE").is_some() {
        kept.into_iter().flatten().for_each(Block::free);
    }
    recorder.resume();
    Block::new(1).free();
}

#[test]
fn a_pause_follows_samples_and_takes_none() {
    let recording = run("sampled-paused").finished();
    assert_eq!(recording.header.sampled_total_bytes, 1_000_001);
    let (_, live) = samples(&recording);
    is_near(live.bytes as f64, 2e6, live.variance);
    let recording = run("sampled-paused").with("FIGURES_FREE", "1").finished();
    let (_, live) = samples(&recording);
    assert_eq!(
        (live.hits, live.bytes, all(&recording).live()),
        (0, 0, (0, 0))
    );
    assert_eq!(recording.header.pauses, 1);
}

/// Half of the blocks are temporary.
fn temporary() {
    for _ in 0..4000 {
        Block::new(300).free();
        let first = Block::new(300);
        Block::new(1).free();
        first.free();
    }
}

#[test]
fn temporary_blocks_are_estimated() {
    let recording = run("sampled-temporary").finished();
    let (allocated, _) = samples(&recording);
    let temporary = all(&recording).temporary;
    is_near(temporary.0 as f64, 4000.0 * 301.0, allocated.variance);
}

static ENDS: AtomicBool = AtomicBool::new(false);
/// Pauses, resumes and changes of the mean, most of them from code.
const STORMS: u64 = 1000;
/// One in this number is made by the words in the file. The main thread then waits until another
/// one follows them.
const BY_WORD: u64 = 20;

/// Pauses, resumes and changes the mean while eight threads allocate.
fn storm() {
    let threads = [(); 8].map(|()| spawn(c"storm", || churn_until(&ENDS)));
    let file = open();
    let recorder = Recorder::current().expect("it records");
    for number in 0..STORMS {
        let mean = MEAN << (number % 5);
        if number % BY_WORD == 0 {
            let before = answers(file);
            wants(file, mode::SAMPLE, mean);
            until(|| answers(file).0 != before.0);
            assert_eq!(answers(file).1, change_refused::NOTHING);
        } else {
            recorder.pause();
            recorder.sample(mean).expect("it may");
            recorder.resume();
        }
    }
    ENDS.store(true, Release);
    threads.into_iter().for_each(join);
}

/// Opens the recording.
fn open() -> libc::c_int {
    let mut path = [0_u8; 4096];
    let name = environment(OUT).expect("a path");
    path[..name.len()].copy_from_slice(name);
    // SAFETY: a path that ends with NUL.
    let file = unsafe { libc::open(path.as_ptr().cast(), libc::O_RDWR) };
    assert!(file >= 0);
    file
}

/// Asks for a mode, as `heapglass set` does.
fn wants(file: libc::c_int, mode: u32, mean: u64) {
    let write = |bytes: &[u8], offset: usize| {
        let offset = (EXCHANGE_OFFSET + offset) as libc::off_t;
        // SAFETY: bytes that exist.
        let written = unsafe { libc::pwrite(file, bytes.as_ptr().cast(), bytes.len(), offset) };
        assert_eq!(written, bytes.len() as isize);
    };
    write(&mean.to_le_bytes(), offset_of!(Exchange, sample_bytes));
    write(&mode.to_le_bytes(), offset_of!(Exchange, mode));
}

/// Returns the number of answers, and the last one.
fn answers(file: libc::c_int) -> (u32, u32) {
    let mut words = [0_u32; 2];
    let offset = (EXCHANGE_OFFSET + offset_of!(Exchange, mode_answers)) as libc::off_t;
    // SAFETY: room for eight bytes.
    let read = unsafe { libc::pread(file, words.as_mut_ptr().cast(), 8, offset) };
    assert_eq!(read, 8);
    (words[0], words[1])
}

#[test]
fn no_live_bytes_are_lost_or_negative_after_a_thousand_changes_under_load() {
    for start in ["sample", "exact"] {
        let recording = run("sampled-storm")
            .with("HEAPGLASS_MODE", start)
            .finished();
        let sum = all(&recording);
        let (allocated, live) = samples(&recording);
        assert!(allocated.hits > 0);
        // Every block was freed in the end.
        assert_eq!((live.hits, live.bytes, live.blocks), (0, 0, 0), "{start}");
        assert_eq!(sum.live(), (0, 0));
        let mut sites = BTreeMap::<u32, (i64, i64)>::new();
        for row in recording.lanes.iter().flat_map(rows) {
            let site = sites.entry(row.site).or_default();
            site.0 += row.total_bytes as i64 - row.freed_bytes as i64;
            site.1 += row.total_blocks as i64 - row.freed_blocks as i64;
        }
        assert!(sites.values().all(|live| *live == (0, 0)), "{sites:?}");
        let mut points = recording.timeline.iter();
        assert!(points.all(|point| point.live_bytes < 1 << 40));
        assert_eq!(recording.header.most_sample_bytes, MEAN << 4);
    }
}

/// Asks for what is refused.
fn refused() {
    let file = open();
    let recorder = Recorder::current().expect("it records");
    let until_answered = |mode, mean| {
        let before = answers(file).0;
        wants(file, mode, mean);
        // A check of the peak follows the words.
        until(|| {
            Block::new(200_000).free();
            answers(file).0 != before
        });
        answers(file).1
    };
    assert!(recorder.sample(0).is_ok(), "as it is");
    assert!(recorder.sample(1 << 50).is_err());
    let refused = until_answered(mode::EXACT, 0);
    assert_eq!(refused, change_refused::EXACT_AFTER_SAMPLES);
    assert_eq!(until_answered(mode::COUNT, 0), change_refused::INVALID);
    assert_eq!(until_answered(77, 5), change_refused::INVALID);
    assert_eq!(
        until_answered(mode::SAMPLE, 2 * MEAN),
        change_refused::NOTHING
    );
}

#[test]
fn changes_that_are_not_possible_are_refused() {
    let recording = run("sampled-refused").finished();
    assert_eq!(recording.header.sample_bytes, 2 * MEAN);
    for (name, value) in [
        ("HEAPGLASS_SAMPLE_BYTES", "0"),
        ("HEAPGLASS_SAMPLE_BYTES", "2TiB"),
        ("HEAPGLASS_SAMPLE_BYTES", "many"),
        ("HEAPGLASS_SAMPLE_COUNTS", "yes"),
        ("HEAPGLASS_SEED", "x"),
        ("HEAPGLASS_MODE", "samples"),
    ] {
        let mut run = Run::by_environment("sampled-temporary", "move")
            .with("HEAPGLASS_MODE", "sample")
            .with(name, value);
        run.succeeds();
        assert!(!run.is_there(), "{name}={value}");
    }
}

/// Ends with huge figures.
fn preset() {
    // Each block is larger than what any countdown has left, so each is a sample that stands for
    // itself.
    for _ in 0..1100 {
        Block::new(HUGE).free();
    }
}

#[test]
fn every_counter_holds_a_million_times_a_million() {
    let recording = run("sampled-preset")
        .with("HEAPGLASS_SAMPLE_COUNTS", "1")
        .finished();
    let bytes = 1100 * HUGE as u64;
    let header = &recording.header;
    assert_eq!(header.sampled_total_bytes, bytes);
    assert_eq!(header.sampled_freed_bytes, bytes);
    let (allocated, live) = samples(&recording);
    assert_eq!((allocated.bytes, allocated.seen_bytes), (bytes, bytes));
    assert_eq!((allocated.hits, allocated.blocks), (1100, 1100));
    assert_eq!((live.hits, live.bytes, live.seen_bytes), (0, 0, 0));
    assert_eq!(all(&recording).total, (bytes, 1100));
    assert_eq!(all(&recording).temporary, (bytes, 1100));
}

/// Allocates until it is killed.
fn killed() {
    for _ in 0..2000 {
        Block::new(1000);
    }
    be_read();
    churn_until(&ENDS);
}

#[test]
fn a_killed_program_leaves_its_samples() {
    let kills = std::env::var("HEAPGLASS_KILLS").ok();
    let kills = kills.and_then(|kills| kills.parse().ok()).unwrap_or(5_u64);
    for kill in 0..kills {
        let run = run("sampled-killed").with("HEAPGLASS_SEED", &kill.to_string());
        let (alive, left) = run.alive(true);
        for recording in [&alive, &left] {
            let (allocated, live) = samples(recording);
            assert!(live.bytes <= allocated.bytes);
            // As of the last look at all lanes.
            assert!(recording.header.sampled_total_bytes > 0);
        }
        // Nothing else was live then.
        let (_, live) = samples(&alive);
        is_near(live.bytes as f64, 2e6, live.variance);
    }
}

#[test]
fn a_binary_has_probes_for_sampled_blocks() {
    let binary = std::env::current_exe().expect("this program");
    let readelf = heapglass_limits::Command::new("readelf")
        .arg("-n")
        .arg(binary)
        .output();
    let Ok(readelf) = readelf else {
        println!("skipped: there is no readelf");
        return;
    };
    let notes = String::from_utf8_lossy(&readelf.stdout);
    for name in ["alloc", "free"] {
        let found = notes.split("stapsdt").find(|note| {
            note.contains("Provider: otel_memory") && note.contains(&format!("Name: {name}\n"))
        });
        let note = found.unwrap_or_else(|| panic!("no probe {name} in {notes}"));
        let arguments = note.split("Arguments: ").nth(1).expect("arguments");
        let first = arguments.lines().next().unwrap_or_default();
        assert_eq!(first.matches("-8@").count(), 4, "{first}");
    }
}
