//! The allocations of one arena instance by scope: counters in private memory, found by the scope's
//! number.
//!
//! One writer, the thread that has the handle; read by whoever ends the recording. Never gives
//! memory back.

use super::counters::Counter;
use crate::leaked::Link;
use crate::sys::Bump;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering::*};
use tracking_alloc_recording::ArenaRow;

/// Counters of one scope, all of them ever; zeros are a fresh one.
pub(super) struct ScopeCounter {
    pub(super) scope: Counter,
    pub(super) total_bytes: Counter,
    pub(super) total_blocks: Counter,
    /// No longer allocated: released, shrunk, grown out of, reset.
    pub(super) gone_bytes: Counter,
    pub(super) gone_blocks: Counter,
    pub(super) copied_bytes: Counter,
    /// Signed.
    pub(super) bypassed_bytes: Counter,
    pub(super) grows: Counter,
    /// The published values of these seven counters.
    pub(super) published: [AtomicU64; 7],
    /// The row in the recording, once there is one.
    pub(super) row: AtomicPtr<ArenaRow>,
    /// The next one of the same instance.
    pub(super) next: Link<ScopeCounter>,
}

const FIRST_PLACES: usize = 16;

/// Counters by scope: open addressing, never more than half full.
pub(super) struct ScopeCounters {
    places: AtomicPtr<Link<ScopeCounter>>,
    mask: Counter,
    used: Counter,
    /// The list of all.
    first: Link<ScopeCounter>,
}

impl ScopeCounters {
    /// The counter of a scope, if there is one.
    #[inline(always)]
    pub(super) fn find(&self, scope: u32) -> Option<&'static ScopeCounter> {
        let places = self.places.load(Relaxed);
        if places.is_null() {
            return None;
        }
        let mask = self.mask.get() as usize;
        // PERF: scopes of one decode are numbered one after another, so they are their own best
        // hash.
        let mut index = scope as usize & mask;
        loop {
            // SAFETY: there are `mask + 1` places, and the index is masked; half of them are empty,
            // so the walk ends.
            let counter = unsafe { &*places.add(index) }.get()?;
            if counter.scope.get() == u64::from(scope) {
                return Some(counter);
            }
            index = (index + 1) & mask;
        }
    }

    /// Makes the counter of a scope that has none. Returns `None` if there is no memory.
    #[cold]
    pub(super) fn add(&self, scope: u32, bump: &mut Bump) -> Option<&'static ScopeCounter> {
        self.make_room(bump)?;
        let place = bump.take::<ScopeCounter>(1)?;
        // SAFETY: zeroed memory that lives for good, which is a fresh counter known to nobody.
        let counter: &'static ScopeCounter = unsafe { place.as_ref() };
        counter.scope.set(scope.into());
        counter.next.set(self.first.get());
        self.first.set(counter);
        self.insert(counter);
        Some(counter)
    }

    /// Every counter.
    pub(super) fn all(&self) -> impl Iterator<Item = &'static ScopeCounter> {
        std::iter::successors(self.first.get(), |counter| counter.next.get())
    }

    fn make_room(&self, bump: &mut Bump) -> Option<()> {
        let len = if self.places.load(Relaxed).is_null() {
            0
        } else {
            self.mask.get() as usize + 1
        };
        if (self.used.get() as usize + 1) * 2 <= len {
            return Some(());
        }
        let len = (len * 2).max(FIRST_PLACES);
        let places = bump.take::<Link<ScopeCounter>>(len)?;
        self.places.store(places.as_ptr(), Relaxed);
        self.mask.set(len as u64 - 1);
        self.used.set(0);
        for counter in self.all() {
            self.insert(counter);
        }
        Some(())
    }

    fn insert(&self, counter: &'static ScopeCounter) {
        let (places, mask) = (self.places.load(Relaxed), self.mask.get() as usize);
        // SAFETY: there are `mask + 1` places, and the index is masked.
        let place = |index: usize| unsafe { &*places.add(index & mask) };
        let mut index = counter.scope.get() as usize;
        // At most half of the places are taken: the search ends.
        while place(index).get().is_some() {
            index += 1;
        }
        place(index).set(counter);
        self.used.add(1);
    }
}
