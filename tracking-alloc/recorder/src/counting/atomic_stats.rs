//! Figures that are updated in place, one word after the other.

use crate::accounting::SUMS;
use crate::stats::Stats;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::*};

pub(super) struct AtomicStats {
    pub(super) sums: [AtomicU64; SUMS],
    /// The largest live bytes, and the live blocks at about that moment.
    pub(super) peak: [AtomicI64; 2],
}

impl AtomicStats {
    pub(super) const fn new() -> Self {
        AtomicStats {
            sums: [const { AtomicU64::new(0) }; SUMS],
            peak: [const { AtomicI64::new(0) }; 2],
        }
    }

    pub(super) fn get(&self) -> Stats {
        let [bytes, blocks] = &self.peak;
        let sums = std::array::from_fn(|sum| self.sums[sum].load(Relaxed));
        Stats::new(sums, (bytes.load(Relaxed), blocks.load(Relaxed)))
    }

    pub(super) fn set(&self, figures: &Stats) {
        for (sum, value) in self.sums.iter().zip(figures.sums()) {
            sum.store(value, Relaxed);
        }
        self.set_peak(figures.peak());
    }

    pub(super) fn set_peak(&self, (bytes, blocks): (i64, i64)) {
        self.peak[0].store(bytes, Relaxed);
        self.peak[1].store(blocks, Relaxed);
    }
}
