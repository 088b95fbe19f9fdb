//! A hash map in mapped memory: looked up without a lock, changed under the write lock.

use crate::hash::spread_all;
use crate::sys::Bump;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering::*};

const FIRST_SLOTS: usize = 1024;

/// Open addressing from exact 64-bit keys to numbers. All-zero bytes are an empty map.
pub(super) struct KeyMap {
    /// The current slots. When the map grows, larger ones replace them. The old slots stay mapped
    /// for readers.
    slots: AtomicPtr<Slots>,
    used: AtomicUsize,
}

struct Slots {
    first: *const Slot,
    /// Number of slots minus one; the number is a power of two.
    mask: usize,
}

/// A slot. Readers may see it at any time, so the number is published after the key.
#[repr(C)]
struct Slot {
    key: AtomicU64,
    /// The number plus one, or 0 if the slot is free.
    number: AtomicU64,
}

impl Slots {
    fn at(&self, index: usize) -> &Slot {
        // SAFETY: the mask keeps the index below the number of slots.
        unsafe { &*self.first.add(index & self.mask) }
    }

    fn all(&self) -> &[Slot] {
        // SAFETY: `first` points to that many slots, and all their words are atomics.
        unsafe { std::slice::from_raw_parts(self.first, self.mask + 1) }
    }

    /// Returns the slots in which a key may be, in search order. At least one slot is always free,
    /// so a search ends.
    fn of(&self, key: u64) -> impl Iterator<Item = &Slot> {
        let home = spread_all(key) & self.mask;
        (home..).map(|index| self.at(index))
    }

    fn add(&self, key: u64, number: u64) {
        let mut slots = self.of(key);
        if let Some(slot) = slots.find(|slot| slot.number.load(Relaxed) == 0) {
            // A reader that sees the new key also sees that the slot was empty before.
            slot.key.store(key, Release);
            slot.number.store(number + 1, Release);
        }
    }
}

impl KeyMap {
    pub(super) const fn new() -> Self {
        KeyMap {
            slots: AtomicPtr::new(null_mut()),
            used: AtomicUsize::new(0),
        }
    }

    fn slots(&self) -> Option<&Slots> {
        // SAFETY: null or slots, which are never unmapped.
        unsafe { self.slots.load(Acquire).as_ref() }
    }

    /// Returns the number of a key. Without the lock, a key that is being added may be missed.
    pub(super) fn find(&self, key: u64) -> Option<u64> {
        for slot in self.slots()?.of(key) {
            let number = slot.number.load(Acquire);
            if number == 0 {
                return None;
            }
            if slot.key.load(Acquire) == key {
                // The slot may have been emptied and refilled in between. Then key and number do
                // not belong together.
                let is_same = slot.number.load(Relaxed) == number;
                return is_same.then_some(number - 1);
            }
        }
        None
    }

    /// Makes room for one more key. Returns `false` if memory ran out. Call under the write lock.
    pub(super) fn reserve(&self, bump: &mut Bump) -> bool {
        let old = self.slots();
        let len = old.map_or(0, |slots| slots.mask + 1);
        if (self.used.load(Relaxed) + 1) * 2 <= len {
            return true;
        }
        let new_len = (len * 2).max(FIRST_SLOTS);
        let (Some(place), Some(memory)) = (bump.take::<Slots>(1), bump.take::<Slot>(new_len))
        else {
            return false;
        };
        let new = Slots {
            first: memory.as_ptr(),
            mask: new_len - 1,
        };
        for slot in old.into_iter().flat_map(Slots::all) {
            if let Some(number) = slot.number.load(Relaxed).checked_sub(1) {
                new.add(slot.key.load(Relaxed), number);
            }
        }
        // SAFETY: memory for one value, which nobody else has seen.
        unsafe { place.write(new) };
        self.slots.store(place.as_ptr(), Release);
        true
    }

    /// Adds a new key, after [`reserve`](Self::reserve). Call under the write lock.
    pub(super) fn add(&self, key: u64, number: u64) {
        if let Some(slots) = self.slots() {
            slots.add(key, number);
            self.used.fetch_add(1, Relaxed);
        }
    }

    /// Empties the map, for other keys. Call under the write lock.
    pub(super) fn clear(&self) {
        for slot in self.slots().into_iter().flat_map(Slots::all) {
            slot.number.store(0, Release);
        }
        self.used.store(0, Relaxed);
    }

    /// Forgets the slots, for a forked child that starts its own recording.
    pub(super) fn forget(&self) {
        self.slots.store(null_mut(), Release);
        self.used.store(0, Relaxed);
    }
}
