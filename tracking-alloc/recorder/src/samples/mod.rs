//! Sample mode: which blocks are recorded, and what each of them stands for.
//!
//! Each thread counts down the bytes that it allocates. When the countdown runs out, the block at
//! hand is a sample: it is recorded with its stack. A new countdown is then drawn, exponentially
//! distributed with the mean R. So a block of `s` bytes is sampled with the probability
//! `p = 1 - exp(-s / R)`, independently of all others, and stands for `1 / p` blocks of its size
//! ([`Weight`]). Sums over samples are unbiased estimates of the sums over all blocks.
//!
//! - A realloc is a free of the old block and an allocation of the new one, with a draw of its own.
//!   If a sampled block stayed sampled when it is reallocated, a list that doubles would be counted
//!   1.6 times. If the new block were never drawn, it would not be counted at all.
//! - Each live sample keeps its weight, and its free subtracts the same weight. So a change of the
//!   mean leaves nothing behind.
//! - The look at the state and the countdown come *before* the call of the allocator. If nothing is
//!   to be reported, that call is the last thing that an event does.
//! - A free looks at one of 64 Ki counters, by the page of its address. Only if it is not zero, it
//!   looks for the block in the set of live samples ([`live`]).
//! - The number of bytes allocated is exact: what was granted to countdowns less what is left of it.
//!
//! The countdown lies in private memory and not in the recording: a thread may store into it at any
//! time, even after the recording was finished and has its checksum.

mod countdown;
mod live;
mod weight;

pub(crate) use countdown::{
    Countdown, Counted, freed_here, here as countdown_here, set_here as set_countdown,
};
pub(crate) use live::{Sample, forget_all, maybe_sampled, put, take, try_take, watch_all};
pub(crate) use weight::Weight;

use crate::{state, sys};
use std::sync::atomic::{AtomicU64, Ordering::*};
use tracking_alloc_recording::{DEFAULT_SAMPLE_BYTES, MOST_SAMPLE_BYTES};

/// The mean of countdowns that are drawn from now on.
static MEAN: AtomicU64 = AtomicU64::new(DEFAULT_SAMPLE_BYTES);
/// The seed of the lanes' random numbers.
static SEED: AtomicU64 = AtomicU64::new(0);

/// Returns `true` if a mean can be used.
pub(crate) fn is_valid(mean: u64) -> bool {
    (1..=MOST_SAMPLE_BYTES).contains(&mean)
}

/// Returns the mean of countdowns that are drawn from now on.
pub(crate) fn mean() -> u64 {
    MEAN.load(Relaxed)
}

/// Sets the mean. Countdowns in progress keep theirs, and their samples the weight that belongs to
/// it.
pub(crate) fn set_mean(mean: u64) {
    MEAN.store(mean, Relaxed);
}

/// Sets the seed of random numbers: the one that is given, or one that differs between processes.
pub(crate) fn set_seed(seed: Option<u64>) {
    SEED.store(seed.unwrap_or_else(sys::random_number), Relaxed);
}

/// Returns `true` if an allocation in a state other than off needs no report. Then it was counted.
#[inline(always)]
pub(crate) fn allocation_passes(word: u32, bytes: usize) -> bool {
    word & state::ALLOCS_PASS != 0 && {
        let counts = word & state::COUNTS != 0;
        countdown::here().is_some_and(|countdown| countdown.passes(bytes, counts))
    }
}

/// Returns `true` if a free in a state other than off needs no report. Then it was counted. `bytes`
/// is 0 if the size is not known.
#[inline(always)]
pub(crate) fn free_passes(word: u32, address: usize, bytes: usize) -> bool {
    word & state::FREES_PASS != 0
        && state::filter(address).load(Relaxed) == 0
        && freed_here(word, bytes)
}

/// Returns `true` if a realloc in a state other than off needs no report. Then it was counted.
#[inline(always)]
pub(crate) fn realloc_passes(word: u32, old: usize, old_bytes: usize, bytes: usize) -> bool {
    word & state::ALLOCS_PASS != 0 && state::filter(old).load(Relaxed) == 0 && {
        let counts = word & state::COUNTS != 0;
        countdown::here().is_some_and(|countdown| {
            let passes = countdown.passes(bytes, counts);
            if passes {
                countdown.freed(word, old_bytes);
            }
            passes
        })
    }
}
