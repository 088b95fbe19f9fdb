//! Lanes: one thread's column of counters, handed on when the thread ends.
//!
//! Owning a lane is holding its robust mutex, which the owner never unlocks: the kernel says when
//! the thread ended, after the last thread-local destructor, so there is no destructor of ours and
//! late frees still land here.

mod all;
mod net;
mod owner;
mod slots;
#[cfg(feature = "serde")]
mod visits;

pub(crate) use all::{release_all, wait_until_idle};
pub(super) use all::{reset_limits, rows_of};
#[cfg(captures)]
pub(crate) use net::PassedOver;
pub(crate) use net::{Net, measuring, net_here};
pub(super) use owner::{of_thread, own, stack_of_thread};
pub(super) use slots::{SizeCount, Slot};
#[cfg(feature = "serde")]
pub(crate) use visits::{visit, visit_again};

use super::peak::Turning;
use crate::hash::GOLDEN;
use crate::record::Table;
use crate::shadow::{KNOWN_BITS, LaneBits, Owner};
use crate::stack::{LastWalks, Limits};
use crate::sys::{Bump, CHUNK, Chunked, Errno, Lock, PAGE, count_own};
use crate::tables::{fixed_rows, push, touch};
use std::cell::{Cell, UnsafeCell};
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicU32, Ordering::*};
#[cfg(feature = "serde")]
use tracking_alloc_recording::MAX_SCOPES;
use tracking_alloc_recording::{self as recording, LANES, MAX_FRAMES, MAX_LANES, MAX_SITES, Row};

/// In a lane's tag: its owner measures itself. No state of a recording has this bit.
const MEASURED: u32 = 8;
/// In a lane's tag: it did not move for long, and its sums are taken as known. Likewise.
const PARKED: u32 = 4;
const _: () = assert!(PARKED == crate::state::COUNT && MEASURED < crate::state::GENERATION);

/// Pairs of entries of the cache from stack to row: a key may be in either one of its pair.
const CACHE: usize = 1024;
/// A product's upper bits are the pair's number.
const CACHE_SHIFT: u32 = u64::BITS - CACHE.ilog2();

const _: () = assert!(CACHE * size_of::<[Cached; 2]>() <= 32 * PAGE);

/// One entry of the cache: the key of stack and scope, and where it led.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Cached {
    pub(super) key: u64,
    /// PERF: beside the slot that knows it too, so that it is there one load earlier.
    pub(super) row: *const Row,
    pub(super) slot: *const Slot,
    pub(super) site: u32,
}

/// How long a block lived, as far as can be told.
pub(super) enum Lifetime {
    /// In allocations of the thread that made and freed it.
    Here(u64),
    /// Another thread, or an earlier owner of the lane, made it.
    Elsewhere,
    /// It was too small to keep its birth number, or that may have wrapped.
    Unknown,
}

/// A lane's private half; its counters are in the recording. All-zero bytes are a lane nobody owned
/// yet.
#[repr(C, align(128))]
pub(crate) struct Lane {
    /// The state in which the owner may record without further questions. With [`MEASURED`] or
    /// [`PARKED`] it is none.
    pub(super) tag: AtomicU32,
    pub(crate) number: u32,
    /// What its blocks in the shadow map have of that.
    pub(super) bits: LaneBits,
    /// The hook is at work in the owner.
    pub(super) busy: AtomicBool,
    /// Its rows of all events, of "(table full)" and of "(unattributed)".
    fixed: *const [Row; 3],
    pub(super) cache: *mut [Cached; 2],
    /// Pages of the cache that were written, a bit for each.
    cache_pages: Cell<u32>,
    /// Net bytes at the last check.
    pub(super) checked: Cell<i64>,
    /// The lane checks before its net is this far from `checked`.
    pub(super) step: Cell<i64>,
    /// A fall from this net or above may be the fall from a new peak.
    pub(super) limit: AtomicI64,
    pub(super) turning: Turning,
    /// Births up to the beginning of this tenancy.
    pub(super) since_births: Cell<u64>,
    /// Peak checks at which the thread's name is still asked for.
    names_to_read: Cell<u32>,
    /// How often growth had gone on when the lane last asked for what it had been refused.
    resumed: Cell<u32>,
    /// Where walks of the owner's stack end.
    pub(super) limits: Limits,
    pub(super) record: *const recording::Lane,
    mutex: UnsafeCell<libc::pthread_mutex_t>,
    /// For the overflow lane: one event at a time.
    pub(super) shared: Lock<()>,
    tables: UnsafeCell<LaneTables>,
    /// How often a site was found by its key alone.
    trusted: Cell<u32>,
    /// Return addresses of the walk on a cold path, innermost first.
    scratch: UnsafeCell<[u64; MAX_FRAMES]>,
    /// For sites the lane has no memory to remember.
    spare: Slot,
    /// By site.
    slots: Chunked<Slot, { MAX_SITES as usize / CHUNK }>,
    /// By scope.
    #[cfg(feature = "serde")]
    visits: Chunked<visits::Visited, { MAX_SCOPES / CHUNK }>,
    /// What walks of the owner's stack met last. Its pages are written only where stacks are deep.
    pub(super) last_walks: LastWalks,
}

struct LaneTables {
    rows: Table,
    sizes: Table,
    snaps: Table,
    #[cfg(feature = "serde")]
    visits: Table,
    bump: Bump,
}

static TABLE: [AtomicPtr<Lane>; MAX_LANES] = [const { AtomicPtr::new(null_mut()) }; MAX_LANES];

impl Lane {
    fn fixed(&self) -> &'static [Row; 3] {
        // SAFETY: mapped until the process ends.
        unsafe { &*self.fixed }
    }

    /// The row of all events.
    pub(super) fn all(&self) -> &'static Row {
        &self.fixed()[0]
    }

    /// The row of events at sites without one.
    fn full(&self) -> &'static Row {
        &self.fixed()[1]
    }

    pub(super) fn record(&self) -> &'static recording::Lane {
        // SAFETY: mapped until the process ends.
        unsafe { &*self.record }
    }

    /// The row of events that came while the hook was busy; several contexts write it, atomically.
    pub(super) fn unattributed(&self) -> &'static Row {
        &self.fixed()[2]
    }

    /// Returns `true` if the lane is of the recording with that tag.
    #[inline(always)]
    pub(super) fn is_of(&self, tag: u32) -> bool {
        self.tag.load(Relaxed) & !(MEASURED | PARKED) == tag
    }

    /// Marks that the lane did not move for long. Under the peak lock, which must see that nobody
    /// is at work in it.
    pub(super) fn park(&self) {
        self.tag.fetch_or(PARKED, SeqCst);
    }

    /// Returns `true` if the lane has that mark.
    pub(super) fn is_parked(&self) -> bool {
        self.tag.load(SeqCst) & PARKED != 0
    }

    /// Takes the mark back. Under the peak lock.
    pub(super) fn unpark(&self) {
        self.tag.fetch_and(!PARKED, SeqCst);
    }

    /// Before the owner's first event after the lane was parked.
    pub(super) fn wake(&'static self) {
        if self.is_parked() {
            super::peak::wake(self);
        }
    }

    pub(crate) fn is_shared(&self) -> bool {
        self.number as usize == LANES
    }

    /// Private memory of the lane's own for one `T`, for whom all-zero bytes must be a value.
    pub(super) fn take<T>(&self) -> Option<NonNull<T>> {
        let _errno = Errno::keep();
        // SAFETY: the tables belong to the lane's owner, who is calling.
        unsafe { (*self.tables.get()).bump.take::<T>(1) }
    }

    /// Adds a record to one of the lane's tables, filled before its length is published: its
    /// number, and where it lies.
    fn add_record<T>(
        &self,
        table: fn(&mut LaneTables) -> &mut Table,
        len: fn(&recording::Lane) -> &AtomicU32,
        fill: impl FnOnce(&T),
    ) -> Option<(u32, &'static T)> {
        // SAFETY: the tables belong to the lane's owner, who is calling.
        let table = table(unsafe { &mut *self.tables.get() });
        let (index, place) = push::<T>(table)?;
        // SAFETY: a zeroed record that is the lane's own and stays mapped.
        let record: &'static T = unsafe { place.as_ref() };
        fill(record);
        len(self.record()).store(index as u32 + 1, Release);
        Some((index as u32, record))
    }

    /// Before a row changes: saves its value at the peak, and at snapshots taken since. `now`: the
    /// clock, read once for an event.
    #[inline(always)]
    pub(super) fn touch(&'static self, site: u32, row: &Row, now: u64) {
        if let Some(then) = touch(row, now) {
            self.save_snapshots(site, row, then);
        }
    }

    /// The same for the row of a site and that of all events, whose snapshots are in the header.
    pub(super) fn touch_both(&'static self, site: u32, row: &Row, now: u64) {
        self.touch(site, row, now);
        let _ = touch(self.all(), now);
    }

    /// Returns `true` if both have been touched since the clock went on.
    #[inline(always)]
    pub(super) fn are_touched(&self, row: &Row, now: u64) -> bool {
        row.clock.load(Relaxed) == now && self.all().clock.load(Relaxed) == now
    }

    /// The entries in which a key may be.
    #[inline(always)]
    fn cache_pair(&self, key: u64) -> *mut [Cached; 2] {
        // SAFETY: the cache has CACHE pairs, and the shift leaves no more bits than number them.
        unsafe {
            self.cache
                .add((key.wrapping_mul(GOLDEN) >> CACHE_SHIFT) as usize)
        }
    }

    /// Where a key led before, if that is still in the cache.
    #[inline(always)]
    pub(super) fn cached(&self, key: u64) -> Option<Cached> {
        // SAFETY: the cache is reached by the lane's owner alone, who is calling.
        let pair = unsafe { &*self.cache_pair(key) };
        pair.iter().find(|cached| cached.key == key).copied()
    }

    /// Keeps where a key led.
    pub(super) fn keep(&self, cached: Cached) {
        let pair = self.cache_pair(cached.key);
        let page = 1 << ((pair.addr() - self.cache.addr()) / PAGE);
        if self.cache_pages.get() & page == 0 {
            self.cache_pages.set(self.cache_pages.get() | page);
            count_own(PAGE);
        }
        // SAFETY: a pair of the cache, which is reached by the lane's owner alone.
        unsafe { *pair = [cached, (*pair)[0]] }
    }

    /// How long a block lived that this thread now frees.
    #[inline(always)]
    pub(super) fn lifetime(&self, owner: Owner) -> Lifetime {
        if !owner.has_birth() {
            return Lifetime::Unknown;
        }
        if !owner.is_of(self.bits) {
            return Lifetime::Elsewhere;
        }
        let births = self.all().total_blocks.load(Relaxed);
        if births >> KNOWN_BITS != 0 || !Owner::tells_lane(self.number) {
            return self.long_lifetime(owner, births);
        }
        // PERF: numbers are known as a whole: so it is mostly.
        let number = u64::from(owner.birth_number());
        if number > self.since_births.get() {
            Lifetime::Here(births - number)
        } else {
            Lifetime::Elsewhere
        }
    }

    /// The same for numbers of which not all bits are known.
    #[inline(never)]
    fn long_lifetime(&self, owner: Owner, births: u64) -> Lifetime {
        let Some(birth) = owner.birth() else {
            return Lifetime::Unknown;
        };
        let known = (1u64 << birth.bits) - 1;
        let lifetime = births.wrapping_sub(u64::from(birth.number)) & known;
        if lifetime >= births - self.since_births.get() {
            Lifetime::Elsewhere
        } else if births <= known && birth.lane == self.number {
            Lifetime::Here(lifetime)
        } else {
            // It may be older by a whole turn of the number, or another of the lanes that blocks do
            // not tell apart.
            Lifetime::Unknown
        }
    }

    /// Allocations so far of the lane that made a block; more than any number of them when that
    /// cannot be told.
    #[inline(always)]
    pub(super) fn births_for(&self, owner: Owner) -> u64 {
        match owner.birth() {
            Some(birth) if birth.lane != self.number => births_of(birth.lane),
            _ => self.all().total_blocks.load(Relaxed),
        }
    }
}

#[cold]
fn births_of(lane: u32) -> u64 {
    if Owner::lane_kept(lane + 1) == lane {
        return u64::MAX;
    }
    fixed_rows(lane).map_or(u64::MAX, |[all, ..]| all.total_blocks.load(Relaxed))
}
