//! The shadow map: finds the owner of a block by its address, with two loads and without a lock or
//! a hash table.
//!
//! The map has one `u32` for each 16-byte granule of the heap's address range. The first granules
//! of a block hold its site and its size, and for blocks above 16 bytes also its lane and birth
//! number (see [`word`]). Some allocators put two blocks of up to 8 bytes into one granule
//! (mimalloc, jemalloc), so addresses with bit 3 set use a second map, the odd one. Addresses that
//! are not a multiple of 8 go to the side table.
//!
//! All accesses to the words are relaxed atomics: the target's own synchronization orders the
//! accesses to one block. A look-up never maps memory.
//!
//! The reasons for its choices are in `docs/src/decisions/shadow-map.md`.

mod search;
mod side;
mod word;

pub use search::{Block, Finder, block_from};
pub(crate) use word::{KNOWN_BITS, LaneBits, Owner};

use crate::sys;
use side::SideTable;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, Ordering::*};
use tracking_alloc_recording::Header;
use word::Kind;

/// The number of address bits that a leaf covers.
const LEAF_SPAN_BITS: u32 = 25;
const LEAF_ENTRIES: usize = 1 << (LEAF_SPAN_BITS - 4);
/// The number of address bits covered: user space of x86-64 (47) and of aarch64 (48).
const ADDRESS_BITS: u32 = if cfg!(target_arch = "aarch64") {
    48
} else {
    47
};
const ROOT_ENTRIES: usize = 1 << (ADDRESS_BITS - LEAF_SPAN_BITS);
/// Some machines use the top byte as a tag (TBI, MTE, LAM). The map ignores it.
const ADDRESS_MASK: usize = (1 << 56) - 1;

/// Entries of a leaf beyond its span, for the further words of a block in the last granule.
const SPARE_ENTRIES: usize = 3;

type Leaf = AtomicPtr<AtomicU32>;

/// The roots of the even map and the odd map.
static ROOTS: [AtomicPtr<Leaf>; 2] = [const { AtomicPtr::new(std::ptr::null_mut()) }; 2];
static SIDE: SideTable = SideTable::new();

/// A leaf's entries are followed by one byte for each page of entries, which tells if the page was
/// written.
const PAGE_ENTRIES: usize = sys::PAGE / size_of::<AtomicU32>();
const LEAF_PAGES: usize = LEAF_ENTRIES / PAGE_ENTRIES;
const WRITTEN_OFFSET: usize = (LEAF_ENTRIES + SPARE_ENTRIES) * size_of::<AtomicU32>();
const LEAF_BYTES: usize = WRITTEN_OFFSET + LEAF_PAGES;

/// The byte of a page that was made resident before anything was written to it.
const AHEAD: u8 = 2;

/// Prepares the map. Returns `false` if the system refuses the memory.
pub(crate) fn prepare() -> bool {
    for root in &ROOTS {
        if root.load(Acquire).is_null() {
            let Some(place) = sys::map_kept(ROOT_ENTRIES * size_of::<Leaf>()) else {
                return false;
            };
            root.store(place.as_ptr().cast(), Release);
        }
    }
    true
}

/// Writes into the header what a reader of this process's memory needs to find the blocks.
pub(crate) fn describe(header: &Header) {
    for (root, place) in ROOTS.iter().zip(&header.shadow_roots) {
        place.store(root.load(Acquire).expose_provenance() as u64, Relaxed);
    }
    header
        .shadow_written_offset
        .store(WRITTEN_OFFSET as u64, Relaxed);
    header.shadow_address_bits.store(ADDRESS_BITS, Relaxed);
    header.shadow_leaf_bits.store(LEAF_SPAN_BITS, Relaxed);
    let (first, stride, count) = SIDE.shards();
    header.side_table.store(first as u64, Relaxed);
    header.side_shard_bytes.store(stride as u32, Relaxed);
    header.side_shards.store(count as u32, Relaxed);
}

/// Forgets every block, for a forked child that begins a recording of its own.
///
/// # Safety
/// The requirements of [`SideTable::reset`] hold.
pub(crate) unsafe fn forget_all() {
    // The old roots stay mapped, because another thread may still read them.
    for root in &ROOTS {
        root.store(std::ptr::null_mut(), Release);
    }
    // SAFETY: guaranteed by the caller.
    unsafe { SIDE.reset() };
}

/// Returns the root of the map that contains an address.
#[inline(always)]
fn root_of(address: usize) -> &'static AtomicPtr<Leaf> {
    &ROOTS[address >> 3 & 1]
}

/// Returns `true` if one of the maps covers an address as it is: it has no tag and is a multiple of
/// 8.
#[inline(always)]
fn in_map(address: usize) -> bool {
    address & !((1 << ADDRESS_BITS) - 8) == 0
}

/// Returns the leaf of an address covered by the map, if the leaf exists.
#[inline(always)]
fn leaf_of(address: usize) -> Option<*const AtomicU32> {
    let root = root_of(address).load(Relaxed);
    if root.is_null() {
        return None;
    }
    // SAFETY: the root has an element for every address in the map (`in_map`).
    let leaf = unsafe { (*root.add(address >> LEAF_SPAN_BITS)).load(Acquire) };
    (!leaf.is_null()).then_some(leaf.cast_const())
}

/// Returns the index of an address's entry in its leaf.
#[inline(always)]
fn index_of(address: usize) -> usize {
    address >> 4 & (LEAF_ENTRIES - 1)
}

/// Returns the entry of an address covered by the map, if its leaf exists.
#[inline(always)]
fn entry(address: usize) -> Option<*const AtomicU32> {
    // SAFETY: a leaf has LEAF_ENTRIES entries and the spare ones, and the mask keeps the index
    // below LEAF_ENTRIES.
    leaf_of(address).map(|leaf| unsafe { leaf.add(index_of(address)) })
}

/// Returns the flag that is set once the page of an entry was written.
#[inline(always)]
fn written(leaf: *const AtomicU32, index: usize) -> &'static AtomicU8 {
    // SAFETY: a leaf's entries are followed by one byte for each page of entries.
    unsafe {
        &*leaf
            .cast::<AtomicU8>()
            .add(WRITTEN_OFFSET + index / PAGE_ENTRIES)
    }
}

/// Counts a page of a leaf when it is first written.
#[cold]
#[inline(never)]
fn count_page(leaf: *const AtomicU32, index: usize) {
    let bytes = sys::page_bytes();
    let entries = bytes / size_of::<AtomicU32>();
    // NOTE: a page of this system may span several of ours. Then the byte of the first of them
    // counts.
    let page = index / entries;
    if written(leaf, page * entries).swap(1, Relaxed) == 0 {
        sys::count_own(bytes);
        populate_behind(leaf, page, bytes);
    }
    written(leaf, index).store(1, Relaxed);
}

/// Maximum number of bytes made resident at once.
const MOST_POPULATED: usize = 128 << 10;

/// If a heap grows upward page by page, makes the next pages resident in one call: half as many as
/// were written in a row before this one.
///
/// PERF: a page fault takes as long as hundreds of events.
fn populate_behind(leaf: *const AtomicU32, page: usize, bytes: usize) {
    let entries = bytes / size_of::<AtomicU32>();
    let is_written = |page: usize| written(leaf, page * entries).load(Relaxed) != 0;
    let before = (0..page).rev().take(2 * MOST_POPULATED / bytes);
    let wanted = before.take_while(|page| is_written(*page)).count() / 2;
    let behind = page + 1..LEAF_ENTRIES / entries;
    let pages = behind
        .take(wanted)
        .take_while(|page| !is_written(*page))
        .count();
    // SAFETY: the pages lie in the leaf.
    let start = unsafe { leaf.add((page + 1) * entries) };
    if pages == 0 || !sys::populate(start.addr(), pages * bytes) {
        return;
    }
    for page in page + 1..=page + pages {
        if written(leaf, page * entries).swap(AHEAD, Relaxed) == 0 {
            sys::count_own(bytes);
        }
    }
}

/// Maps the leaf of an address.
#[cold]
#[inline(never)]
fn map_leaf(address: usize) -> Option<*const AtomicU32> {
    let _errno = sys::Errno::keep();
    let root = root_of(address).load(Acquire);
    if root.is_null() {
        return None;
    }
    let place = sys::map_kept(LEAF_BYTES)?;
    // SAFETY: as in `entry`.
    let slot = unsafe { &*root.add(address >> LEAF_SPAN_BITS) };
    if slot
        .compare_exchange(std::ptr::null_mut(), place.as_ptr().cast(), AcqRel, Acquire)
        .is_err()
    {
        sys::give_back(place);
    } else {
        // Count the leaf's last page, which holds the written flags, and the root's page if it is
        // new.
        let elements = sys::page_bytes() / size_of::<Leaf>();
        let first = (address >> LEAF_SPAN_BITS) / elements * elements;
        // SAFETY: a root is a whole number of pages.
        let leaves = (first..first + elements)
            .filter(|index| unsafe { !(*root.add(*index)).load(Relaxed).is_null() })
            .take(2);
        sys::count_own(sys::PAGE * if leaves.count() == 1 { 2 } else { 1 });
    }
    leaf_of(address)
}

/// Returns `true` if a range of addresses contains blocks or ever contained one.
pub(crate) fn holds_blocks(start: usize, end: usize) -> bool {
    let page_span = PAGE_ENTRIES << 4;
    let end = end.min(1 << ADDRESS_BITS);
    let mut at = start & !(page_span - 1);
    while at < end {
        let leaves = [at, at | 8].map(leaf_of);
        if leaves == [None, None] {
            // No block was ever entered in this leaf's span.
            at = (at | ((1 << LEAF_SPAN_BITS) - 1)) + 1;
            continue;
        }
        let mut leaves = leaves.into_iter().flatten();
        let (first, past) = (at.max(start), (at + page_span).min(end));
        // Two mappings may share the span at their border. Then only the blocks that are there now
        // tell to which of them it belongs.
        let is_shared = past - first < page_span;
        let entries = index_of(first)..index_of(first) + (past - first).div_ceil(16);
        if leaves.any(|leaf| {
            is_used(leaf, index_of(at)) && (!is_shared || has_block(leaf, entries.clone()))
        }) {
            return true;
        }
        at += page_span;
    }
    false
}

/// Returns `true` if a block was ever entered in the page of an entry. A page that was made
/// resident ahead counts only if it contains a block now.
fn is_used(leaf: *const AtomicU32, index: usize) -> bool {
    match written(leaf, index).load(Relaxed) {
        0 => false,
        AHEAD => has_block(leaf, index..index + PAGE_ENTRIES),
        _ => true,
    }
}

/// Returns `true` if there is a block at one of the entries, which must lie in one page.
fn has_block(leaf: *const AtomicU32, mut entries: std::ops::Range<usize>) -> bool {
    // SAFETY: as in `entry`: the page of entries lies in the leaf.
    entries.any(|index| unsafe { (*leaf.add(index)).load(Relaxed) } != 0)
}

/// The place of a block's words.
#[derive(Clone, Copy)]
pub(crate) struct Place(*const AtomicU32);

/// Returns the place for a block that is about to be entered, if nothing must be prepared first.
/// This is the common case.
#[inline(always)]
pub(crate) fn place(address: usize) -> Option<Place> {
    if !in_map(address) {
        return None;
    }
    let (leaf, index) = (leaf_of(address)?, index_of(address));
    // SAFETY: as in `entry`.
    (written(leaf, index).load(Relaxed) != 0).then(|| Place(unsafe { leaf.add(index) }))
}

impl Place {
    /// Enters a block at this place. The first word is stored last: a copy of the memory made at
    /// any moment contains either the whole block or a size of 0.
    #[inline(always)]
    pub(crate) fn put(self, bytes: usize, owner: Owner) {
        let Place(first) = self;
        // SAFETY: `first` lies in a leaf. The entries after it also do, thanks to the spare ones.
        unsafe {
            // PERF: one chain of branches on the size. In each branch, the words are a few shifts.
            if bytes > word::MIDDLE {
                let (third, fourth) = word::third(bytes);
                (*first.add(1)).store(word::second_of_long(owner), Relaxed);
                (*first.add(2)).store(third, Relaxed);
                if let Some(fourth) = fourth {
                    (*first.add(3)).store(fourth, Relaxed);
                }
                (*first).store(word::first_of_larger(Kind::Long, owner), Release);
            } else if bytes > word::SMALL {
                (*first.add(1)).store(word::second_of_middle(bytes, owner), Relaxed);
                (*first).store(word::first_of_larger(Kind::Middle, owner), Release);
            } else {
                (*first).store(word::first_of_small(bytes, owner), Relaxed);
            }
        }
    }
}

/// Enters a block. Returns `false` if there is no memory for it.
pub(crate) fn put(address: usize, bytes: usize, owner: Owner) -> bool {
    if let Some(place) = place(address) {
        place.put(bytes, owner);
        return true;
    }
    let plain = address & ADDRESS_MASK;
    if !in_map(plain) {
        return SIDE.put(plain, bytes, owner);
    }
    let Some(leaf) = leaf_of(plain).or_else(|| map_leaf(plain)) else {
        return false;
    };
    let index = index_of(plain);
    if written(leaf, index).load(Relaxed) == 0 {
        count_page(leaf, index);
    }
    // SAFETY: as in `entry`.
    Place(unsafe { leaf.add(index) }).put(bytes, owner);
    true
}

/// Notes that an address belongs to a block, without entering it. Then its mapping counts as one
/// that holds blocks.
pub(crate) fn note(address: usize) {
    let plain = address & ADDRESS_MASK;
    if in_map(plain)
        && let Some(leaf) = leaf_of(plain).or_else(|| map_leaf(plain))
    {
        let written = written(leaf, index_of(plain));
        if written.load(Relaxed) == 0 {
            written.store(1, Relaxed);
        }
    }
}

/// A block found in the map.
#[derive(Clone, Copy)]
pub(crate) struct Known {
    place: Place,
    first: u32,
}

/// Returns the block that begins at an address, if it is in the map.
#[inline(always)]
pub(crate) fn known(address: usize) -> Option<Known> {
    if !in_map(address) {
        return None;
    }
    let place = entry(address)?;
    // SAFETY: as in `entry`.
    let first = unsafe { (*place).load(Relaxed) };
    let place = Place(place);
    word::begins(first).then_some(Known { place, first })
}

impl Known {
    /// Returns the site that allocated the block.
    #[inline(always)]
    pub(crate) fn site(self) -> u32 {
        word::site(self.first)
    }

    /// Returns the size.
    #[inline(always)]
    pub(crate) fn bytes(self) -> usize {
        word::bytes(self.first, |index| {
            // SAFETY: as in `Place::put`.
            unsafe { (*self.place.0.add(index)).load(Relaxed) }
        })
    }

    /// Returns the owner, and leaves the block in the map.
    #[inline(always)]
    pub(crate) fn owner(self) -> Option<Owner> {
        if word::kind(self.first) == Kind::Small {
            return word::owner(self.first, 0);
        }
        // SAFETY: as in `Place::put`.
        let second = unsafe { (*self.place.0.add(1)).load(Relaxed) };
        word::owner(self.first, second)
    }

    /// Removes the block. Clears exactly the words that were entered, whatever size its owner
    /// claims now.
    #[inline(always)]
    pub(crate) fn take(self) -> Option<Owner> {
        let Known {
            place: Place(place),
            first,
        } = self;
        // SAFETY: as in `Place::put`.
        unsafe {
            (*place).store(0, Relaxed);
            let kind = word::kind(first);
            if kind == Kind::Small {
                return word::owner(first, 0);
            }
            let behind = &*place.add(1);
            let second = behind.load(Relaxed);
            // NOTE: after the first word, so that no copy of the memory has a block with half its
            // words.
            behind.store(0, Release);
            if kind == Kind::Long {
                let third = &*place.add(2);
                if word::goes_on(third.load(Relaxed)) {
                    (*place.add(3)).store(0, Relaxed);
                }
                third.store(0, Relaxed);
            }
            word::owner(first, second)
        }
    }
}

/// Removes a block, if it is known.
#[inline(always)]
pub(crate) fn take(address: usize) -> Option<Owner> {
    if !in_map(address) {
        return take_elsewhere(address);
    }
    known(address)?.take()
}

/// Returns the size of a block that [`known`] does not find: its address has a tag, or it is in the
/// side table. Otherwise returns 0. Never waits for a lock.
#[cold]
#[inline(never)]
pub(crate) fn bytes_elsewhere(address: usize) -> usize {
    let plain = address & ADDRESS_MASK;
    if in_map(plain) {
        known(plain).map_or(0, Known::bytes)
    } else {
        SIDE.bytes_of(plain).unwrap_or(0)
    }
}

/// Removes a block whose address has a tag or is in the side table.
#[cold]
#[inline(never)]
fn take_elsewhere(address: usize) -> Option<Owner> {
    let plain = address & ADDRESS_MASK;
    if in_map(plain) {
        take(plain)
    } else {
        SIDE.take(plain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_border_inside_a_span_tells_which_side_holds_the_block() {
        assert!(prepare());
        // No memory of this process. A span of entries has 16 KiB.
        let span = 0x1234_5678_8000;
        let block = span + 0x2010;
        assert!(put(block, 100, Owner::new(3, LaneBits::of(1), 1)));
        let holds = |from: usize, to: usize| holds_blocks(span + from, span + to);
        assert!(holds(0, 0x4000) && holds(0x2000, 0x3000) && holds(0, 0x10_0000));
        assert!(!holds(0, 0x2000) && !holds(0x3000, 0x5000));
        assert!(!holds_blocks(span - 0x4000, span));
        assert!(take(block).is_some());
        assert!(holds(0, 0x4000), "a span that ever held a block");
        assert!(!holds(0x2000, 0x3000));
    }
}
