//! The set of live samples, by address.
//!
//! Changes are made under a lock. Whether an address is in the set is found without it: a number is
//! odd while the set changes, and is read before and after the search. The lock is taken for
//! samples alone, so it is rarely held.

use super::Weight;
use crate::hash::GOLDEN;
use crate::state;
use crate::sys::{self, Errno, Guard, Lock, PAGE};
use std::cell::Cell;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering::*, fence};

/// A live block that was sampled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) site: u32,
    /// The lane that allocated it.
    pub(crate) lane: u32,
    pub(crate) weight: Weight,
    /// Bytes that the lane had allocated when the block was made. If it is the same when the block
    /// is freed, nothing was allocated in between.
    pub(crate) birth: u64,
}

struct Entry {
    /// 0 = free.
    address: AtomicUsize,
    /// Written and read under the lock.
    sample: Cell<Sample>,
}

/// The number of entries at first.
const FIRST: usize = 1024;
/// The number of entries at most: 56 MiB. The set is full with 7/8 as many samples.
const MOST: usize = 1 << 20;

/// A counter that stays as it is, because more samples than it can count were live.
const STICKY: u8 = u8::MAX;

struct Set {
    /// Number of samples.
    len: usize,
}

static LOCK: Lock<Set> = Lock::new(Set { len: 0 });
/// Odd while the set changes.
static CHANGES: AtomicU64 = AtomicU64::new(0);
static ENTRIES: AtomicPtr<Entry> = AtomicPtr::new(null_mut());
/// The number of entries less 1. Stored before `ENTRIES`; tables only grow.
static MASK: AtomicUsize = AtomicUsize::new(0);

/// Returns the table as it is.
fn table() -> &'static [Entry] {
    let mask = MASK.load(Acquire);
    let entries = ENTRIES.load(Acquire);
    if entries.is_null() {
        return &[];
    }
    // SAFETY: `entries` has at least as many entries as the mask that was read before says. Tables
    // are never unmapped, and zeros are valid entries.
    unsafe { std::slice::from_raw_parts(entries, mask + 1) }
}

// SAFETY: samples are reached under the lock.
unsafe impl Sync for Entry {}

/// Returns the place at which the search for an address begins.
fn place(address: usize, mask: usize) -> usize {
    (address as u64 >> 3).wrapping_mul(GOLDEN) as usize >> 20 & mask
}

/// Returns the index of an address, or the free one at which the search ended.
fn find(table: &[Entry], address: usize) -> Result<usize, usize> {
    let mask = table.len().wrapping_sub(1);
    let mut index = place(address, mask);
    for _ in 0..table.len() {
        match table.get(index).map(|entry| entry.address.load(Relaxed)) {
            Some(0) => return Err(index),
            Some(other) if other == address => return Ok(index),
            _ => index = (index + 1) & mask,
        }
    }
    Err(usize::MAX)
}

/// Returns `false` if no sample is at an address. Waits for nothing.
pub(crate) fn maybe_sampled(address: usize) -> bool {
    for _ in 0..64 {
        let before = CHANGES.load(Acquire);
        if before & 1 == 0 {
            let is_found = find(table(), address).is_ok();
            fence(Acquire);
            if CHANGES.load(Relaxed) == before {
                return is_found;
            }
        }
        std::hint::spin_loop();
    }
    // Somebody is changing the set all the time, or was interrupted while doing so.
    true
}

/// A change of the set, under the lock.
struct Change<'a>(Guard<'a, Set>);

impl<'a> Change<'a> {
    fn begin(set: Guard<'a, Set>) -> Self {
        CHANGES.store(CHANGES.load(Relaxed) + 1, Relaxed);
        fence(Release);
        Change(set)
    }
}

impl Drop for Change<'_> {
    fn drop(&mut self) {
        CHANGES.store(CHANGES.load(Relaxed) + 1, Release);
    }
}

/// Enters a sample. Returns `false` if there is no room for it, and the sample that was at its
/// address, whose free was missed.
pub(crate) fn put(address: usize, sample: Sample) -> (bool, Option<Sample>) {
    let mut change = Change::begin(LOCK.lock());
    if change.0.len >= table().len() / 2 {
        grow();
    }
    let table = table();
    match find(table, address) {
        Ok(index) => (
            true,
            table.get(index).map(|entry| entry.sample.replace(sample)),
        ),
        Err(index) => {
            // Enough entries stay free, so that searches end soon.
            let room = change.0.len < table.len() - table.len() / 8;
            let Some(entry) = table.get(index).filter(|_| room) else {
                return (false, None);
            };
            entry.sample.set(sample);
            entry.address.store(address, Relaxed);
            change.0.len += 1;
            drop(change);
            let counter = state::filter(address);
            // NOTE: several threads may change a counter, so this is one operation. A free of the
            // block comes after this event, and sees it.
            let more = |count: u8| Some(count.saturating_add(1));
            let _ = counter.fetch_update(AcqRel, Relaxed, more);
            (true, None)
        }
    }
}

/// Takes out the sample at an address.
pub(crate) fn take(address: usize) -> Option<Sample> {
    take_from(LOCK.lock(), address)
}

/// Does the same in a signal handler that may have interrupted a change of the set. Then the sample
/// stays.
pub(crate) fn try_take(address: usize) -> Option<Sample> {
    take_from(LOCK.try_lock(100)?, address)
}

fn take_from(set: Guard<'_, Set>, address: usize) -> Option<Sample> {
    let table = table();
    let mut hole = find(table, address).ok()?;
    let sample = table.get(hole)?.sample.get();
    let mut change = Change::begin(set);
    change.0.len -= 1;
    // Moves later entries forward into the hole, so that no search ends too early.
    let mask = table.len() - 1;
    let mut index = hole;
    loop {
        index = (index + 1) & mask;
        let (Some(entry), Some(free)) = (table.get(index), table.get(hole)) else {
            break;
        };
        let other = entry.address.load(Relaxed);
        if other == 0 {
            free.address.store(0, Relaxed);
            break;
        }
        let distance = |from: usize, to: usize| to.wrapping_sub(from) & mask;
        if distance(place(other, mask), index) >= distance(hole, index) {
            free.sample.set(entry.sample.get());
            free.address.store(other, Relaxed);
            hole = index;
        }
    }
    drop(change);
    let less = |count: u8| (count != STICKY && count != 0).then(|| count - 1);
    let _ = state::filter(address).fetch_update(AcqRel, Relaxed, less);
    Some(sample)
}

/// Makes a table of twice the size. Without memory, or at the largest size, nothing changes. The
/// old table stays mapped, because another thread may be searching it.
fn grow() {
    let old = table();
    let size = (2 * old.len()).max(FIRST);
    if size > MOST {
        return;
    }
    let _errno = Errno::keep();
    let bytes = size * size_of::<Entry>();
    let Some(place) = sys::map_kept(bytes.next_multiple_of(PAGE)) else {
        return;
    };
    let entries: NonNull<Entry> = place.cast();
    sys::count_own(bytes);
    // SAFETY: zeroed memory for as many entries, which nobody else knows yet.
    let new: &[Entry] = unsafe { std::slice::from_raw_parts(entries.as_ptr(), size) };
    for entry in old {
        let address = entry.address.load(Relaxed);
        if address != 0
            && let Err(index) = find(new, address)
            && let Some(free) = new.get(index)
        {
            free.sample.set(entry.sample.get());
            free.address.store(address, Relaxed);
        }
    }
    // The table first: whoever sees the new mask sees the new table.
    ENTRIES.store(entries.as_ptr(), Release);
    MASK.store(size - 1, Release);
}

/// Makes every free look for its block, because blocks are known that are not in this set.
pub(crate) fn watch_all() {
    let counters = state::whole_filter().iter();
    counters.for_each(|counter| counter.store(STICKY, Release));
}

/// Forgets all samples, for a forked child that begins a recording of its own.
///
/// # Safety
/// No other thread may reach the lock.
pub(crate) unsafe fn forget_all() {
    // SAFETY: guaranteed by the caller.
    unsafe { LOCK.reset(Set { len: 0 }) };
    MASK.store(0, Release);
    ENTRIES.store(null_mut(), Release);
    CHANGES.store(0, Release);
    let counters = state::whole_filter().iter();
    counters.for_each(|counter| counter.store(0, Relaxed));
}
