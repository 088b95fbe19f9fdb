//! Memory for the measurement of a value. It is mapped, never taken from the observed allocator,
//! and unmapped when the measurement ends.

use heapglass_recorder::hash::spread;
use heapglass_recorder::leaked;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// A growing list of plain values.
pub(super) struct MappedVec<T: Copy> {
    start: NonNull<T>,
    len: usize,
    capacity: usize,
}

/// The size of the first mapping in bytes.
const FIRST: usize = 64 << 10;

impl<T: Copy> Default for MappedVec<T> {
    fn default() -> Self {
        MappedVec {
            start: NonNull::dangling(),
            len: 0,
            capacity: 0,
        }
    }
}

impl<T: Copy> MappedVec<T> {
    /// Adds a value and returns its index. Returns `None` if the system refuses the memory.
    pub(super) fn push(&mut self, value: T) -> Option<usize> {
        if self.len == self.capacity {
            self.grow((self.capacity * 2).max(FIRST / size_of::<T>()))?;
        }
        // SAFETY: `len < capacity`, and all of the capacity is mapped.
        unsafe { self.start.add(self.len).write(value) };
        self.len += 1;
        Some(self.len - 1)
    }

    /// Forgets the values from `len` on.
    pub(super) fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    fn grow(&mut self, capacity: usize) -> Option<()> {
        let start = leaked::map(capacity.checked_mul(size_of::<T>())?)?.cast::<T>();
        // SAFETY: both mappings hold `len` values, and they are different mappings.
        unsafe { start.copy_from_nonoverlapping(self.start, self.len) };
        self.unmap();
        (self.start, self.capacity) = (start, capacity);
        Some(())
    }

    fn unmap(&mut self) {
        if self.capacity > 0 {
            let bytes = self.capacity * size_of::<T>();
            // SAFETY: the mapping was made here with this size and is not used any more.
            unsafe { libc::munmap(self.start.as_ptr().cast(), bytes) };
        }
    }
}

impl<T: Copy> Deref for MappedVec<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: `len` values were written. If there are none, the pointer dangles, which is valid
        // for an empty slice.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T: Copy> DerefMut for MappedVec<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl<T: Copy> Drop for MappedVec<T> {
    fn drop(&mut self) {
        self.unmap();
    }
}

#[derive(Clone, Copy)]
struct Slot {
    hash: u64,
    /// The index plus one, or 0 if the slot is free.
    index: u32,
}

/// Maps hashes to indexes of values that are kept elsewhere.
#[derive(Default)]
pub(super) struct Index {
    slots: MappedVec<Slot>,
    used: usize,
}

impl Index {
    /// Returns the index under a hash for which `matches` returns `true`.
    #[inline]
    pub(super) fn find(&self, hash: u64, matches: impl Fn(u32) -> bool) -> Option<u32> {
        let mask = self.slots.len().checked_sub(1)?;
        let mut place = spread(hash) & mask;
        loop {
            let slot = self.slots.get(place)?;
            let index = slot.index.checked_sub(1)?;
            if slot.hash == hash && matches(index) {
                return Some(index);
            }
            place = (place + 1) & mask;
        }
    }

    /// Adds an index under a hash. Returns `None` if the system refuses the memory.
    pub(super) fn add(&mut self, hash: u64, index: u32) -> Option<()> {
        if (self.used + 1) * 4 > self.slots.len() * 3 {
            self.grow()?;
        }
        self.used += 1;
        self.put(Slot {
            hash,
            index: index + 1,
        });
        Some(())
    }

    fn put(&mut self, slot: Slot) {
        let mask = self.slots.len() - 1;
        let mut place = spread(slot.hash) & mask;
        while self.slots[place].index != 0 {
            place = (place + 1) & mask;
        }
        self.slots[place] = slot;
    }

    fn grow(&mut self) -> Option<()> {
        let capacity = (self.slots.len() * 2).max(4096);
        let mut larger = MappedVec::default();
        larger.grow(capacity)?;
        // Mapped memory is zeroed, and zeros are free slots.
        larger.len = capacity;
        let old = std::mem::replace(&mut self.slots, larger);
        for slot in old.iter().filter(|slot| slot.index != 0) {
            self.put(*slot);
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_is_found_however_much_there_is() {
        let (mut kept, mut index) = (MappedVec::default(), Index::default());
        for number in 0..100_000u64 {
            let place = kept.push(number * 16).expect("memory");
            index.add(number * 16, place as u32).expect("memory");
        }
        for number in 0..100_000u64 {
            let found = index.find(number * 16, |found| kept[found as usize] == number * 16);
            assert_eq!(found, Some(number as u32));
            assert_eq!(index.find(number * 16 + 1, |_| true), None);
        }
        // Several indexes have the same hash; `matches` selects one.
        index
            .add(7, 1)
            .and_then(|()| index.add(7, 2))
            .expect("memory");
        assert_eq!(index.find(7, |found| found == 2), Some(2));
    }
}
