//! The shadow map: from a block's address to who allocated it, in two loads, without a lock or a hash table.
//!
//! One `u32` for each 16-byte granule of the heap's span. A block's first granule holds its site and the low bits of
//! its birth number; its second, when it has one, the lane and the rest. Allocators that put two blocks of up to 8
//! bytes into one granule (mimalloc, jemalloc) use the odd map for addresses with bit 3 set; addresses that are no
//! multiple of 8 go to the side table.
//!
//! Every word is an atomic accessed relaxed: the target's own synchronisation orders the accesses to one block.
//! Looking up never maps memory.

mod side;

use crate::sys;
use side::SideTable;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::*};

/// Bits of the birth number kept beside the site.
const BIRTH_LOW_BITS: u32 = 12;
/// Bits of the birth number kept in the second granule, below the lane.
const BIRTH_HIGH_BITS: u32 = 20;

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

/// Blocks longer than this own a second granule in their map: no other block of the map can begin there.
const ONE_GRANULE: usize = 16;

type Leaf = AtomicPtr<AtomicU32>;

static EVEN: AtomicPtr<Leaf> = AtomicPtr::new(std::ptr::null_mut());
static ODD: AtomicPtr<Leaf> = AtomicPtr::new(std::ptr::null_mut());
static SIDE: SideTable = SideTable::new();

/// Leaves mapped so far, for [`own_bytes`].
static LEAVES: [AtomicU64; 1024] = [const { AtomicU64::new(0) }; 1024];
static LEAVES_LEN: AtomicU32 = AtomicU32::new(0);

/// What the map knows of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    first: u32,
    second: u32,
}

impl Owner {
    /// `site` must be below 2^20 and not 0, `lane` below 2^12 - 1.
    #[inline(always)]
    pub(crate) fn new(site: u32, lane: u32, birth: u32) -> Self {
        Owner {
            first: site << BIRTH_LOW_BITS | birth & ((1 << BIRTH_LOW_BITS) - 1),
            second: (lane + 1) << BIRTH_HIGH_BITS | birth >> BIRTH_LOW_BITS,
        }
    }

    /// The site that allocated it.
    #[inline(always)]
    pub(crate) fn site(self) -> u32 {
        self.first >> BIRTH_LOW_BITS
    }

    /// The lane and birth number, for blocks that had room to keep them.
    #[inline(always)]
    pub(crate) fn birth(self) -> Option<(u32, u32)> {
        let lane = (self.second >> BIRTH_HIGH_BITS).checked_sub(1)?;
        let high = self.second & ((1 << BIRTH_HIGH_BITS) - 1);
        Some((
            lane,
            high << BIRTH_LOW_BITS | self.first & ((1 << BIRTH_LOW_BITS) - 1),
        ))
    }

    /// The same block at another site: birth and lane are kept.
    #[inline(always)]
    pub(crate) fn moved_to(self, site: u32) -> Self {
        Owner {
            first: site << BIRTH_LOW_BITS | self.first & ((1 << BIRTH_LOW_BITS) - 1),
            second: self.second,
        }
    }
}

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
    // SAFETY: a leaf has LEAF_ENTRIES entries and one more, and the index is masked below that.
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
    // One entry more than the span needs: the second granule of a block that begins in the last one.
    let bytes = (LEAF_ENTRIES + 1) * size_of::<AtomicU32>();
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
        return SIDE.put(address, owner);
    }
    let Some(first) = entry(address).or_else(|| map_leaf(address)) else {
        return false;
    };
    // SAFETY: `first` lies in a leaf; so does the entry behind it, thanks to the spare one.
    unsafe {
        (*first).store(owner.first, Relaxed);
        if bytes > ONE_GRANULE {
            (*first.add(1)).store(owner.second, Relaxed);
        }
    }
    true
}

/// Takes a block out, if it is known. `bytes` is the size it was entered with.
#[inline(always)]
pub(crate) fn take(address: usize, bytes: usize) -> Option<Owner> {
    let address = address & ADDRESS_MASK;
    if !in_map(address) {
        return SIDE.take(address);
    }
    let place = entry(address)?;
    // SAFETY: as in `put`.
    unsafe {
        let first = (*place).load(Relaxed);
        if first == 0 {
            return None;
        }
        (*place).store(0, Relaxed);
        let mut second = 0;
        if bytes > ONE_GRANULE {
            let behind = &*place.add(1);
            second = behind.load(Relaxed);
            behind.store(0, Relaxed);
        }
        Some(Owner { first, second })
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
