//! The rows of live blocks: a table from address to row, with open addressing, in memory of its
//! own.
//!
//! It must never take memory from the observed allocator, because that would change the measured
//! figures.

/// Takes zeroed words that are never freed. Returns them with the number of pages taken, or `None`
/// if there are no more.
pub(crate) type TakeWords = fn(words: usize) -> Option<(&'static mut [u64], u64)>;

/// The number of slots in the first table, which takes two pages.
const FIRST_SLOTS: usize = 1 << 14;

/// The live blocks by address. A slot is `address << 32 | row`. No block is at address 0, so 0 is a
/// free slot.
pub(super) struct Blocks {
    take: TakeWords,
    slots: &'static mut [u64],
    used: usize,
    /// The pages taken, including those of outgrown tables, because linear memory never shrinks.
    pub(super) pages: u64,
}

impl Blocks {
    pub(super) fn new(take: TakeWords) -> Option<Blocks> {
        let (slots, pages) = take(FIRST_SLOTS)?;
        Some(Blocks {
            take,
            slots,
            used: 0,
            pages,
        })
    }

    /// Enters a block. Replaces a known block at that address. Returns `false` if there is no room.
    pub(super) fn put(&mut self, address: u32, row: u32) -> bool {
        // A quarter stays free, so that searches for missing addresses end soon.
        if (self.used + 1) * 4 > self.slots.len() * 3 {
            self.grow();
            if (self.used + 2) > self.slots.len() {
                return false;
            }
        }
        self.store(u64::from(address) << 32 | u64::from(row));
        true
    }

    /// Removes a block. Returns its row.
    pub(super) fn take(&mut self, address: u32) -> Option<u32> {
        let mask = self.slots.len() - 1;
        let mut hole = self.home(address);
        loop {
            match self.slots[hole] {
                0 => return None,
                slot if (slot >> 32) as u32 == address => break,
                _ => hole = (hole + 1) & mask,
            }
        }
        let row = self.slots[hole] as u32;
        // The following slots of the same run move up as far as possible, so no slot is ever marked
        // as deleted.
        let mut next = hole;
        loop {
            next = (next + 1) & mask;
            let slot = self.slots[next];
            if slot == 0 {
                break;
            }
            let home = self.home((slot >> 32) as u32);
            if next.wrapping_sub(home) & mask >= next.wrapping_sub(hole) & mask {
                self.slots[hole] = slot;
                hole = next;
            }
        }
        self.slots[hole] = 0;
        self.used -= 1;
        Some(row)
    }

    fn store(&mut self, slot: u64) {
        let mask = self.slots.len() - 1;
        let address = (slot >> 32) as u32;
        let mut at = self.home(address);
        while self.slots[at] != 0 && (self.slots[at] >> 32) as u32 != address {
            at = (at + 1) & mask;
        }
        self.used += usize::from(self.slots[at] == 0);
        self.slots[at] = slot;
    }

    /// Returns the first slot to try for an address. The length is a power of two, at least 8.
    ///
    /// PERF: eight neighboring granules of 16 bytes share a line of 64 bytes.
    fn home(&self, address: u32) -> usize {
        let bits = self.slots.len().trailing_zeros() - 3;
        let line = (address >> 7).wrapping_mul(0x9E37_79B1) >> (32 - bits);
        (line << 3 | address >> 4 & 7) as usize
    }

    /// Doubles the number of slots, if there are pages for them.
    #[cold]
    fn grow(&mut self) {
        let length = self.slots.len() * 2;
        // 2^28 slots are half of all possible memory.
        if length > 1 << 28 {
            return;
        }
        let Some((slots, pages)) = (self.take)(length) else {
            return;
        };
        self.pages += pages;
        let old = std::mem::replace(&mut self.slots, slots);
        self.used = 0;
        old.iter()
            .filter(|slot| **slot != 0)
            .for_each(|slot| self.store(*slot));
    }
}
