//! What one instance allocated, by scope: counters in private memory, found by the scope's number.
//!
//! One writer, the thread that has the handle; read by whoever ends the recording. Never gives memory back.

use super::super::counters::Counter;
use crate::sys::Bump;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering::*};
use tracking_alloc_recording::ArenaRow;

/// Counters of one scope, all of them ever; zeros are a fresh one.
#[derive(Default)]
pub(super) struct ScopeCounter {
    pub(super) scope: Counter,
    pub(super) total_bytes: Counter,
    pub(super) total_blocks: Counter,
    /// No longer allocated: released, shrunk, grown out of, reset.
    pub(super) gone_bytes: Counter,
    pub(super) gone_blocks: Counter,
    pub(super) copied_bytes: Counter,
    /// Signed.
    pub(super) past_bytes: Counter,
    pub(super) grows: Counter,
    /// What the recording has of these seven.
    pub(super) published: [AtomicU64; 7],
    /// Where it has it, once it does.
    pub(super) row: AtomicPtr<ArenaRow>,
    /// The next one of the same instance.
    pub(super) next: AtomicPtr<ScopeCounter>,
}

const FIRST_PLACES: usize = 16;

/// Counters by scope: open addressing, never more than half full.
pub(super) struct ScopeCounters {
    places: AtomicPtr<AtomicPtr<ScopeCounter>>,
    mask: Counter,
    used: Counter,
    /// The list of all.
    first: AtomicPtr<ScopeCounter>,
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
        // PERF: scopes of one decode are numbered one after another, so they are their own best hash.
        let mut index = scope as usize & mask;
        loop {
            // SAFETY: there are `mask + 1` places, and the index is masked; half of them are empty, so the walk ends.
            // A counter is never given back.
            let counter = unsafe { (*places.add(index)).load(Relaxed).as_ref() }?;
            if counter.scope.get() == u64::from(scope) {
                return Some(counter);
            }
            index = (index + 1) & mask;
        }
    }

    /// Makes the counter of a scope that has none. `None` when there is no memory.
    #[cold]
    pub(super) fn add(&self, scope: u32, bump: &mut Bump) -> Option<&'static ScopeCounter> {
        self.make_room(bump)?;
        let place = bump.take::<ScopeCounter>(1)?;
        // SAFETY: zeroed memory that lives for good, which is a fresh counter known to nobody.
        let counter: &'static ScopeCounter = unsafe { place.as_ref() };
        counter.scope.set(scope.into());
        counter.next.store(self.first.load(Relaxed), Relaxed);
        self.first.store(place.as_ptr(), Release);
        self.insert(place.as_ptr());
        Some(counter)
    }

    /// Every counter.
    pub(super) fn all(&self) -> impl Iterator<Item = &'static ScopeCounter> {
        // SAFETY: null or a counter, which is never given back.
        let first = unsafe { self.first.load(Acquire).as_ref() };
        // SAFETY: likewise.
        std::iter::successors(first, |counter| unsafe {
            counter.next.load(Relaxed).as_ref()
        })
    }

    fn make_room(&self, bump: &mut Bump) -> Option<()> {
        let len = match self.places.load(Relaxed).is_null() {
            true => 0,
            false => self.mask.get() as usize + 1,
        };
        if (self.used.get() as usize + 1) * 2 <= len {
            return Some(());
        }
        let len = (len * 2).max(FIRST_PLACES);
        let places = bump.take::<AtomicPtr<ScopeCounter>>(len)?;
        self.places.store(places.as_ptr(), Relaxed);
        self.mask.set(len as u64 - 1);
        self.used.set(0);
        let mut next = self.first.load(Relaxed);
        // SAFETY: null or a counter, which is never given back.
        while let Some(counter) = unsafe { next.as_ref() } {
            self.insert(next);
            next = counter.next.load(Relaxed);
        }
        Some(())
    }

    fn insert(&self, counter: *mut ScopeCounter) {
        let (places, mask) = (self.places.load(Relaxed), self.mask.get() as usize);
        // SAFETY: a counter that lives for good.
        let mut index = unsafe { (*counter).scope.get() } as usize & mask;
        // SAFETY: there are `mask + 1` places, and room for one more.
        unsafe {
            while !(*places.add(index)).load(Relaxed).is_null() {
                index = (index + 1) & mask;
            }
            (*places.add(index)).store(counter, Relaxed);
        }
        self.used.add(1);
    }
}
