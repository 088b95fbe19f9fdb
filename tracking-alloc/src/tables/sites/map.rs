//! From keys to sites: looked up without a lock, changed under the write lock.

use crate::hash::spread;
use crate::sys::Bump;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::*};

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

/// Slots of the first table.
const FIRST_SLOTS: usize = 1024;

/// The site of a key. Without a lock: a site just being added may not be found, and is then looked for under the lock.
pub(crate) fn find_site(key: u64) -> Option<u32> {
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
