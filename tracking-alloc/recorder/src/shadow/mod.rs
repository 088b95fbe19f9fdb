//! The shadow map: from a block's address to who allocated it, in two loads, without a lock or a
//! hash table.
//!
//! One `u32` for each 16-byte granule of the heap's span; a block's first granules hold its site,
//! its size, and for those above 16 bytes the lane and birth number (see [`word`]). Allocators that
//! put two blocks of up to 8 bytes into one granule (mimalloc, jemalloc) use the odd map for
//! addresses with bit 3 set; addresses that are no multiple of 8 go to the side table.
//!
//! Every word is an atomic accessed relaxed: the target's own synchronisation orders the accesses
//! to one block. Looking up never maps memory.

mod search;
mod side;
mod word;

pub(crate) use search::bytes_of;
pub use search::{Block, Finder, block_from};
pub(crate) use word::{KNOWN_BITS, LaneBits, Owner};

use crate::sys;
use side::SideTable;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, Ordering::*};
use word::Kind;

/// A leaf covers this many bytes of heap.
const LEAF_SPAN_BITS: u32 = 25;
const LEAF_ENTRIES: usize = 1 << (LEAF_SPAN_BITS - 4);
/// Address bits covered: user space of x86-64 (47) and of aarch64 (48).
const ADDRESS_BITS: u32 = if cfg!(target_arch = "aarch64") {
    48
} else {
    47
};
const ROOT_ENTRIES: usize = 1 << (ADDRESS_BITS - LEAF_SPAN_BITS);
/// The top byte is a tag on some machines (TBI, MTE, LAM): blocks are known without it.
const ADDRESS_MASK: usize = (1 << 56) - 1;

/// Entries of a leaf beyond its span: the further words of a block that begins in the last granule.
const SPARE_ENTRIES: usize = 3;

type Leaf = AtomicPtr<AtomicU32>;

/// The even map and the odd one.
static ROOTS: [AtomicPtr<Leaf>; 2] = [const { AtomicPtr::new(std::ptr::null_mut()) }; 2];
static SIDE: SideTable = SideTable::new();

/// Entries of a page, and a byte for each page of a leaf, behind its entries: whether the page was
/// written.
const PAGE_ENTRIES: usize = sys::PAGE / size_of::<AtomicU32>();
const LEAF_PAGES: usize = LEAF_ENTRIES / PAGE_ENTRIES;
const WRITTEN_OFFSET: usize = (LEAF_ENTRIES + SPARE_ENTRIES) * size_of::<AtomicU32>();
const LEAF_BYTES: usize = WRITTEN_OFFSET + LEAF_PAGES;

/// Stands for a page that was made resident before anything was written to it.
const AHEAD: u8 = 2;

/// Makes the map ready. Returns `false` if the system refuses the memory.
pub(crate) fn prepare() -> bool {
    for root in &ROOTS {
        if root.load(Acquire).is_null() {
            let Some(place) = sys::map_private(ROOT_ENTRIES * size_of::<Leaf>()) else {
                return false;
            };
            root.store(place.as_ptr().cast(), Release);
        }
    }
    true
}

/// Forgets every block: for a forked child that begins a recording of its own.
///
/// # Safety
/// As for [`SideTable::reset`].
pub(crate) unsafe fn forget_all() {
    // The old roots stay mapped: another thread may still be reading them.
    for root in &ROOTS {
        root.store(std::ptr::null_mut(), Release);
    }
    // SAFETY: the caller's promise.
    unsafe { SIDE.reset() };
}

/// The root of the map that has an address.
#[inline(always)]
fn root_of(address: usize) -> &'static AtomicPtr<Leaf> {
    &ROOTS[address >> 3 & 1]
}

/// Returns `true` if an address lies in one of the maps as it is: no tag above it, and a multiple
/// of 8.
#[inline(always)]
fn in_map(address: usize) -> bool {
    address & !((1 << ADDRESS_BITS) - 8) == 0
}

/// The leaf of an address that lies in the map, if it exists.
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

/// The entry of an address that lies in the map, if its leaf exists.
#[inline(always)]
fn entry(address: usize) -> Option<*const AtomicU32> {
    // SAFETY: a leaf has LEAF_ENTRIES entries and the spare ones, and the index is masked below
    // that.
    leaf_of(address).map(|leaf| unsafe { leaf.add(index_of(address)) })
}

/// Returns the flag that is set once the page of an entry was written.
#[inline(always)]
fn written(leaf: *const AtomicU32, index: usize) -> &'static AtomicU8 {
    // SAFETY: behind its entries a leaf has a byte for each page of them.
    unsafe {
        &*leaf
            .cast::<AtomicU8>()
            .add(WRITTEN_OFFSET + index / PAGE_ENTRIES)
    }
}

/// Counts a page of a leaf that is written for the first time.
#[cold]
#[inline(never)]
fn count_page(leaf: *const AtomicU32, index: usize) {
    let bytes = sys::page_bytes();
    let entries = bytes / size_of::<AtomicU32>();
    // NOTE: a page of this system may be several of ours: then its first byte speaks for it.
    let page = index / entries;
    if written(leaf, page * entries).swap(1, Relaxed) == 0 {
        sys::count_own(bytes);
        populate_behind(leaf, page, bytes);
    }
    written(leaf, index).store(1, Relaxed);
}

/// Bytes that are made resident at once, at most.
const MOST_POPULATED: usize = 128 << 10;

/// Where a heap grows upward page by page, makes the pages behind this one resident in one call:
/// half as many as were written in a row before it.
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
    let place = sys::map_private(LEAF_BYTES)?;
    // SAFETY: as in `entry`.
    let slot = unsafe { &*root.add(address >> LEAF_SPAN_BITS) };
    if slot
        .compare_exchange(std::ptr::null_mut(), place.as_ptr().cast(), AcqRel, Acquire)
        .is_err()
    {
        // SAFETY: this mapping was just made here and nobody has seen it.
        unsafe { libc::munmap(place.as_ptr().cast(), LEAF_BYTES) };
    } else {
        // The page of its last bytes, which say what was written; and that of the root.
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

/// Returns `true` if a range of addresses holds blocks, or ever held some.
pub(crate) fn holds_blocks(start: usize, end: usize) -> bool {
    let page_span = PAGE_ENTRIES << 4;
    let end = end.min(1 << ADDRESS_BITS);
    let mut at = start & !(page_span - 1);
    while at < end {
        let leaves = [at, at | 8].map(leaf_of);
        if leaves == [None, None] {
            // Nothing of this leaf's span was ever entered.
            at = (at | ((1 << LEAF_SPAN_BITS) - 1)) + 1;
            continue;
        }
        let mut leaves = leaves.into_iter().flatten();
        if leaves.any(|leaf| is_used(leaf, index_of(at))) {
            return true;
        }
        at += page_span;
    }
    false
}

/// Returns `true` if a block was ever entered in the page of an entry. A page that was made
/// resident ahead counts if it has a block now.
fn is_used(leaf: *const AtomicU32, index: usize) -> bool {
    match written(leaf, index).load(Relaxed) {
        0 => false,
        AHEAD => {
            let entries = index..index + PAGE_ENTRIES;
            // SAFETY: as in `entry`: a page of entries that lies in the leaf.
            entries
                .into_iter()
                .any(|index| unsafe { (*leaf.add(index)).load(Relaxed) } != 0)
        }
        _ => true,
    }
}

/// The place of the words of a block.
#[derive(Clone, Copy)]
pub(crate) struct Place(*const AtomicU32);

/// The place of a block that is about to be entered, if nothing needs to be prepared for it:
/// mostly.
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
    /// Enters a block there.
    #[inline(always)]
    pub(crate) fn put(self, bytes: usize, owner: Owner) {
        let Place(first) = self;
        // SAFETY: `first` lies in a leaf; so do the entries behind it, thanks to the spare ones.
        unsafe {
            // PERF: one chain of questions about the size, in which the words of each kind are a
            // few shifts.
            if bytes > word::MIDDLE {
                let (third, fourth) = word::third(bytes);
                (*first).store(word::first_of_larger(Kind::Long, owner), Relaxed);
                (*first.add(1)).store(word::second_of_long(owner), Relaxed);
                (*first.add(2)).store(third, Relaxed);
                if let Some(fourth) = fourth {
                    (*first.add(3)).store(fourth, Relaxed);
                }
            } else if bytes > word::SMALL {
                (*first).store(word::first_of_larger(Kind::Middle, owner), Relaxed);
                (*first.add(1)).store(word::second_of_middle(bytes, owner), Relaxed);
            } else {
                (*first).store(word::first_of_small(bytes, owner), Relaxed);
            }
        }
    }
}

/// Enters a block. Returns `false` if there is no memory to remember it in.
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

/// A block that the map has.
#[derive(Clone, Copy)]
pub(crate) struct Known {
    place: Place,
    first: u32,
}

/// The block that begins at an address, if the map has it.
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
    /// The site that allocated it.
    #[inline(always)]
    pub(crate) fn site(self) -> u32 {
        word::site(self.first)
    }

    /// Takes it out: exactly the words it was entered with, whatever size its owner claims now.
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
            behind.store(0, Relaxed);
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

/// Takes a block out, if it is known.
#[inline(always)]
pub(crate) fn take(address: usize) -> Option<Owner> {
    if !in_map(address) {
        return take_elsewhere(address);
    }
    known(address)?.take()
}

/// The same for an address with a tag, or one that the side table has.
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
