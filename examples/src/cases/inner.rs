//! Blocks of unusual sizes and alignments, for inner allocators that place blocks close together.

use super::{Block, Tally};
use crate::data::Random;
use crate::recorded;
use std::path::PathBuf;
use std::process::ExitCode;
use tracking_alloc::{phase, stats};

static TALLIES: [Tally; 4] = [const { Tally::new() }; 4];
const NAMES: [&str; 4] = ["site 0", "site 1", "site 2", "site 3"];
const STEPS: usize = 20_000;

/// Allocates random sizes 1..=40 with alignments 1..=64 at four sites. After each step, the live
/// figures of the process must have changed as computed. Every 400 steps, the live figures of each
/// site are read from the recording.
pub(super) fn sizes(seed: u64) -> ExitCode {
    let random = &mut Random::new(seed);
    let recording = std::env::var_os("HEAPGLASS_OUT")
        .map(PathBuf::from)
        .expect("HEAPGLASS_OUT names the recording");
    let mut kept: Vec<(usize, Block)> = Vec::with_capacity(600);
    let live = || {
        TALLIES.iter().fold((0, 0), |sum, tally| {
            (sum.0 + tally.live_bytes(), sum.1 + tally.live_blocks())
        })
    };
    for step in 0..STEPS {
        let (before, counted) = (stats(), live());
        if kept.len() == 600 || (kept.len() > 20 && random.below(2) == 0) {
            let chosen = random.below(kept.len());
            let (site, mut block) = kept.swap_remove(chosen);
            if random.below(3) == 0 {
                let _site = phase(NAMES[site]);
                block.resize(1 + random.below(40));
                kept.push((site, block));
            }
        } else {
            let site = random.below(4);
            let block = {
                let _site = phase(NAMES[site]);
                Block::new(&TALLIES[site], 1 + random.below(40), 1 << random.below(7))
            };
            kept.push((site, block));
        }
        let (after, now) = (stats(), live());
        let moved = (
            after.live_bytes - before.live_bytes,
            after.live_blocks - before.live_blocks,
        );
        if moved != (now.0 - counted.0, now.1 - counted.1) {
            println!(
                "step {step}: live moved by {moved:?}, arithmetic says {:?}",
                (now.0 - counted.0, now.1 - counted.1)
            );
            return ExitCode::FAILURE;
        }
        if step % 400 == 0 && !sites_agree(step, &recording) {
            return ExitCode::FAILURE;
        }
    }
    kept.clear();
    if sites_agree(STEPS, &recording) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn sites_agree(step: usize, recording: &std::path::Path) -> bool {
    let recording = recorded::open(recording);
    NAMES.iter().zip(&TALLIES).all(|(name, tally)| {
        let sums = recorded::sums_in_scope(&recording, name);
        let (found, counted) = (
            (sums.live_bytes(), sums.live_blocks()),
            (tally.live_bytes(), tally.live_blocks()),
        );
        if found != counted {
            println!(
                "step {step}: {name} holds {found:?} in the recording, arithmetic says {counted:?}"
            );
        }
        found == counted
    })
}

/// Allocates boxes of one and of eight bytes, and frees half of them.
pub(super) fn boxes(each: usize) {
    let mut bytes: Vec<Box<u8>> = Vec::with_capacity(each);
    let mut words: Vec<Box<u64>> = Vec::with_capacity(each);
    {
        let _work = phase("work");
        for number in 0..each {
            bytes.push(Box::new(number as u8));
            words.push(Box::new(number as u64));
        }
    }
    bytes.retain(|byte| **byte % 2 == 0);
    words.retain(|word| **word % 2 == 0);
    let (freed_bytes, freed_blocks) = (
        each - bytes.len() + 8 * (each - words.len()),
        2 * each - bytes.len() - words.len(),
    );
    println!(
        "total_bytes={} total_blocks={} freed_bytes={freed_bytes} freed_blocks={freed_blocks}",
        9 * each,
        2 * each
    );
    // The remaining boxes stay live.
    std::mem::forget((bytes, words));
}
