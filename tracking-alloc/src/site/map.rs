//! Hash maps in mapped memory: sites (looked up without a lock), frames and stacks (under the write lock).

use crate::sys::Bump;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::*};

/// Spreads a key over the table.
fn spread(key: u64) -> usize {
    (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20) as usize
}

/// A slot that readers may see at any time: the number is published after the key.
#[repr(C)]
struct SiteSlot {
    key: AtomicU64,
    site: AtomicU32,
}

#[repr(C)]
struct SiteTable {
    slots: *const SiteSlot,
    mask: usize,
}

/// The present table. A grown one replaces it; the old stays mapped for readers still inside.
static SITES: AtomicPtr<SiteTable> = AtomicPtr::new(null_mut());
static SITES_USED: AtomicU32 = AtomicU32::new(0);

const FIRST_SLOTS: usize = 1024;

/// The site of a key. Without a lock: a site just being added may not be found, and is then looked for under the lock.
pub(super) fn find_site(key: u64) -> Option<u32> {
    // SAFETY: null or a table, which is never unmapped.
    let table = unsafe { SITES.load(Acquire).as_ref() }?;
    let mut index = spread(key) & table.mask;
    loop {
        // SAFETY: the index is masked; the table is never full, so the walk ends.
        let slot = unsafe { &*table.slots.add(index) };
        let site = slot.site.load(Acquire);
        if site == 0 {
            return None;
        }
        if slot.key.load(Acquire) == key {
            // The slot may have been emptied and filled in between: then the key is not that of the site.
            return (slot.site.load(Relaxed) == site).then_some(site);
        }
        index = (index + 1) & table.mask;
    }
}

/// Makes room for one more site. Under the write lock.
pub(super) fn has_room(bump: &mut Bump) -> bool {
    // SAFETY: as in `find_site`.
    let table = unsafe { SITES.load(Acquire).as_ref() };
    let used = SITES_USED.load(Relaxed) as usize;
    match table {
        Some(table) if (used + 1) * 2 <= table.mask => true,
        _ => grow(bump, table),
    }
}

fn grow(bump: &mut Bump, old: Option<&SiteTable>) -> bool {
    let slots = old.map_or(FIRST_SLOTS, |table| (table.mask + 1) * 2);
    let (Some(place), Some(memory)) = (bump.take::<SiteTable>(1), bump.take::<SiteSlot>(slots))
    else {
        return false;
    };
    let table = SiteTable {
        slots: memory.as_ptr(),
        mask: slots - 1,
    };
    for index in 0..old.map_or(0, |old| old.mask + 1) {
        // SAFETY: the index is below the old table's length.
        let slot = old.map(|old| unsafe { &*old.slots.add(index) });
        if let Some(slot) = slot.filter(|slot| slot.site.load(Relaxed) != 0) {
            insert(&table, slot.key.load(Relaxed), slot.site.load(Relaxed));
        }
    }
    // SAFETY: memory for one table, seen by nobody else.
    unsafe { place.as_ptr().write(table) };
    SITES.store(place.as_ptr(), Release);
    true
}

fn insert(table: &SiteTable, key: u64, site: u32) {
    let mut index = spread(key) & table.mask;
    loop {
        // SAFETY: the index is masked; the table is never full.
        let slot = unsafe { &*table.slots.add(index) };
        if slot.site.load(Relaxed) == 0 {
            // Whoever sees the key sees that the slot was empty before.
            slot.key.store(key, Release);
            slot.site.store(site, Release);
            return;
        }
        index = (index + 1) & table.mask;
    }
}

/// Adds a site after [`has_room`]. Under the write lock.
pub(super) fn add_site(key: u64, site: u32) {
    // SAFETY: as in `find_site`.
    if let Some(table) = unsafe { SITES.load(Acquire).as_ref() } {
        insert(table, key, site);
        SITES_USED.fetch_add(1, Relaxed);
    }
}

/// Empties the table, for new keys. Under the write lock.
pub(super) fn clear_sites() {
    // SAFETY: as in `find_site`.
    let Some(table) = (unsafe { SITES.load(Acquire).as_ref() }) else {
        return;
    };
    for index in 0..=table.mask {
        // SAFETY: the index is below the table's length.
        unsafe { &*table.slots.add(index) }.site.store(0, Release);
    }
    SITES_USED.store(0, Relaxed);
}

/// Forgets all sites: for a forked child that begins a recording of its own.
pub(crate) fn forget_sites() {
    SITES.store(null_mut(), Release);
    SITES_USED.store(0, Relaxed);
}

/// The maps under the write lock.
pub(crate) struct Maps {
    /// (module, offset) to frame.
    pub(super) frames: KeyMap,
    /// (parent, frame) to stack.
    pub(super) stacks: KeyMap,
    /// (stack, scope) to site.
    pub(super) sites: KeyMap,
    /// Hash of (parent, name) to scope.
    pub(crate) scopes: KeyMap,
}

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
        let mut index = spread(key) & (self.len - 1);
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
        let mut index = spread(key) & (self.len - 1);
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
