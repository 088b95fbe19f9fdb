//! Figures that are updated in place, one word after the other.

use crate::accounting::COUNTERS;
use crate::stats::Stats;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::*};
use tracking_alloc_recording::Word;

pub(super) struct AtomicStats {
    pub(super) sums: [AtomicU64; COUNTERS],
    /// The largest live bytes, and the live blocks at about that moment.
    pub(super) peak: [AtomicI64; 2],
}

impl AtomicStats {
    pub(super) const fn new() -> Self {
        AtomicStats {
            sums: [const { AtomicU64::new(0) }; COUNTERS],
            peak: [const { AtomicI64::new(0) }; 2],
        }
    }

    pub(super) fn get(&self) -> Stats {
        let [bytes, blocks] = &self.peak;
        let peak = (bytes.load(Relaxed), blocks.load(Relaxed));
        Stats::new(Word::load(&self.sums), peak)
    }

    pub(super) fn set(&self, figures: &Stats) {
        figures.sums().store(&self.sums);
        self.set_peak(figures.peak());
    }

    pub(super) fn set_peak(&self, (bytes, blocks): (i64, i64)) {
        self.peak[0].store(bytes, Relaxed);
        self.peak[1].store(blocks, Relaxed);
    }
}
