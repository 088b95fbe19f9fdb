//! Counters that any thread may add to at any time.

use super::atomic_stats::AtomicStats;
#[cfg(captures)]
use super::sites::Slot;
#[cfg(recording)]
use crate::accounting::COUNTERS;
#[cfg(captures)]
use crate::accounting::Realloc;
use crate::accounting::{self, Counter, Counters, Event};
use crate::stats::Stats;
use std::sync::atomic::{AtomicI64, Ordering::*};

pub(crate) struct Shared {
    figures: AtomicStats,
    /// Bytes and blocks.
    live: [AtomicI64; 2],
    /// The stacks of an assertion.
    #[cfg(captures)]
    pub(crate) sites: Slot,
}

impl Counters for &Shared {
    fn add(&mut self, counter: Counter, more: u64) {
        if let Some(sum) = self.figures.sums.get(counter as usize) {
            sum.fetch_add(more, Relaxed);
        }
    }
}

impl Shared {
    pub(super) const fn new() -> Self {
        Shared {
            figures: AtomicStats::new(),
            live: [const { AtomicI64::new(0) }; 2],
            #[cfg(captures)]
            sites: Slot::new(),
        }
    }

    /// Adds an event. With `is_temporary`, it frees the block that its thread allocated last.
    pub(super) fn count(&self, event: Event, is_temporary: bool) {
        #[cfg(captures)]
        if let Event::Alloc(_, bytes) | Event::Realloc(Realloc { bytes, .. }) = event {
            self.sites.count(bytes as u64);
        }
        accounting::count(self, event, is_temporary);
        match event {
            Event::Alloc(_, bytes) => self.moved(bytes as i64, 1),
            Event::Free(_, bytes) => {
                self.live[0].fetch_sub(bytes as i64, Relaxed);
                self.live[1].fetch_sub(1, Relaxed);
            }
            Event::Realloc(of) => self.moved(of.bytes as i64 - of.old_bytes as i64, 0),
        }
    }

    pub(super) fn moved(&self, bytes: i64, blocks: i64) {
        let live = self.live[0].fetch_add(bytes, Relaxed) + bytes;
        let live_blocks = self.live[1].fetch_add(blocks, Relaxed) + blocks;
        self.note_peak(live, live_blocks);
    }

    pub(super) fn note_peak(&self, live: i64, live_blocks: i64) {
        if self.figures.peak[0].fetch_max(live, Relaxed) <= live {
            self.figures.peak[1].store(live_blocks, Relaxed);
        }
    }

    /// Returns the live bytes and blocks.
    #[cfg(recording)]
    pub(super) fn live(&self) -> (i64, i64) {
        (self.live[0].load(Relaxed), self.live[1].load(Relaxed))
    }

    /// Adds the sums of a finished recording while counting continues.
    #[cfg(recording)]
    pub(crate) fn add_figures(&self, more: &Stats) {
        let sums = <[u64; COUNTERS]>::from(more.sums());
        for (sum, more) in self.figures.sums.iter().zip(sums) {
            sum.fetch_add(more, Relaxed);
        }
        self.moved(more.live_bytes, more.live_blocks);
        self.note_peak(more.peak_bytes as i64, more.peak_blocks as i64);
    }

    pub(crate) fn figures(&self) -> Stats {
        self.figures.get()
    }

    /// Returns the largest live bytes.
    pub(super) fn peak_bytes(&self) -> i64 {
        self.figures.peak[0].load(Relaxed)
    }

    /// Resets the peak to the current live bytes, and returns them.
    pub(super) fn restart_peak(&self) -> i64 {
        // In this order, a concurrent rise either is part of the live bytes or is noted later.
        self.figures.peak[0].store(i64::MIN, Relaxed);
        let live = self.live[0].load(Relaxed);
        self.figures.peak[0].fetch_max(live, Relaxed);
        live
    }

    /// Resets all counts.
    pub(super) fn reset(&self) {
        self.figures.set(&Stats::default());
        self.live.iter().for_each(|word| word.store(0, Relaxed));
    }
}
