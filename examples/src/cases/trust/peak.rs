//! Programs for `tests/trust/peak.rs`.

use crate::cases::{Block, Tally};
use crate::data::Random;
use std::hint::black_box;
use std::process::ExitCode;
use std::sync::{Arc, Barrier};
use tracking_alloc::{Recorder, Stats, measure, phase, stats};

static TALLY: Tally = Tally::new();

/// Runs a case. Returns `None` if no case has that name.
pub(super) fn run(name: &str, words: &[&str]) -> Option<ExitCode> {
    let number = |index: usize| {
        words
            .get(index)
            .and_then(|word| word.parse::<usize>().ok())
            .unwrap_or(1)
    };
    match name {
        "known-peak" => known(number(0), number(1) as u64, number(2)),
        "equal-peaks" => equal(number(0)),
        "stats-across" => across(),
        "stats-while-recording" => while_recording(),
        "measure-beside" => beside(number(0)),
        "own-bytes" => own(number(0)),
        _ => return None,
    }
    Some(ExitCode::SUCCESS)
}

/// Runs threads that allocate and free below levels of their own, reach these levels exactly, and
/// meet there. So the largest sum is known. In between, one of them works alone for so long that
/// the others count as idle.
fn known(threads: usize, seed: u64, largest: usize) {
    let random = &mut Random::new(seed);
    let levels: Vec<usize> = (0..threads)
        .map(|_| 20_000 + random.below(100_000) + largest)
        .collect();
    let wanted: usize = levels.iter().sum();
    let barrier = Arc::new(Barrier::new(threads));
    let running: Vec<_> = (0..threads)
        .map(|number| {
            let (barrier, level) = (Arc::clone(&barrier), levels[number]);
            let random = Random::new(seed.wrapping_mul(1_000) + number as u64);
            std::thread::Builder::new()
                .stack_size(256 << 10)
                .spawn(move || climb(number, level, largest, random, &barrier))
                .expect("a thread")
        })
        .collect();
    running
        .into_iter()
        .for_each(|thread| thread.join().expect("it ends"));
    println!("work_peak_bytes={wanted}");
    TALLY.print();
}

fn climb(number: usize, level: usize, largest: usize, mut random: Random, barrier: &Barrier) {
    const MOST: usize = 4_096;
    let mut blocks: Vec<Block> = {
        let _outside = phase("table");
        Vec::with_capacity(MOST)
    };
    let _work = phase("work");
    let mut held = 0;
    for _ in 0..2 {
        barrier.wait();
        if number == 0 {
            for _ in 0..2_000 {
                drop(Block::new(&TALLY, 36 << 10, 8));
            }
        }
        barrier.wait();
        for _ in 0..400 {
            let bytes = 1 + random.below(largest);
            if held + bytes < level && random.below(2) == 0 && blocks.len() < MOST / 2 {
                blocks.push(Block::new(&TALLY, bytes, 8));
                held += bytes;
            } else if !blocks.is_empty() {
                let place = random.below(blocks.len());
                held -= blocks.swap_remove(place).bytes();
            }
        }
        while held < level {
            let bytes = if blocks.len() + 1 == MOST {
                level - held
            } else {
                (1 + random.below(largest)).min(level - held)
            };
            blocks.push(Block::new(&TALLY, bytes, 8));
            held += bytes;
        }
        barrier.wait();
        blocks.clear();
        held = 0;
    }
}

/// Returns to the same maximum `times` times. At the end, the maximum is reached by a block of
/// another phase each time.
fn equal(times: usize) {
    let base = vec![1u8; 4 << 20];
    let at = |name: &'static str, bytes: usize| {
        let _inside = phase(name);
        drop(Block::new(&TALLY, bytes, 8));
    };
    for _ in 0..times {
        at("early", 500);
    }
    at("other", 500);
    for _ in 0..times {
        at("late", 500);
    }
    at("below", 499);
    drop(black_box(base));
    println!("done=1");
}

fn since(now: Stats, before: Stats) -> [i64; 13] {
    let words = |stats: Stats| {
        [
            stats.total_bytes as i64,
            stats.total_blocks as i64,
            stats.freed_bytes as i64,
            stats.freed_blocks as i64,
            stats.live_bytes,
            stats.live_blocks,
            stats.peak_bytes as i64,
            stats.peak_blocks as i64,
            stats.grows as i64,
            stats.shrinks as i64,
            stats.copied_bytes as i64,
            stats.temporary_blocks as i64,
            stats.temporary_bytes as i64,
        ]
    };
    let (now, before) = (words(now), words(before));
    std::array::from_fn(|word| now[word] - before[word])
}

/// Returns the changes, without the peak and the figures that depend on the allocator.
fn changed(now: Stats, before: Stats) -> [i64; 10] {
    let all = since(now, before);
    for word in [0, 1, 2, 3, 6, 8, 9, 10, 11, 12] {
        assert!(all[word] >= 0, "figure {word} went back by {}", -all[word]);
    }
    [
        all[0], all[1], all[2], all[3], all[4], all[5], all[8], all[9], all[11], all[12],
    ]
}

/// Figures of the process before, during and after a recording.
fn across() {
    let begin = stats();
    let temporary = Block::new(&TALLY, 100, 8);
    drop(temporary);
    let older = Block::new(&TALLY, 1_000, 8);
    let counted = stats();
    let before = [1_100, 2, 100, 1, 1_000, 1, 0, 0, 1, 100];
    assert_eq!(changed(counted, begin), before, "before a recording");
    let recorder = Recorder::start_in_memory().expect("it records");
    let started = stats();
    changed(started, counted);
    let mut kept = Block::new(&TALLY, 200, 8);
    kept.resize(300);
    kept.resize(250);
    drop(older);
    let mut unknown_to_rows = {
        recorder.pause();
        let block = Block::new(&TALLY, 50, 8);
        recorder.resume();
        block
    };
    unknown_to_rows.resize(70);
    drop(unknown_to_rows);
    let recorded = stats();
    let during = [870, 5, 1_620, 5, -750, 0, 2, 1, 0, 0];
    assert_eq!(changed(recorded, started), during, "while it records");
    // 10,000 bytes more than the maximum so far.
    let most = recorded.peak_bytes as i64 - recorded.live_bytes + 10_000;
    drop(Block::new(&TALLY, most as usize, 8));
    recorder.mark("a window of the peak ends");
    let at_peak = stats();
    let peak = [most, 1, most, 1, 0, 0, 0, 0, 1, most];
    let mut moved = changed(at_peak, recorded);
    // The mark may allocate one block.
    moved[8] = moved[8].min(1);
    assert_eq!(moved, peak, "a temporary block above the peak");
    assert_eq!(at_peak.peak_bytes, recorded.peak_bytes + 10_000);
    let last = Block::new(&TALLY, 60, 8);
    recorder.finish().expect("it was recording");
    drop(last);
    drop(kept);
    drop(Block::new(&TALLY, 5, 8));
    let finished = stats();
    let after = [65, 2, 315, 3, -250, -1, 0, 0, 2, 65];
    assert_eq!(changed(finished, at_peak), after, "after the recording");
    assert_eq!(finished.peak_bytes, at_peak.peak_bytes);
    println!("done=1");
}

/// A recording that began first. Older blocks are not counted, and counting continues after it.
fn while_recording() {
    let older = Block::new(&TALLY, 1_000, 8);
    let recorder = Recorder::start_in_memory().expect("it records");
    let begin = stats();
    drop(older);
    let kept = Block::new(&TALLY, 10, 8);
    let recorded = stats();
    assert_eq!(
        changed(recorded, begin),
        [10, 1, 0, 0, 10, 1, 0, 0, 0, 0],
        "its rows"
    );
    recorder.finish().expect("it was recording");
    drop(kept);
    let finished = stats();
    assert_eq!(
        changed(finished, recorded),
        [0, 0, 10, 1, -10, -1, 0, 0, 1, 10],
        "and on"
    );
    println!("done=1");
}

/// A thread measures itself repeatedly while others work.
fn beside(rounds: usize) {
    let work = |random: &mut Random, rounds: usize| {
        let _work = phase("work");
        for _ in 0..rounds {
            let mut block = Block::new(&TALLY, 1 + random.below(300), 8);
            block.resize(1 + random.below(300));
        }
    };
    // The first call finds out if the allocator is ours.
    measure(|| ());
    std::thread::scope(|scope| {
        for seed in 0..3 {
            scope.spawn(move || work(&mut Random::new(seed), 20 * rounds));
        }
        for round in 0..rounds {
            let _work = phase("work");
            let bytes = 1 + round % 50;
            let ((), outer) = measure(|| {
                let block = Block::new(&TALLY, bytes, 8);
                let ((), inner) = measure(|| drop(Block::new(&TALLY, 7, 8)));
                assert_eq!((inner.total_bytes, inner.freed_bytes), (7, 7));
                assert_eq!((inner.temporary_blocks, inner.peak_bytes), (1, 7));
                drop(block);
            });
            let wanted = bytes as u64 + 7;
            assert_eq!((outer.total_bytes, outer.freed_bytes), (wanted, wanted));
            assert_eq!((outer.total_blocks, outer.peak_bytes), (2, wanted));
        }
    });
    TALLY.print();
}

/// Allocates blocks of `mebibytes` MiB in total. Prints the sizes of heapglass's own mappings and
/// of all mappings, as the kernel reports them.
fn own(mebibytes: usize) {
    let blocks: Vec<Box<[u8; 100]>> = (0..mebibytes * 10_000)
        .map(|_| Box::new([1; 100]))
        .collect();
    let large: Vec<Vec<u8>> = (0..20).map(|_| Vec::with_capacity(1 << 20)).collect();
    black_box((&blocks, &large));
    let recording = std::env::var("HEAPGLASS_OUT").unwrap_or_default();
    let text = std::fs::read_to_string("/proc/self/smaps").expect("what is mapped");
    let (mut own, mut rss, mut kib, mut is_recording) = (0u64, 0u64, 0u64, false);
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["Rss:", number, "kB"] => kib = number.parse().expect("a number"),
            ["VmFlags:", flags @ ..] => {
                rss += kib;
                // Our private mappings are not dumped and have no huge pages.
                if is_recording || flags.contains(&"dd") && flags.contains(&"nh") {
                    own += kib;
                }
            }
            [range, ..] if range.contains('-') => is_recording = line.ends_with(&recording),
            _ => {}
        }
    }
    println!("own_bytes={} rss_bytes={}", own << 10, rss << 10);
}
