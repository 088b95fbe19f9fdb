//! The counters of an instance, in private memory where the recording can reach them. The next
//! instance of the same name uses the slot again.

use super::counters::{ArenaCounters, Counter};
use super::scope_counters::{ScopeCounter, ScopeCounters};
use crate::leaked::Link;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};

/// Number of figures of an arena in the recording.
pub(super) const FIGURES: usize = 17;

/// The slot of an instance. All-zero bytes are an unused slot.
pub(super) struct Slot {
    pub(super) counters: ArenaCounters,
    pub(super) scopes: ScopeCounters,
    /// The figures of the scopes that earlier instances already freed.
    pub(super) gone_before: Counter,
    pub(super) gone_blocks_before: Counter,
    /// The tag of the recording to which the slot belongs.
    pub(super) tag: AtomicU32,
    /// The arena's number in that recording.
    pub(super) arena: AtomicU32,
    pub(super) in_use: AtomicBool,
    /// The number of the arena's instance, counted from 1.
    pub(super) instance: AtomicU64,
    /// The published values of the counters.
    pub(super) published: [AtomicU64; FIGURES],
    /// The next slot, used or not.
    pub(super) next: Link<Slot>,
    /// The next free slot of the same arena.
    pub(super) next_free: Link<Slot>,
}

impl Slot {
    /// Returns a figure summed over all scopes.
    fn sum(&self, of: fn(&ScopeCounter) -> &Counter) -> u64 {
        let scopes = self.scopes.all();
        scopes.fold(0, |sum, counter| sum.wrapping_add(of(counter).get()))
    }

    /// Updates the counters from those of the scopes: sums over all instances that had the slot,
    /// minus the sums of earlier instances.
    pub(super) fn sum_up(&self) {
        let counters = &self.counters;
        let gone = self.sum(|of| &of.gone_bytes);
        let gone_blocks = self.sum(|of| &of.gone_blocks);
        let blocks = self.sum(|of| &of.total_blocks);
        counters
            .allocated
            .set(self.sum(|of| &of.total_bytes).wrapping_sub(gone));
        counters.blocks.set(blocks.wrapping_sub(gone_blocks));
        counters
            .returned
            .set(gone.wrapping_sub(self.gone_before.get()));
        counters
            .returned_blocks
            .set(gone_blocks.wrapping_sub(self.gone_blocks_before.get()));
    }

    /// Adds everything that the counters counted so far to `counter`, because they began before the
    /// recording or continue from another one. Until then, the scopes contain only earlier
    /// instances.
    pub(super) fn adopt(&self, counter: &ScopeCounter) {
        let counters = &self.counters;
        self.gone_before.set(self.sum(|of| &of.gone_bytes));
        self.gone_blocks_before.set(self.sum(|of| &of.gone_blocks));
        counter.total_bytes.add(counters.total_allocated());
        counter.total_blocks.add(counters.total_blocks());
        counter.gone_bytes.add(counters.returned.get());
        counter.gone_blocks.add(counters.returned_blocks.get());
        counter.bypassed_bytes.add(counters.bypassed.get());
    }

    /// Notes that nothing is allocated any more.
    pub(super) fn empty(&self) {
        for counter in self.scopes.all() {
            counter.gone_bytes.set(counter.total_bytes.get());
            counter.gone_blocks.set(counter.total_blocks.get());
        }
    }
}
