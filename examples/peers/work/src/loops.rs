//! Loops of allocations and frees.

use std::hint::black_box;
use std::sync::{Barrier, mpsc};
use std::time::{Duration, Instant};

/// Rounds of all threads together, so that the number of events does not depend on the number of
/// threads.
pub(crate) const CHURN_ROUNDS: usize = 3_200;
/// Rounds under a deep stack.
pub(crate) const DEPTH_ROUNDS: usize = 800;
/// Number of times that each of the stacks allocates.
pub(crate) const STACK_PASSES: usize = 20;
/// Batches of blocks that one thread allocates and another frees.
pub(crate) const CROSS_BATCHES: usize = 4_000;
/// Number of times that a buffer grows to its largest size.
pub(crate) const REALLOC_ROUNDS: usize = 50;

/// Number of blocks that a round keeps at the same time.
const BLOCKS: usize = 1_600;
/// Number of distinct stacks.
const STACKS: u32 = 50_000;
/// Number of blocks in a batch.
const BATCH: usize = 1_000;

/// A block of 16, 64 or 256 bytes.
#[inline(always)]
fn block(index: usize) -> Vec<u8> {
    black_box(Vec::with_capacity([16, 64, 256][index % 3]))
}

/// Runs rounds of 1,600 blocks. The first half is freed oldest first, the rest newest first.
fn churn(rounds: usize) {
    let mut blocks: Vec<Vec<u8>> = Vec::with_capacity(BLOCKS);
    for _ in 0..rounds {
        for index in 0..BLOCKS {
            blocks.push(block(index));
        }
        blocks.drain(..BLOCKS / 2).for_each(drop);
        while let Some(block) = blocks.pop() {
            drop(block);
        }
    }
}

/// Divides the rounds among threads. Measures from the start of the last thread to the end of the
/// last.
pub(crate) fn churn_on(threads: usize, rounds: usize) -> Duration {
    if threads == 1 {
        let begin = Instant::now();
        churn(rounds);
        return begin.elapsed();
    }
    let ready = Barrier::new(threads + 1);
    let done = Barrier::new(threads + 1);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                ready.wait();
                churn(rounds / threads);
                done.wait();
            });
        }
        ready.wait();
        let begin = Instant::now();
        done.wait();
        begin.elapsed()
    })
}

/// Runs the rounds below `depth` further frames.
pub(crate) fn churn_under(depth: usize, rounds: usize) -> Duration {
    let begin = Instant::now();
    descend(depth, rounds);
    begin.elapsed()
}

#[inline(never)]
fn descend(depth: usize, rounds: usize) {
    if depth <= 1 {
        churn(rounds);
    } else {
        descend(depth - 1, rounds);
    }
    // Prevents a tail call, which would remove the frame.
    black_box(depth);
}

/// Lets each of 50,000 stacks allocate one block per pass. A pass frees its blocks at its end.
pub(crate) fn stacks(passes: usize) -> Duration {
    let mut blocks = Vec::with_capacity(STACKS as usize);
    let begin = Instant::now();
    for _ in 0..passes {
        for path in 0..STACKS {
            blocks.push(turn(path, STACKS.ilog2() + 1));
        }
        blocks.clear();
    }
    begin.elapsed()
}

/// Goes left or right at each bit of `path`, so that each path is another stack.
#[inline(always)]
fn turn(path: u32, bits: u32) -> Vec<u8> {
    match (bits, path & 1) {
        (0, _) => block(path as usize),
        (_, 0) => left(path >> 1, bits - 1),
        _ => right(path >> 1, bits - 1),
    }
}

#[inline(never)]
fn left(path: u32, bits: u32) -> Vec<u8> {
    let block = turn(path, bits);
    // Differs in the two functions, so that they are not merged, and comes after the call, so that
    // the frame stays.
    black_box(0);
    block
}

#[inline(never)]
fn right(path: u32, bits: u32) -> Vec<u8> {
    let block = turn(path, bits);
    black_box(1);
    block
}

/// Lets one thread allocate and another free.
pub(crate) fn cross(batches: usize) -> Duration {
    let (send, receive) = mpsc::sync_channel::<Vec<Vec<u8>>>(8);
    let begin = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for batch in receive {
                drop(batch);
            }
        });
        for _ in 0..batches {
            let batch = (0..BATCH).map(block).collect();
            send.send(batch).expect("the other thread receives");
        }
        drop(send);
    });
    begin.elapsed()
}

/// Grows a buffer by 256 KiB at a time to 16 MiB, and writes all of it.
pub(crate) fn reallocs(rounds: usize) -> Duration {
    const STEP: usize = 256 << 10;
    let begin = Instant::now();
    for _ in 0..rounds {
        let mut buffer: Vec<u8> = Vec::new();
        while buffer.len() < 16 << 20 {
            buffer.reserve_exact(STEP);
            buffer.resize(buffer.len() + STEP, 1);
        }
        drop(black_box(buffer));
    }
    begin.elapsed()
}

/// Allocates blocks of 512 to 1,535 bytes and writes all of each, until `bytes` bytes are live;
/// then frees all.
pub(crate) fn heap(bytes: u64) -> Duration {
    let begin = Instant::now();
    let mut blocks: Vec<Vec<u8>> = Vec::with_capacity((bytes >> 10) as usize + 1024);
    let (mut live, mut index) = (0u64, 0usize);
    while live < bytes {
        let size = 512 + index * 389 % 1024;
        blocks.push(black_box(vec![1; size]));
        live += size as u64;
        index += 1;
    }
    drop(blocks);
    begin.elapsed()
}
