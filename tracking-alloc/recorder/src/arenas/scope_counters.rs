//! The allocations of one arena instance by scope: counters in private memory, found by the scope's
//! number.
//!
//! The thread that has the handle is the only writer. The thread that ends the recording reads
//! them. The memory is never freed.

use super::counters::Counter;
use crate::leaked::Link;
use crate::sys::Bump;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering::*};
use tracking_alloc_recording::ArenaRow;

/// The counters of one scope over its whole life. Zeros are a new counter.
pub(super) struct ScopeCounter {
    pub(super) scope: Counter,
    pub(super) total_bytes: Counter,
    pub(super) total_blocks: Counter,
    /// Bytes and pieces that are no longer allocated: released, shrunk, outgrown or reset.
    pub(super) gone_bytes: Counter,
    pub(super) gone_blocks: Counter,
    pub(super) copied_bytes: Counter,
    /// A signed number.
    pub(super) bypassed_bytes: Counter,
    pub(super) grows: Counter,
    /// The published values of these seven counters.
    pub(super) published: [AtomicU64; 7],
    /// The row in the recording, once it exists.
    pub(super) row: AtomicPtr<ArenaRow>,
    /// The next counter of the same instance.
    pub(super) next: Link<ScopeCounter>,
}

const FIRST_PLACES: usize = 16;

/// The counters by scope: open addressing, at most half full.
pub(super) struct ScopeCounters {
    places: AtomicPtr<Link<ScopeCounter>>,
    mask: Counter,
    used: Counter,
    /// The list of all counters.
    first: Link<ScopeCounter>,
}

impl ScopeCounters {
    /// Returns the counter of a scope, if there is one.
    #[inline(always)]
    pub(super) fn find(&self, scope: u32) -> Option<&'static ScopeCounter> {
        let places = self.places.load(Relaxed);
        if places.is_null() {
            return None;
        }
        let mask = self.mask.get() as usize;
        // PERF: scopes of one decode have consecutive numbers, so the number itself is the best
        // hash.
        let mut index = scope as usize & mask;
        loop {
            // SAFETY: there are `mask + 1` places, and the mask keeps the index below that. Half of
            // the places are empty, so the walk ends.
            let counter = unsafe { &*places.add(index) }.get()?;
            if counter.scope.get() == u64::from(scope) {
                return Some(counter);
            }
            index = (index + 1) & mask;
        }
    }

    /// Creates the counter of a scope that has none. Returns `None` if there is no memory.
    #[cold]
    pub(super) fn add(&self, scope: u32, bump: &mut Bump) -> Option<&'static ScopeCounter> {
        self.make_room(bump)?;
        let place = bump.take::<ScopeCounter>(1)?;
        // SAFETY: zeroed memory that is never freed. It is a new counter, which nobody else knows.
        let counter: &'static ScopeCounter = unsafe { place.as_ref() };
        counter.scope.set(scope.into());
        counter.next.set(self.first.get());
        self.first.set(counter);
        self.insert(counter);
        Some(counter)
    }

    /// Returns every counter.
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
        // SAFETY: there are `mask + 1` places, and the mask keeps the index below that.
        let place = |index: usize| unsafe { &*places.add(index & mask) };
        let mut index = counter.scope.get() as usize;
        // At most half of the places are taken, so the search ends.
        while place(index).get().is_some() {
            index += 1;
        }
        place(index).set(counter);
        self.used.add(1);
    }
}
