//! Very many stacks, to measure how fast recordings of such programs are read.

use super::{Block, Tally};
use std::hint::black_box;

static TALLY: Tally = Tally::new();

/// Number of calls before each block. Each goes to one of four functions.
const LEVELS: u32 = 12;

/// An odd number. After multiplication with it, each path still has a stack of its own, and the
/// outermost calls vary too.
const SPREAD: u32 = 0x9e_3779;

/// Allocates one block from each of `stacks` stacks (at most 4^12). With `goes_on`, it then
/// allocates blocks from all of them in turn until the process is killed.
pub(super) fn stacks(stacks: u32, goes_on: bool) {
    let mut kept: Vec<Block> = Vec::with_capacity(stacks as usize);
    kept.extend((0..stacks).map(allocate));
    // Half of the sites hold nothing at the end.
    kept.truncate(kept.len() / 2);
    TALLY.print();
    if goes_on {
        println!("begun");
        for path in (0..stacks).cycle() {
            drop(black_box(allocate(path)));
        }
    }
    std::mem::forget(kept);
}

fn allocate(path: u32) -> Block {
    let spread = path.wrapping_mul(SPREAD) & (4_u32.pow(LEVELS) - 1);
    turn(spread, LEVELS)
}

/// Takes one of four branches for every two bits of `path`.
#[inline(always)]
fn turn(path: u32, levels: u32) -> Block {
    match (levels, path & 3) {
        (0, _) => Block::new(&TALLY, 64, 8),
        (_, 0) => way::<0>(path >> 2, levels - 1),
        (_, 1) => way::<1>(path >> 2, levels - 1),
        (_, 2) => way::<2>(path >> 2, levels - 1),
        _ => way::<3>(path >> 2, levels - 1),
    }
}

#[inline(never)]
fn way<const WAY: u32>(path: u32, levels: u32) -> Block {
    let block = turn(path, levels);
    // Different in each function, so that they are not merged. After the call, so that the frame
    // stays.
    black_box(WAY);
    block
}
