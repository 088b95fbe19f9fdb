//! The shadow map: from a block's address to who allocated it, in two loads, without a lock or a hash table.
//!
//! One `u32` for each 16-byte granule of the heap's span; a block's first granules hold its site, its size, and for those
//! above 16 bytes the lane and birth number (see [`word`]). Allocators that put two blocks of up to 8 bytes into one
//! granule (mimalloc, jemalloc) use the odd map for addresses with bit 3 set; addresses that are no multiple of 8 go to
//! the side table.
//!
//! Every word is an atomic accessed relaxed: the target's own synchronisation orders the accesses to one block.
//! Looking up never maps memory.

#[cfg(any(feature = "serde", test))]
mod search;
mod side;
mod word;

#[cfg(any(feature = "serde", test))]
pub(crate) use search::{Block, Finder, block_from};
pub(crate) use word::Owner;

use crate::sys;
use side::SideTable;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::*};
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

static EVEN: AtomicPtr<Leaf> = AtomicPtr::new(std::ptr::null_mut());
static ODD: AtomicPtr<Leaf> = AtomicPtr::new(std::ptr::null_mut());
static SIDE: SideTable = SideTable::new();

/// Leaves mapped so far, for [`own_bytes`].
static LEAVES: [AtomicU64; 1024] = [const { AtomicU64::new(0) }; 1024];
static LEAVES_LEN: AtomicU32 = AtomicU32::new(0);

/// Makes the map ready. False when the system refuses the memory.
pub(crate) fn prepare() -> bool {
    for root in [&EVEN, &ODD] {
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
pub(crate) fn forget_all() {
    // The old roots stay mapped: another thread may still be reading them.
    EVEN.store(std::ptr::null_mut(), Release);
    ODD.store(std::ptr::null_mut(), Release);
    LEAVES_LEN.store(0, Relaxed);
    SIDE.clear();
}

#[inline(always)]
fn in_map(address: usize) -> bool {
    address & 7 == 0 && address >> ADDRESS_BITS == 0
}

/// The entry of an address that lies in the map, if its leaf exists.
#[inline(always)]
fn entry(address: usize) -> Option<*const AtomicU32> {
    let root = if address & 8 == 0 { &EVEN } else { &ODD }.load(Relaxed);
    if root.is_null() {
        return None;
    }
    // SAFETY: the root has an element for every address in the map (`in_map`).
    let leaf = unsafe { (*root.add(address >> LEAF_SPAN_BITS)).load(Acquire) };
    if leaf.is_null() {
        return None;
    }
    // SAFETY: a leaf has LEAF_ENTRIES entries and the spare ones, and the index is masked below that.
    Some(unsafe { leaf.add(address >> 4 & (LEAF_ENTRIES - 1)) })
}

/// Maps the leaf of an address.
#[cold]
#[inline(never)]
fn map_leaf(address: usize) -> Option<*const AtomicU32> {
    let errno = sys::Errno::keep();
    let root = if address & 8 == 0 { &EVEN } else { &ODD }.load(Acquire);
    if root.is_null() {
        return None;
    }
    let bytes = (LEAF_ENTRIES + SPARE_ENTRIES) * size_of::<AtomicU32>();
    let place = sys::map_private(bytes)?;
    // SAFETY: as in `entry`.
    let slot = unsafe { &*root.add(address >> LEAF_SPAN_BITS) };
    if slot
        .compare_exchange(std::ptr::null_mut(), place.as_ptr().cast(), AcqRel, Acquire)
        .is_err()
    {
        // SAFETY: this mapping was just made here and nobody has seen it.
        unsafe { libc::munmap(place.as_ptr().cast(), bytes) };
    } else {
        let index = LEAVES_LEN.fetch_add(1, Relaxed) as usize;
        if let Some(known) = LEAVES.get(index) {
            known.store(place.as_ptr() as u64, Relaxed);
        }
    }
    drop(errno);
    entry(address)
}

/// Enters a block. False when there is no memory to remember it in.
#[inline(always)]
pub(crate) fn put(address: usize, bytes: usize, owner: Owner) -> bool {
    let address = address & ADDRESS_MASK;
    if !in_map(address) {
        return SIDE.put(address, bytes, owner);
    }
    let Some(first) = entry(address).or_else(|| map_leaf(address)) else {
        return false;
    };
    // SAFETY: `first` lies in a leaf; so do the entries behind it, thanks to the spare ones.
    unsafe {
        // PERF: one chain of questions about the size, in which the words of each kind are a few shifts.
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
    true
}

/// Takes a block out, if it is known: exactly the words it was entered with, whatever size its owner claims now.
#[inline(always)]
pub(crate) fn take(address: usize) -> Option<Owner> {
    let address = address & ADDRESS_MASK;
    if !in_map(address) {
        return SIDE.take(address);
    }
    let place = entry(address)?;
    // SAFETY: as in `put`.
    unsafe {
        let first = (*place).load(Relaxed);
        if !word::begins(first) {
            return None;
        }
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

/// Resident bytes of the shadow map.
pub(crate) fn own_bytes() -> u64 {
    let known = (LEAVES_LEN.load(Relaxed) as usize).min(LEAVES.len());
    let bytes = LEAF_ENTRIES * size_of::<AtomicU32>();
    // SAFETY: every listed leaf is a mapping of at least `bytes` that is never unmapped.
    LEAVES[..known]
        .iter()
        .map(|leaf| unsafe { sys::resident_bytes(leaf.load(Relaxed) as usize, bytes) })
        .sum::<u64>()
        + SIDE.own_bytes()
}
