//! Blocks for which the map has no place: addresses that are not a multiple of 8, or lie outside of
//! the covered range.
//!
//! The table uses sharded open addressing in mapped memory. Such blocks are rare, so one lock per
//! shard is cheap enough.

use super::Block;
use super::Owner;
use crate::hash::spread;
use crate::sys::{self, Lock};

const SHARDS: usize = 64;
const FIRST_SLOTS: usize = 256;

#[derive(Clone, Copy)]
#[repr(C)]
struct Slot {
    /// 0 if the slot is free.
    address: usize,
    bytes: usize,
    owner: Owner,
}

#[repr(C)]
struct Shard {
    slots: *mut Slot,
    /// A power of two, or 0 before the first block.
    len: usize,
    used: usize,
}

// SAFETY: `slots` is memory that only the shard uses, under its lock.
unsafe impl Send for Shard {}

pub(super) struct SideTable([Lock<Shard>; SHARDS]);

/// Number of attempts to take a lock, a few milliseconds in total. Other threads hold it for less
/// time. But the holder may be this thread, if a signal handler interrupted its event. Then the
/// lock would never become free.
const TRIES: u32 = 10_000;

/// Returns the size of a table with this many slots, in whole pages.
fn own_bytes(slots: usize) -> usize {
    slots * size_of::<Slot>() / sys::PAGE * sys::PAGE
}

impl SideTable {
    pub(super) const fn new() -> Self {
        SideTable([const { Lock::new(Shard::EMPTY) }; SHARDS])
    }

    /// Returns the address of the first shard, the distance between two, and their number.
    pub(super) fn shards(&self) -> (usize, usize, usize) {
        let first = self.0[0].get_mut_unpublished();
        (first.expose_provenance(), size_of::<Lock<Shard>>(), SHARDS)
    }

    fn shard(&self, address: usize) -> &Lock<Shard> {
        &self.0[spread(address as u64) % SHARDS]
    }

    /// Enters a block. Returns `false` if there is no memory, or in a signal handler that
    /// interrupted an operation on the same shard.
    #[cold]
    pub(super) fn put(&self, address: usize, bytes: usize, owner: Owner) -> bool {
        let slot = Slot {
            address,
            bytes,
            owner,
        };
        let shard = self.shard(address).try_lock(TRIES);
        shard.is_some_and(|mut shard| shard.put(slot))
    }

    /// Returns the size of the block that begins at `address`. Returns `None` if the block is not
    /// known, or in a signal handler as in [`put`](Self::put).
    #[cold]
    pub(super) fn bytes_of(&self, address: usize) -> Option<usize> {
        let shard = self.shard(address).try_lock(TRIES)?;
        if shard.len == 0 {
            return None;
        }
        // SAFETY: `find` returns an index below `len`.
        let slot = unsafe { *shard.slots.add(shard.find(address)) };
        (slot.address == address).then_some(slot.bytes)
    }

    /// Removes a block. Returns `None` if the block is not known, or in a signal handler as in
    /// [`put`](Self::put).
    #[cold]
    pub(super) fn take(&self, address: usize) -> Option<Owner> {
        self.shard(address).try_lock(TRIES)?.take(address)
    }

    /// Returns the block that contains `address`. Checks every slot.
    pub(super) fn containing(&self, address: usize) -> Option<Block> {
        self.0.iter().find_map(|shard| {
            let shard = shard.lock();
            (0..shard.len).find_map(|index| {
                // SAFETY: the index is below `len`.
                let slot = unsafe { *shard.slots.add(index) };
                let block = Block {
                    start: slot.address,
                    bytes: slot.bytes,
                    site: slot.owner.site(),
                };
                (slot.address != 0 && block.covers(address)).then_some(block)
            })
        })
    }

    /// Forgets all blocks, regardless of the locks. The memory is not freed.
    ///
    /// # Safety
    /// No thread may hold a lock or wait for one. A forked child may call this before it records.
    pub(super) unsafe fn reset(&self) {
        for shard in &self.0 {
            // SAFETY: guaranteed by the caller.
            unsafe { shard.reset(Shard::EMPTY) };
        }
    }

    /// Returns `true` if the table ever contained a block.
    pub(super) fn is_in_use(&self) -> bool {
        self.0.iter().any(|shard| shard.lock().len > 0)
    }
}

impl Shard {
    const EMPTY: Shard = Shard {
        slots: std::ptr::null_mut(),
        len: 0,
        used: 0,
    };

    fn home(&self, address: usize) -> usize {
        (spread(address as u64) / SHARDS) & (self.len - 1)
    }

    /// Returns the slot of `address`, or the free slot where it would be entered.
    fn find(&self, address: usize) -> usize {
        let mut index = self.home(address);
        loop {
            // SAFETY: the mask keeps the index below `len`. The table is never full.
            let found = unsafe { (*self.slots.add(index)).address };
            if found == address || found == 0 {
                return index;
            }
            index = (index + 1) & (self.len - 1);
        }
    }

    fn put(&mut self, entered: Slot) -> bool {
        if (self.used + 1) * 4 > self.len * 3 && !self.grow() {
            return false;
        }
        let index = self.find(entered.address);
        // SAFETY: `find` returns an index below `len`.
        let slot = unsafe { &mut *self.slots.add(index) };
        self.used += usize::from(slot.address == 0);
        *slot = entered;
        true
    }

    fn take(&mut self, address: usize) -> Option<Owner> {
        if self.len == 0 {
            return None;
        }
        let mut hole = self.find(address);
        // SAFETY: all indices are masked to lie below `len`.
        unsafe {
            let taken = *self.slots.add(hole);
            if taken.address == 0 {
                return None;
            }
            self.used -= 1;
            // Close the gap: move every following slot that may lie in the hole into it.
            let mut index = hole;
            loop {
                index = (index + 1) & (self.len - 1);
                let follower = *self.slots.add(index);
                if follower.address == 0 {
                    break;
                }
                let home = self.home(follower.address);
                let between = index.wrapping_sub(home) & (self.len - 1);
                let gap = index.wrapping_sub(hole) & (self.len - 1);
                if between >= gap {
                    *self.slots.add(hole) = follower;
                    hole = index;
                }
            }
            (*self.slots.add(hole)).address = 0;
            Some(taken.owner)
        }
    }

    fn grow(&mut self) -> bool {
        let _errno = sys::Errno::keep();
        let len = (self.len * 2).max(FIRST_SLOTS);
        let Some(place) = sys::map_private(len * size_of::<Slot>()) else {
            return false;
        };
        let new = Shard {
            slots: place.as_ptr().cast(),
            len,
            used: self.used,
        };
        let old = std::mem::replace(self, new);
        // SAFETY: the old table has `old.len` slots and no other user. The new one is larger.
        unsafe {
            for index in 0..old.len {
                let slot = *old.slots.add(index);
                if slot.address != 0 {
                    let place = self.find(slot.address);
                    *self.slots.add(place) = slot;
                }
            }
            sys::count_own(own_bytes(len));
            if !old.slots.is_null() {
                sys::uncount_own(own_bytes(old.len));
                libc::munmap(old.slots.cast(), old.len * size_of::<Slot>());
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shadow::LaneBits;
    use std::collections::BTreeMap;

    fn owner(number: u32) -> Owner {
        Owner::new(number, LaneBits::of(1 + number % 5), number)
    }

    #[test]
    fn blocks_are_found_until_they_are_taken_as_in_a_plain_map() {
        let (table, mut blocks) = (SideTable::new(), BTreeMap::new());
        assert!(!table.is_in_use());
        assert!(table.take(7).is_none());
        assert!(!table.is_in_use(), "what is not there makes no table");
        let mut random = 1_u64;
        let mut most = [0; SHARDS];
        for number in 3..90_000_u32 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            // There are few enough addresses that many are removed and entered again.
            let address = 1 + 16 * (random >> 20) as usize % (16 * 60_000);
            let expected = blocks.remove(&address);
            let taken = table.take(address).map(|owner| owner.site());
            assert_eq!(taken, expected);
            if !random.is_multiple_of(4) {
                assert!(table.put(address, 10, owner(number)));
                blocks.insert(address, number);
            }
            for (most, shard) in most.iter_mut().zip(&table.0) {
                if number % 1_000 == 0 {
                    *most = shard.lock().used.max(*most);
                }
            }
        }
        assert!(table.is_in_use());
        // `containing` checks every slot.
        for (address, number) in blocks.iter().step_by(900) {
            let found = table.containing(address + 9);
            let found = found.map(|block| (block.start, block.bytes, block.site));
            assert_eq!(found, Some((*address, 10, *number)));
            assert_eq!(table.containing(address + 10), None);
        }
        let used: usize = table.0.iter().map(|shard| shard.lock().used).sum();
        assert_eq!(used, blocks.len());
        for (most, shard) in most.into_iter().zip(&table.0) {
            let len = shard.lock().len;
            assert!(len > FIRST_SLOTS, "each grew");
            assert!(most * 4 <= len * 3 && most * 4 > len, "{most} in {len}");
        }
        for (address, number) in blocks {
            assert_eq!(table.take(address).map(|owner| owner.site()), Some(number));
        }
        assert!(table.0.iter().all(|shard| shard.lock().used == 0));
        // SAFETY: there is only one thread.
        unsafe { table.reset() };
        assert!(!table.is_in_use());
    }

    #[test]
    fn who_interrupted_the_holder_of_a_lock_gives_up() {
        let table = SideTable::new();
        assert!(table.put(7, 10, owner(3)));
        // This is what a signal handler finds if it interrupts an event of its own thread.
        let held = table.shard(7).lock();
        assert!(!table.put(7, 10, owner(4)));
        assert!(table.take(7).is_none());
        drop(held);
        assert_eq!(table.take(7).map(|owner| owner.site()), Some(3));
    }

    #[test]
    fn tables_take_whole_pages() {
        assert_eq!(size_of::<Slot>(), 24);
        assert_eq!(own_bytes(FIRST_SLOTS), 4096);
        assert_eq!(own_bytes(342), 8192);
        assert_eq!(own_bytes(512), 12_288);
    }

    #[test]
    fn addresses_are_spread_over_shards_and_slots() {
        let mut counts = [0; SHARDS];
        for address in (1..100_000).step_by(16) {
            counts[spread(address as u64) % SHARDS] += 1;
        }
        assert!(
            counts.iter().all(|count| (49..=147).contains(count)),
            "{counts:?}"
        );
    }
}
