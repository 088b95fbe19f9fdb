//! Counters that any thread may add to at any time.

#[cfg(captures)]
use super::sites::{Slot, Stacks};
#[cfg(captures)]
use crate::counters::Realloc;
use crate::counters::{self, Counter, Counters, Event, SUMS, Sums};
use crate::figures::Stats;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::*};

pub(super) struct Shared {
    sums: [AtomicU64; SUMS],
    /// Bytes and blocks.
    live: [AtomicI64; 2],
    /// The most bytes, and the blocks at about that moment.
    peak: [AtomicI64; 2],
    /// The stacks of an assertion.
    #[cfg(captures)]
    sites: Slot,
}

impl Counters for &Shared {
    fn add(&mut self, counter: Counter, more: u64) {
        if let Some(sum) = self.sums.get(counter as usize) {
            sum.fetch_add(more, Relaxed);
        }
    }
}

impl Shared {
    pub(super) const fn new() -> Self {
        Shared {
            sums: [const { AtomicU64::new(0) }; SUMS],
            live: [const { AtomicI64::new(0) }; 2],
            peak: [const { AtomicI64::new(0) }; 2],
            #[cfg(captures)]
            sites: Slot::new(),
        }
    }

    /// Begins to capture stacks. `None` when another assertion does.
    #[cfg(captures)]
    pub(super) fn capture(&'static self) -> Option<Stacks> {
        self.sites.begin()
    }

    /// An event. `is_temporary`: it frees the block that its thread allocated last.
    pub(super) fn count(&self, event: Event, is_temporary: bool) {
        #[cfg(captures)]
        if let Event::Alloc(_, bytes) | Event::Realloc(Realloc { bytes, .. }) = event {
            self.sites.count(bytes as u64);
        }
        counters::count(self, event, is_temporary);
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
        if self.peak[0].fetch_max(live, Relaxed) <= live {
            self.peak[1].store(live_blocks, Relaxed);
        }
    }

    /// Live bytes and blocks.
    #[cfg(recording)]
    pub(super) fn live(&self) -> (i64, i64) {
        (self.live[0].load(Relaxed), self.live[1].load(Relaxed))
    }

    /// Adds what others counted, their live bytes apart.
    #[cfg(recording)]
    pub(super) fn add_sums(&self, more: &Sums) {
        for (sum, more) in self.sums.iter().zip(more) {
            sum.fetch_add(*more, Relaxed);
        }
    }

    pub(super) fn sums(&self) -> Sums {
        std::array::from_fn(|sum| self.sums[sum].load(Relaxed))
    }

    pub(super) fn figures(&self) -> Stats {
        let peak = (self.peak[0].load(Relaxed), self.peak[1].load(Relaxed));
        Stats::new(self.sums(), peak)
    }

    /// The most live bytes.
    pub(super) fn peak_bytes(&self) -> i64 {
        self.peak[0].load(Relaxed)
    }

    /// Forgets the peak there was: the present live bytes, which are the answer, are the most from now on.
    pub(super) fn restart_peak(&self) -> i64 {
        // In this order: a rise at the same time is in the live bytes, or noted later.
        self.peak[0].store(i64::MIN, Relaxed);
        let live = self.live[0].load(Relaxed);
        self.peak[0].fetch_max(live, Relaxed);
        live
    }

    /// Forgets what was counted.
    pub(super) fn reset(&self) {
        self.sums.iter().for_each(|sum| sum.store(0, Relaxed));
        let moments = self.live.iter().chain(&self.peak);
        moments.for_each(|word| word.store(0, Relaxed));
    }
}
