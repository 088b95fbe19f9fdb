//! Finds the live block that contains any given address. Searches the map backwards for the nearest
//! block that begins there.
//!
//! This is for code that measures a value, never for the hook. Other threads may allocate and free
//! meanwhile, so a block that is being freed may or may not be found.

use super::{ADDRESS_BITS, ADDRESS_MASK, LEAF_ENTRIES, LEAF_SPAN_BITS, Leaf, ROOTS, SIDE};
use super::{entry, in_map, word};
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering::*};

/// A live block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// The address, without a tag in the top byte.
    pub start: usize,
    /// The requested size.
    pub bytes: usize,
    /// The site that allocated the block.
    pub site: u32,
}

impl Block {
    pub(super) fn covers(&self, address: usize) -> bool {
        address.wrapping_sub(self.start) < self.bytes
    }

    fn end(&self) -> usize {
        self.start + self.bytes
    }
}

/// The known contents of the addresses from `low` up to, but not including, `high`.
#[derive(Clone, Copy, Default)]
struct Known {
    low: usize,
    high: usize,
    /// The block that contains these addresses, or `None` if there is none.
    block: Option<Block>,
}

/// Searches over more bytes of heap than this are remembered.
const LONG_SEARCH: usize = 1 << 10;
const REMEMBERED: usize = 32;

/// Finds blocks and remembers the results of long searches. Use it only for a time in which the
/// requested blocks do not change.
pub struct Finder {
    /// The maximum size of a block.
    reach: usize,
    side: bool,
    known: [Known; REMEMBERED],
}

impl Finder {
    /// Creates a finder. `largest` is an upper bound of the size of any live block, in bytes.
    pub fn new(largest: usize) -> Self {
        Finder {
            reach: largest,
            side: SIDE.is_in_use(),
            known: [Known::default(); REMEMBERED],
        }
    }

    /// Returns the block that contains `address`.
    pub fn block_at(&mut self, address: usize) -> Option<Block> {
        let address = address & ADDRESS_MASK;
        let found = self
            .known
            .iter()
            .position(|known| known.low <= address && address < known.high);
        if let Some(index) = found {
            let block = self.known[index].block;
            if block.is_none_or(|block| block_from(block.start) == Some(block)) {
                // Entries that are used again move to the front.
                self.known.swap(index, index / 2);
                return block;
            }
            // The block was freed since.
            self.known[index] = Known::default();
        }
        if address >> ADDRESS_BITS == 0
            && let Some(block) = self.search(address)
        {
            return Some(block);
        }
        SIDE.containing(address).filter(|_| self.side)
    }

    fn search(&mut self, address: usize) -> Option<Block> {
        // No block begins between the end of a known range and this address, so the search may stop
        // there.
        let mut floor = address.saturating_sub(self.reach);
        for known in &self.known {
            if known.high <= address {
                floor = floor.max(known.high);
            }
        }
        for (root, offset) in ROOTS.iter().zip([0, 8]) {
            let Some(block) = nearest(root, offset, address, floor) else {
                continue;
            };
            if block.covers(address) {
                if block.bytes > LONG_SEARCH {
                    self.remember(block.start, block.end(), Some(block));
                }
                return Some(block);
            }
            // Blocks do not overlap, so no block that begins before this one reaches beyond it.
            floor = floor.max(block.end().min(address));
        }
        if address - floor > LONG_SEARCH && !self.side {
            self.remember(floor, address + 1, None);
        }
        None
    }

    fn remember(&mut self, low: usize, high: usize, block: Option<Block>) {
        let known = Known { low, high, block };
        let extended = self
            .known
            .iter_mut()
            .find(|other| block.is_none() && other.block.is_none() && other.high == low);
        if let Some(gap) = extended.filter(|gap| gap.low < gap.high) {
            gap.high = high;
            return;
        }
        self.known[REMEMBERED - 1] = known;
        self.known.swap(REMEMBERED - 1, REMEMBERED / 2);
    }
}

/// Returns the block that begins at `address`.
pub fn block_from(address: usize) -> Option<Block> {
    let start = address & ADDRESS_MASK;
    if !in_map(start) {
        return SIDE.containing(start).filter(|block| block.start == start);
    }
    let place = entry(start)?;
    // SAFETY: `entry` returns an entry inside a leaf.
    let first = unsafe { (*place).load(Relaxed) };
    // SAFETY: as above. A leaf has spare entries after its last one.
    word::begins(first).then(|| unsafe { read(place, start, first) })
}

/// Decodes the words at `place` for the block that begins at `start`.
///
/// # Safety
/// `place` must be an entry of a leaf, not a spare one.
unsafe fn read(place: *const AtomicU32, start: usize, first: u32) -> Block {
    let bytes = word::bytes(first, |index| {
        // SAFETY: at most three entries after one that is not spare (guaranteed by the caller).
        unsafe { (*place.add(index)).load(Relaxed) }
    });
    Block {
        start,
        bytes,
        site: word::site(first),
    }
}

/// Returns the last block of a map that begins at or below `address` and not below `floor`.
fn nearest(root: &AtomicPtr<Leaf>, offset: usize, address: usize, floor: usize) -> Option<Block> {
    const LEAF_BITS: u32 = LEAF_SPAN_BITS - 4;
    let root = root.load(Acquire);
    if root.is_null() {
        return None;
    }
    let mut granule = address.checked_sub(offset)? >> 4;
    let last = floor.saturating_sub(offset).div_ceil(16);
    while granule >= last {
        let number = granule >> LEAF_BITS;
        let lowest = (number << LEAF_BITS).max(last);
        // SAFETY: the address is below 2^ADDRESS_BITS, for which the root has elements.
        let leaf = unsafe { (*root.add(number)).load(Acquire) };
        if !leaf.is_null() {
            for index in (lowest..=granule).rev() {
                // SAFETY: the mask keeps the index below LEAF_ENTRIES.
                let place = unsafe { leaf.add(index & (LEAF_ENTRIES - 1)) };
                // SAFETY: as above.
                let first = unsafe { (*place).load(Relaxed) };
                if word::begins(first) {
                    // SAFETY: as above.
                    return Some(unsafe { read(place, index * 16 + offset, first) });
                }
            }
        }
        granule = lowest.checked_sub(1)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shadow::LaneBits;
    use crate::shadow::{Owner, prepare, put, take};
    use std::alloc::{GlobalAlloc, Layout, System};
    use std::collections::BTreeMap;

    const GIB: usize = 1 << 30;

    fn owner(site: u32) -> Owner {
        Owner::new(site, LaneBits::of(3), 77)
    }

    fn found(address: usize) -> Option<Block> {
        Finder::new(64 * GIB).block_at(address)
    }

    struct Allocated(*mut u8, Layout);

    impl Allocated {
        fn new(bytes: usize) -> Self {
            let layout = Layout::from_size_align(bytes, 8).expect("a small block");
            // SAFETY: not of size 0.
            let block = Allocated(unsafe { System.alloc(layout) }, layout);
            assert!(put(block.start(), bytes, owner(bytes as u32)));
            block
        }

        fn start(&self) -> usize {
            self.0 as usize
        }
    }

    impl Drop for Allocated {
        fn drop(&mut self) {
            assert!(take(self.start()).is_some());
            // SAFETY: allocated here with this layout.
            unsafe { System.dealloc(self.0, self.1) };
        }
    }

    #[test]
    fn every_address_of_a_block_leads_to_it_and_its_neighbours_do_not() {
        assert!(prepare());
        let blocks: Vec<Allocated> = (1..200).map(Allocated::new).collect();
        for block in &blocks {
            let bytes = block.1.size();
            let whole = Block {
                start: block.start(),
                bytes,
                site: bytes as u32,
            };
            assert_eq!(block_from(block.start()), Some(whole));
            for offset in 0..bytes {
                assert_eq!(
                    found(block.start() + offset),
                    Some(whole),
                    "{offset} of {bytes}"
                );
            }
            assert_ne!(found(block.start() + bytes), Some(whole));
            assert_ne!(found(block.start() - 1), Some(whole));
        }
    }

    /// Reserves addresses that no allocator uses, so that tests have a heap of their own.
    fn heap_of_its_own(bytes: usize) -> usize {
        // SAFETY: an anonymous mapping touches no existing memory, and nothing is ever stored in
        // it.
        let place = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_NONE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        assert_ne!(place, libc::MAP_FAILED);
        place as usize
    }

    /// xorshift64*.
    fn random(state: &mut u64) -> usize {
        *state ^= *state >> 12;
        *state ^= *state << 25;
        *state ^= *state >> 27;
        (state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 24) as usize
    }

    /// Compares the map with a plain map of live blocks. Blocks are `step` bytes apart (16: glibc;
    /// 8: two blocks in a granule).
    fn agrees_with_a_plain_map(step: usize, seed: u64) {
        assert!(prepare());
        const SPAN: usize = 3 << 25;
        let heap = heap_of_its_own(SPAN);
        let (mut live, seed) = (BTreeMap::new(), &mut { seed });
        let containing = |live: &BTreeMap<usize, usize>, address| {
            let (start, bytes) = live.range(..=address).next_back()?;
            (address - start < *bytes).then_some((*start, *bytes))
        };
        for round in 0..30_000 {
            // Half of the blocks lie around the border of two leaves.
            let place = if round % 2 == 0 {
                heap + random(seed) % (SPAN - (1 << 16))
            } else {
                (heap | ((1 << 25) - 1)) + 1 - 4_096 + random(seed) % 8_192
            } / step
                * step;
            let bytes = match random(seed) % 8 {
                0 => 1 + random(seed) % 60_000,
                1..4 => 1 + random(seed) % 400,
                _ => 1 + random(seed) % 40,
            };
            let free = containing(&live, place).is_none()
                && live
                    .range(place..place + bytes.next_multiple_of(step))
                    .next()
                    .is_none()
                && live
                    .range(..place)
                    .next_back()
                    .is_none_or(|(start, bytes)| start + bytes.next_multiple_of(step) <= place);
            if free {
                assert!(put(place, bytes, owner(9)));
                live.insert(place, bytes);
            } else if let Some((start, _)) = containing(&live, place) {
                assert_eq!(take(start).map(|owner| owner.site()), Some(9));
                live.remove(&start);
            }
        }
        assert!(live.len() > 1_000, "{}", live.len());
        let mut finder = Finder::new(1 << 20);
        for _ in 0..40_000 {
            let near = live.range(heap + random(seed) % SPAN..).next();
            let address = match near {
                Some((start, bytes)) => start + random(seed) % (bytes + 64),
                None => heap + random(seed) % SPAN,
            };
            let expected = containing(&live, address);
            for finder in [&mut finder, &mut Finder::new(1 << 20)] {
                let block = finder.block_at(address);
                assert_eq!(block.map(|block| (block.start, block.bytes)), expected);
            }
        }
        for start in live.keys() {
            assert!(take(*start).is_some());
        }
        assert_eq!(Finder::new(SPAN).block_at(heap + SPAN - 1), None);
    }

    #[test]
    fn interior_addresses_agree_with_a_plain_map() {
        agrees_with_a_plain_map(16, 5);
    }

    #[test]
    fn interior_addresses_agree_with_a_plain_map_when_two_blocks_share_a_granule() {
        agrees_with_a_plain_map(8, 6);
    }

    #[test]
    fn blocks_at_odd_addresses_are_found_too() {
        assert!(prepare());
        let heap = heap_of_its_own(1 << 16);
        assert!(put(heap + 3, 50, owner(4)));
        assert_eq!(found(heap + 40).map(|block| block.bytes), Some(50));
        assert_eq!(found(heap + 53), None);
        assert_eq!(block_from(heap + 3).map(|block| block.bytes), Some(50));
        assert_eq!(block_from(heap + 4), None);
        assert!(take(heap + 3).is_some());
        assert_eq!(found(heap + 40), None);
    }

    #[test]
    fn blocks_beyond_two_gibibytes_keep_their_size() {
        assert!(prepare());
        let heap = heap_of_its_own(6 * GIB);
        for bytes in [GIB - 1, GIB, 2 * GIB + 5, 5 * GIB + 1] {
            assert!(put(heap, bytes, owner(8)));
            for address in [heap, heap + 40, heap + bytes / 2, heap + bytes - 1] {
                assert_eq!(found(address).map(|block| block.bytes), Some(bytes));
            }
            assert_eq!(found(heap + bytes), None);
            assert_eq!(take(heap).map(|owner| owner.site()), Some(8));
            assert_eq!(found(heap + 40), None);
        }
        // No word is left where the words of the blocks were.
        assert!(put(heap + 48, 5, owner(8)));
        assert_eq!(found(heap + 50).map(|block| block.bytes), Some(5));
        assert!(take(heap + 48).is_some());
    }

    #[test]
    fn what_was_found_once_is_remembered() {
        assert!(prepare());
        let heap = heap_of_its_own(GIB);
        assert!(put(heap, GIB, owner(8)));
        let mut finder = Finder::new(GIB);
        // Without memory of earlier searches, each search would read up to 256 MiB of the map.
        for index in 0..10_000 {
            let block = finder.block_at(heap + GIB - 1 - index * 4096);
            assert_eq!(block.map(|block| block.start), Some(heap));
        }
        assert!(take(heap).is_some());
        // A freed block is not found, nor an old one when another block lies there.
        assert_eq!(finder.block_at(heap + 4096), None);
        assert!(put(heap, GIB / 2, owner(8)));
        let mut finder = Finder::new(GIB);
        assert!(finder.block_at(heap + 4096).is_some());
        assert!(take(heap).is_some() && put(heap, 5_000, owner(8)));
        let block = finder.block_at(heap + 4096);
        assert_eq!(block.map(|block| block.bytes), Some(5_000));
        assert!(take(heap).is_some());
    }
}
