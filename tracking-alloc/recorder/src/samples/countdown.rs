//! The countdown of a thread.

use super::weight::{Draw, Weight, exponential};
use super::{SEED, mean};
use crate::hash::GOLDEN;
use crate::thread;
use std::ptr::{from_ref, null};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::*};

/// The bytes left until the next sample, and what was counted so far. It belongs to a lane, and
/// goes on when another thread takes the lane over. Only the owner of the lane writes to it.
///
/// PERF: one cache line, so that an event touches one.
#[repr(C, align(64))]
pub(crate) struct Countdown {
    /// Bytes left. A block of at least this size is a sample.
    left: AtomicI64,
    /// Blocks allocated, blocks freed and bytes freed, if blocks are counted.
    blocks: AtomicU64,
    freed_blocks: AtomicU64,
    freed_bytes: AtomicU64,
    /// Bytes of all countdowns, so that `drawn - left` is what was allocated.
    drawn: AtomicU64,
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

    /// Counts a free of a block of this size, 0 if it is not known.
    #[inline(always)]
    pub(crate) fn count_free(&self, bytes: usize) {
        add(&self.freed_blocks, 1);
        add(&self.freed_bytes, bytes as u64);
    }

    /// Counts a block. Returns its weight if it is a sample. `lane` is the number of the lane.
    pub(crate) fn count(&self, bytes: u64, counts: bool, lane: u32) -> Option<Weight> {
        if self.mean.load(Relaxed) == 0 {
            let seed = SEED.load(Relaxed) ^ u64::from(lane + 1).wrapping_mul(GOLDEN);
            self.random.store(seed | 1, Relaxed);
            // The first numbers of similar seeds are similar.
            for _ in 0..8 {
                self.number();
            }
            self.draw(0);
        }
        if counts {
            add(&self.blocks, 1);
        }
        let left = self.left.load(Relaxed).wrapping_sub(bytes as i64);
        if left > 0 {
            self.left.store(left, Relaxed);
            return None;
        }
        let random = Draw {
            first: self.below_one(),
            second: self.below_one(),
        };
        let weight = Weight::of(bytes, self.mean.load(Relaxed), random);
        self.draw(left);
        Some(weight)
    }

    /// Draws a new countdown, with `left` (at most 0) left of the last one. Exponential distances
    /// have no memory, so it begins after the sample.
    fn draw(&self, left: i64) {
        let mean = mean();
        let drawn = exponential(mean, 1.0 - self.below_one());
        self.mean.store(mean, Relaxed);
        add(&self.drawn, drawn.wrapping_sub(left) as u64);
        self.left.store(drawn, Relaxed);
    }

    /// Returns the bytes that were allocated while samples were taken.
    pub(crate) fn total_bytes(&self) -> u64 {
        let left = self.left.load(Relaxed);
        self.drawn.load(Relaxed).wrapping_sub(left as u64)
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
                samples.extend(countdown.count(size, true, 3));
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
            if let Some(weight) = countdown.count(64, false, 0) {
                break weight;
            }
        };
        assert_eq!(countdown.counted().total_blocks, 0);
        assert!(first.amount.bytes.abs_diff(mean() + 32) <= 1);
    }
}
