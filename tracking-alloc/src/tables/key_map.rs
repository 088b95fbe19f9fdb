//! Hash maps in mapped memory, reached under the write lock.

use crate::hash::spread_all;
use crate::sys::Bump;
use std::ptr::NonNull;

const FIRST_SLOTS: usize = 1024;

/// Open addressing from exact 64-bit keys to numbers. All-zero bytes are an empty map.
pub(crate) struct KeyMap {
    slots: Option<NonNull<KeySlot>>,
    len: usize,
    used: usize,
}

// SAFETY: the memory is the map's own.
unsafe impl Send for KeyMap {}

#[repr(C)]
#[derive(Clone, Copy)]
struct KeySlot {
    key: u64,
    /// The number and one, 0 = free.
    number: u64,
}

/// All-zero bytes are "no slots".
const _: () = assert!(size_of::<Option<NonNull<KeySlot>>>() == size_of::<usize>());

impl KeyMap {
    pub(crate) fn find(&self, key: u64) -> Option<u32> {
        let slots = self.slots?;
        let mut index = spread_all(key) & (self.len - 1);
        loop {
            // SAFETY: the index is masked below `len`; the map is never full.
            let slot = unsafe { *slots.as_ptr().add(index) };
            if slot.number == 0 {
                return None;
            }
            if slot.key == key {
                return Some((slot.number - 1) as u32);
            }
            index = (index + 1) & (self.len - 1);
        }
    }

    /// Makes room for one more key. False when there is no memory.
    pub(crate) fn reserve(&mut self, bump: &mut Bump) -> bool {
        if (self.used + 1) * 2 <= self.len {
            return true;
        }
        let len = (self.len * 2).max(FIRST_SLOTS);
        let Some(memory) = bump.take::<KeySlot>(len) else {
            return false;
        };
        let old = std::mem::replace(
            self,
            KeyMap {
                slots: Some(memory),
                len,
                used: 0,
            },
        );
        for index in 0..old.len {
            // SAFETY: the index is below the old length.
            let slot = old.slots.map(|slots| unsafe { *slots.as_ptr().add(index) });
            if let Some(slot) = slot.filter(|slot| slot.number != 0) {
                self.add(slot.key, (slot.number - 1) as u32);
            }
        }
        true
    }

    /// Adds a key that is not there, after [`reserve`](Self::reserve).
    pub(crate) fn add(&mut self, key: u64, number: u32) {
        let Some(slots) = self.slots else { return };
        let mut index = spread_all(key) & (self.len - 1);
        // SAFETY: the index is masked below `len`; `reserve` left room.
        unsafe {
            while (*slots.as_ptr().add(index)).number != 0 {
                index = (index + 1) & (self.len - 1);
            }
            *slots.as_ptr().add(index) = KeySlot {
                key,
                number: u64::from(number) + 1,
            };
        }
        self.used += 1;
    }
}
