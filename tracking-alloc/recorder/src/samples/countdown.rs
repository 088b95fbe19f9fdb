//! The countdown of a thread.

use super::weight::{Draw, Weight, exponential};
use super::{SEED, mean};
use crate::hash::GOLDEN;
use crate::{state, thread};
use std::ptr::{from_ref, null};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::*};

/// The bytes left until the next sample, and what was counted so far. It belongs to a lane, and
/// goes on when another thread takes the lane over. Only the owner of the lane writes to it.
///
/// It is granted in shares, so that the thread looks now and then for what is asked of it, even if
/// samples are rare.
///
/// PERF: one cache line, so that an event touches one.
#[repr(C, align(64))]
pub(crate) struct Countdown {
    /// Bytes left of the share of the countdown that was granted. A block of less than this size is
    /// no sample.
    left: AtomicI64,
    /// Blocks allocated, blocks freed and bytes freed, if blocks are counted.
    blocks: AtomicU64,
    freed_blocks: AtomicU64,
    freed_bytes: AtomicU64,
    /// Bytes of all shares, so that `granted - left` is what was allocated.
    granted: AtomicU64,
    /// The rest of the countdown, which was not granted yet. With `left`, a block of at least this
    /// size is a sample.
    rest: AtomicI64,
    /// The mean of this countdown; 0 = none was drawn yet.
    mean: AtomicU64,
    /// The state of the random numbers.
    random: AtomicU64,
}

/// The exact counts while samples were taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    pub(crate) total_bytes: u64,
    pub(crate) total_blocks: u64,
    pub(crate) freed_bytes: u64,
    pub(crate) freed_blocks: u64,
}

/// Sets the countdown that the calling thread counts its allocations with. Without one, all its
/// events take the slow path while samples are taken.
pub(crate) fn set_here(countdown: Option<&'static Countdown>) {
    let place = countdown.map_or(null(), |countdown| from_ref(countdown).cast());
    thread::with(|thread| thread.countdown.set(place));
}

/// Counts a free in the countdown of the calling thread, as [`Countdown::freed`]. Returns `false`
/// if the free is to be counted and the thread has no countdown.
#[inline(always)]
pub(crate) fn freed_here(word: u32, bytes: usize) -> bool {
    // PERF: without counts, the thread's words are not read.
    word & state::COUNTS == 0
        || here()
            .map(|countdown| countdown.freed(word, bytes))
            .is_some()
}

/// Returns the countdown of the calling thread, if its lane is its own.
#[inline(always)]
pub(crate) fn here() -> Option<&'static Countdown> {
    let place = thread::with(|thread| thread.countdown.get())?;
    // SAFETY: null or the countdown of the thread's lane, which is never unmapped.
    unsafe { place.cast::<Countdown>().as_ref() }
}

#[inline(always)]
fn add(to: &AtomicU64, more: u64) {
    to.store(to.load(Relaxed).wrapping_add(more), Relaxed);
}

impl Countdown {
    /// Counts a block if it is no sample. Otherwise returns `false` and does nothing.
    #[inline(always)]
    pub(super) fn passes(&self, bytes: usize, counts: bool) -> bool {
        // Comparing before subtracting lets one instruction do both.
        let (left, bytes) = (self.left.load(Relaxed), bytes as i64);
        if left <= bytes {
            return false;
        }
        self.left.store(left - bytes, Relaxed);
        if counts {
            add(&self.blocks, 1);
        }
        true
    }

    /// Counts a free of a block of this size, 0 if it is not known, if the state counts them.
    #[inline(always)]
    pub(crate) fn freed(&self, word: u32, bytes: usize) {
        if word & state::COUNTS != 0 {
            add(&self.freed_blocks, 1);
            add(&self.freed_bytes, bytes as u64);
        }
    }

    /// Counts a block if it is no sample, and grants the next share. Otherwise returns `false` and
    /// does nothing.
    pub(crate) fn goes_on(&self, bytes: u64, counts: bool, share: i64) -> bool {
        let left = self.left.load(Relaxed).wrapping_sub(bytes as i64);
        if left.saturating_add(self.rest.load(Relaxed)) <= 0 {
            return false;
        }
        self.grant(left, share);
        if counts {
            add(&self.blocks, 1);
        }
        true
    }

    /// Makes the next block of the lane's thread ask for the lane of the recording in progress. A
    /// thread that is just counting a block may store over it. Its countdown then runs out later.
    pub(crate) fn exhaust(&self) {
        self.left.store(0, Relaxed);
        self.rest.store(0, Relaxed);
    }

    /// Grants a share of the rest, so that at least `share` is left if there is as much.
    fn grant(&self, left: i64, share: i64) {
        let rest = self.rest.load(Relaxed);
        let granted = rest.min(share.saturating_sub(left)).max(0);
        self.rest.store(rest - granted, Relaxed);
        add(&self.granted, granted as u64);
        self.left.store(left + granted, Relaxed);
    }

    /// Counts a block, and grants the next share. Returns its weight if it is a sample. `lane` is
    /// the number of the lane.
    pub(crate) fn count(&self, bytes: u64, counts: bool, lane: u32, share: i64) -> Option<Weight> {
        if self.mean.load(Relaxed) == 0 {
            let seed = SEED.load(Relaxed) ^ u64::from(lane + 1).wrapping_mul(GOLDEN);
            self.random.store(seed | 1, Relaxed);
            // The first numbers of similar seeds are similar.
            for _ in 0..8 {
                self.number();
            }
            self.draw(0, share);
        }
        if self.goes_on(bytes, counts, share) {
            return None;
        }
        if counts {
            add(&self.blocks, 1);
        }
        let left = self.left.load(Relaxed).wrapping_sub(bytes as i64);
        let random = Draw {
            first: self.below_one(),
            second: self.below_one(),
        };
        let weight = Weight::of(bytes, self.mean.load(Relaxed), random);
        self.draw(left, share);
        Some(weight)
    }

    /// Draws a new countdown, with `left` left of the last one after the sample. Exponential
    /// distances have no memory, so it begins after the sample.
    fn draw(&self, left: i64, share: i64) {
        let mean = mean();
        let drawn = exponential(mean, 1.0 - self.below_one());
        self.mean.store(mean, Relaxed);
        self.rest.store(drawn, Relaxed);
        add(&self.granted, left.wrapping_neg() as u64);
        self.grant(0, share);
    }

    /// Returns the bytes that were allocated while samples were taken.
    pub(crate) fn total_bytes(&self) -> u64 {
        let left = self.left.load(Relaxed);
        self.granted.load(Relaxed).wrapping_sub(left as u64)
    }

    /// Returns what was counted.
    pub(crate) fn counted(&self) -> Counted {
        Counted {
            total_bytes: self.total_bytes(),
            total_blocks: self.blocks.load(Relaxed),
            freed_bytes: self.freed_bytes.load(Relaxed),
            freed_blocks: self.freed_blocks.load(Relaxed),
        }
    }

    /// Returns a random number: xorshift64* (Vigna).
    fn number(&self) -> u64 {
        let mut x = self.random.load(Relaxed);
        x ^= x >> 12;
        x ^= x << 25;
        x ^= x >> 27;
        self.random.store(x, Relaxed);
        x.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// Returns a random number, at least 0 and less than 1.
    fn below_one(&self) -> f64 {
        (self.number() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

impl Counted {
    pub(crate) const NOTHING: Counted = Counted {
        total_bytes: 0,
        total_blocks: 0,
        freed_bytes: 0,
        freed_blocks: 0,
    };

    /// Returns the sum.
    pub(crate) fn plus(self, more: Counted) -> Counted {
        Counted {
            total_bytes: self.total_bytes.wrapping_add(more.total_bytes),
            total_blocks: self.total_blocks.wrapping_add(more.total_blocks),
            freed_bytes: self.freed_bytes.wrapping_add(more.freed_bytes),
            freed_blocks: self.freed_blocks.wrapping_add(more.freed_blocks),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn countdown() -> Countdown {
        // SAFETY: all-zero bytes are a countdown that was not drawn yet.
        unsafe { std::mem::MaybeUninit::zeroed().assume_init() }
    }

    /// Shares of different sizes, from 1 byte to whole countdowns.
    fn share(round: usize) -> i64 {
        1 << (round % 24)
    }

    #[test]
    fn shares_change_no_sample() {
        let samples_with = |share: fn(usize) -> i64| {
            super::super::set_seed(Some(11));
            let countdown = countdown();
            let mut samples = Vec::new();
            for round in 0..100_000 {
                let size = [0, 1, 24, 4_000, 300_000][round % 5];
                let (is_counted, share) = (round % 2 == 0, share(round));
                let passes = countdown.passes(size as usize, is_counted)
                    || countdown.goes_on(size, is_counted, share);
                if !passes && countdown.count(size, is_counted, 0, share).is_some() {
                    samples.push(round);
                }
            }
            (samples, countdown.counted())
        };
        let (whole, counted) = samples_with(|_| i64::MAX);
        assert!(whole.len() > 1_000);
        assert_eq!(samples_with(share), (whole.clone(), counted));
        assert_eq!(samples_with(|_| 1), (whole, counted));
        let bytes = 20_000 * (1 + 24 + 4_000 + 300_000);
        assert_eq!((counted.total_bytes, counted.total_blocks), (bytes, 50_000));
    }

    #[test]
    fn estimates_are_unbiased_and_total_bytes_exact() {
        super::super::set_seed(Some(7));
        let sizes = [16_u64, 48, 1_000, 40_000, 700_000, 5 << 20];
        let (mut exact, mut blocks, mut samples) = (0, 0, Vec::new());
        let countdown = countdown();
        for round in 0..200_000 {
            let size = sizes[(round * round + round / 7) % sizes.len()];
            exact += size;
            blocks += 1;
            // As an event does: the inlined code, else the cold one.
            if !countdown.passes(size as usize, true) {
                samples.extend(countdown.count(size, true, 3, share(round)));
            }
        }
        let counted = countdown.counted();
        assert_eq!((counted.total_bytes, counted.total_blocks), (exact, blocks));
        for size in sizes {
            let of_size = samples.iter().filter(|weight| weight.size == size);
            let (mut bytes, mut variance) = (0, 0.0);
            for weight in of_size {
                bytes += weight.amount.bytes;
                variance += weight.variance;
            }
            let of_size =
                (0..200_000_usize).filter(|r| sizes[(r * r + r / 7) % sizes.len()] == size);
            let exact = of_size.count() as f64 * size as f64;
            let deviations = (bytes as f64 - exact).abs() / (variance.sqrt() + 1.0);
            assert!(deviations < 3.0, "{size}: {bytes} of {exact}");
        }
    }

    #[test]
    fn a_changed_mean_holds_from_the_next_countdown_on() {
        super::super::set_seed(Some(1));
        let countdown = countdown();
        let first = loop {
            if let Some(weight) = countdown.count(64, false, 0, 1) {
                break weight;
            }
        };
        assert_eq!(countdown.counted().total_blocks, 0);
        assert!(first.amount.bytes.abs_diff(mean() + 32) <= 1);
    }
}
