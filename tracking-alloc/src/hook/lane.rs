//! Lanes: one thread's column of counters, handed on when the thread ends.
//!
//! Owning a lane is holding its robust mutex, which the owner never unlocks: the kernel says when the thread ended,
//! after the last thread-local destructor, so there is no destructor of ours and late frees still land here.

mod all;
mod mine;
mod owner;

pub(crate) use all::{lanes_in_use, release_all, wait_until_idle};
pub(super) use all::{reset_limits, rows_of};
#[cfg(feature = "serde")]
pub(crate) use mine::visit;
pub(crate) use mine::{Net, net_here};
pub(super) use owner::acquire;

use super::CLOCK;
use super::row::touch;
use super::sizes::Spread;
use crate::record::Table;
use crate::session;
use crate::shadow::Owner;
use crate::stack::CutAfter;
use crate::sys::{Bump, Errno, Lock, Stack};
use std::cell::{Cell, UnsafeCell};
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicU32, Ordering::*};
use tracking_alloc_recording::{
    self as recording, CLOCK_SNAPSHOT_BITS, LANES, MAX_SITES, Row, SITE_TABLE_FULL, SIZE_PAIRS,
    Sizes, Snaps, size_class,
};

/// Entries of the cache from stack to row.
const CACHE: usize = 2048;
/// Sites in one chunk of a lane's look-up from site to row.
const CHUNK: usize = 512;
const CHUNKS: usize = MAX_SITES as usize / CHUNK;
/// Chunks of a lane's look-up from scope to visits: 65,536 scopes.
#[cfg(feature = "serde")]
const VISIT_CHUNKS: usize = (1 << 16) / CHUNK;
/// Deepest stack kept.
pub(crate) const MAX_DEPTH: usize = 256;

/// What a lane knows of a site: where its row is, and its further records.
#[repr(C)]
pub(super) struct Slot {
    row: Cell<*const Row>,
    row_index: Cell<u32>,
    /// The only size class so far, or one of the three values below.
    class: Cell<u32>,
    /// What counts them: one record while the class is [`MIXED`], all of them while it is [`SPREAD`].
    sizes: Cell<*const ()>,
    snaps: Cell<*const Snaps>,
}

/// Bits of a count in a pair of class and count.
pub(super) const COUNT_BITS: u32 = 48;
/// No block was allocated at the site yet.
const NO_CLASS: u32 = u32::MAX;
/// Several classes: they are counted in size records.
const MIXED: u32 = u32::MAX - 1;
/// More classes than one size record holds.
const SPREAD: u32 = u32::MAX - 2;

impl Slot {
    /// The one size record, or null.
    #[inline(always)]
    pub(super) fn one_record(&self) -> Option<&'static Sizes> {
        if self.class.get() != MIXED {
            return None;
        }
        // SAFETY: while the class is MIXED this is null or a record, which stays mapped.
        unsafe { self.sizes.get().cast::<Sizes>().as_ref() }
    }

    /// All size records, when one has not been enough.
    #[inline(always)]
    pub(super) fn spread(&self) -> Option<&'static Spread> {
        if self.class.get() != SPREAD {
            return None;
        }
        // SAFETY: while the class is SPREAD this is such a table, which is never unmapped.
        unsafe { self.sizes.get().cast::<Spread>().as_ref() }
    }

    pub(super) fn set_one_record(&self, sizes: &'static Sizes) {
        self.sizes.set(std::ptr::from_ref(sizes).cast());
    }

    pub(super) fn set_spread(&self, spread: &'static Spread) {
        self.sizes.set(std::ptr::from_ref(spread).cast());
        self.class.set(SPREAD);
    }

    /// The row of a slot that was looked up before.
    #[inline(always)]
    pub(super) fn row(&self) -> &'static Row {
        // SAFETY: slots reach the cache only after `row_of` has set their row, which stays mapped.
        unsafe { &*self.row.get() }
    }
}

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

/// A lane's private half; its counters are in the recording. All-zero bytes are a lane nobody owned yet.
#[repr(C, align(128))]
pub(crate) struct Lane {
    /// The state in which the owner may record without further questions; 0 for the overflow lane.
    pub(super) tag: AtomicU32,
    pub(crate) number: u32,
    /// The hook is at work in the owner.
    pub(super) busy: AtomicBool,
    /// All events of the lane.
    pub(super) all: *const Row,
    pub(super) cache: *mut Cached,
    /// The block allocated last, if it was not freed or reallocated since.
    pub(super) last_block: Cell<usize>,
    pub(crate) stack: Cell<Stack>,
    /// Net bytes at the last look.
    pub(super) looked: Cell<i64>,
    /// A fall from this net or above may be the fall from a new peak.
    pub(super) limit: AtomicI64,
    /// Falls from above `limit` still to be passed over without a look, while other lanes move too.
    pub(super) skip: Cell<u32>,
    pub(super) backoff: Cell<u32>,
    /// Net bytes and events of the other lanes at the last look.
    pub(super) others: Cell<(i64, u64)>,
    /// Sum over all lanes at the last look.
    pub(super) seen: Cell<i64>,
    /// Births up to the beginning of this tenancy.
    pub(super) since_births: Cell<u64>,
    /// Looks at which the thread's name is still asked for.
    names_to_read: Cell<u32>,
    pub(crate) cut_after: CutAfter,
    pub(super) record: *const recording::Lane,
    full: *const Row,
    unattributed: *const Row,
    mutex: UnsafeCell<libc::pthread_mutex_t>,
    /// For the overflow lane: one event at a time.
    pub(super) shared: Lock<()>,
    tables: UnsafeCell<LaneTables>,
    /// Return addresses of the walk on a cold path, innermost first.
    pub(crate) scratch: UnsafeCell<[u64; MAX_DEPTH]>,
    /// For sites the lane has no memory to remember.
    spare: Slot,
    chunks: [AtomicPtr<Slot>; CHUNKS],
    #[cfg(feature = "serde")]
    visits: [AtomicPtr<mine::Visited>; VISIT_CHUNKS],
}

struct LaneTables {
    rows: Table,
    sizes: Table,
    snaps: Table,
    #[cfg(feature = "serde")]
    visits: Table,
    bump: Bump,
}

static TABLE: [AtomicPtr<Lane>; LANES + 1] = [const { AtomicPtr::new(null_mut()) }; LANES + 1];

impl Lane {
    pub(super) fn all(&self) -> &'static Row {
        // SAFETY: a fixed row, mapped until the process ends.
        unsafe { &*self.all }
    }

    pub(super) fn record(&self) -> &'static recording::Lane {
        // SAFETY: mapped until the process ends.
        unsafe { &*self.record }
    }

    /// The row of events that came while the hook was busy; several contexts write it, atomically.
    pub(super) fn unattributed(&self) -> &'static Row {
        // SAFETY: a fixed row, mapped until the process ends.
        unsafe { &*self.unattributed }
    }

    pub(crate) fn is_shared(&self) -> bool {
        self.number as usize == LANES
    }

    /// The slot of a site, if the lane has memory for it.
    #[inline(always)]
    pub(super) fn slot(&'static self, site: u32) -> Option<&'static Slot> {
        // SAFETY: sites are below MAX_SITES wherever they come from (the site table and the shadow map), so the chunk
        // exists; the mask keeps even a damaged entry inside.
        let chunk = unsafe {
            self.chunks
                .get_unchecked((site as usize / CHUNK) & (CHUNKS - 1))
        }
        .load(Relaxed);
        if chunk.is_null() {
            return self.add_chunk(site);
        }
        // SAFETY: a chunk has CHUNK slots, reached by the lane's owner alone.
        Some(unsafe { &*chunk.add(site as usize % CHUNK) })
    }

    #[cold]
    #[inline(never)]
    fn add_chunk(&'static self, site: u32) -> Option<&'static Slot> {
        let errno = Errno::keep();
        // SAFETY: the tables belong to the lane's owner, who is calling.
        let chunk = unsafe { (*self.tables.get()).bump.take::<Slot>(CHUNK) }?;
        self.chunks[(site as usize / CHUNK) & (CHUNKS - 1)].store(chunk.as_ptr(), Relaxed);
        drop(errno);
        // SAFETY: as in `slot`.
        Some(unsafe { &*chunk.as_ptr().add(site as usize % CHUNK) })
    }

    /// The row of a site; "(table full)" when there is no room for one.
    #[inline(always)]
    pub(super) fn row_of(&'static self, site: u32) -> &'static Row {
        match self.slot(site) {
            Some(slot) if !slot.row.get().is_null() => slot.row(),
            slot => self.add_row(slot, site),
        }
    }

    /// A slot that remembers nothing.
    pub(super) fn spare_slot(&'static self) -> &'static Slot {
        self.spare.row_index.set(u32::MAX);
        &self.spare
    }

    #[cold]
    #[inline(never)]
    fn add_row(&self, slot: Option<&Slot>, site: u32) -> &'static Row {
        let errno = Errno::keep();
        // SAFETY: a fixed row.
        let full = unsafe { &*self.full };
        let Some(slot) = slot else { return full };
        let row = if site == SITE_TABLE_FULL {
            None
        } else {
            self.new_row(site)
        };
        let (index, row) = row.unwrap_or((u32::MAX, full));
        slot.row.set(row);
        slot.row_index.set(index);
        slot.class.set(NO_CLASS);
        drop(errno);
        row
    }

    fn new_row(&self, site: u32) -> Option<(u32, &'static Row)> {
        // SAFETY: the tables belong to the lane's owner, who is calling.
        let rows = unsafe { &mut (*self.tables.get()).rows };
        let (index, place) = session::push::<Row>(rows)?;
        // SAFETY: a zeroed record that is the lane's own and stays mapped.
        let row = unsafe { place.as_ref() };
        row.site.store(site, Relaxed);
        row.clock.store(CLOCK.load(Acquire), Relaxed);
        self.record().rows_len.store(index as u32 + 1, Release);
        Some((index as u32, row))
    }

    /// Counts a block's size, before the block itself is counted: nothing to do while a site has one size class.
    #[inline(always)]
    pub(super) fn count_size(&self, slot: &Slot, bytes: u64) {
        let class = u32::from(size_class(bytes));
        if slot.class.get() == class {
            return;
        }
        // PERF: a class met before at a site of several is one look away.
        if slot
            .spread()
            .is_some_and(|spread| spread.count_known(class))
        {
            return;
        }
        if let Some(sizes) = slot.one_record() {
            let pair = &sizes.pairs[class as usize % SIZE_PAIRS];
            let word = pair.load(Relaxed);
            if word >> COUNT_BITS == u64::from(class) && word != 0 {
                pair.store(word + 1, Relaxed);
                return;
            }
        }
        self.count_other_size(slot, class);
    }

    #[inline(never)]
    fn count_other_size(&self, slot: &Slot, class: u32) {
        if slot.row_index.get() == u32::MAX {
            return;
        }
        match slot.class.get() {
            NO_CLASS => return slot.class.set(class),
            MIXED | SPREAD => {}
            first => {
                slot.class.set(MIXED);
                super::sizes::add(
                    self,
                    slot,
                    first as u16,
                    slot.row().total_blocks.load(Relaxed),
                );
            }
        }
        super::sizes::add(self, slot, class as u16, 1);
    }

    /// A new size record for a slot's row.
    pub(super) fn new_sizes(&self, slot: &Slot) -> Option<&'static Sizes> {
        let errno = Errno::keep();
        // SAFETY: the tables belong to the lane's owner, who is calling.
        let table = unsafe { &mut (*self.tables.get()).sizes };
        let pushed = session::push::<Sizes>(table);
        drop(errno);
        let (index, place) = pushed?;
        // SAFETY: a zeroed record that is the lane's own and stays mapped.
        let sizes: &'static Sizes = unsafe { place.as_ref() };
        sizes.row.store(slot.row_index.get(), Relaxed);
        self.record().sizes_len.store(index as u32 + 1, Release);
        Some(sizes)
    }

    /// Private memory of the lane's own for one `T`, for whom all-zero bytes must be a value.
    pub(super) fn take<T>(&self) -> Option<NonNull<T>> {
        let errno = Errno::keep();
        // SAFETY: the tables belong to the lane's owner, who is calling.
        let place = unsafe { (*self.tables.get()).bump.take::<T>(1) };
        drop(errno);
        place
    }

    /// Before a row changes: saves its value at the peak, and at snapshots taken since.
    #[inline(always)]
    pub(super) fn touch(&'static self, site: u32, row: &Row) {
        if let Some(then) = touch(row) {
            self.save_snapshots(site, row, then);
        }
    }

    /// The same for the row of a site and that of all events, whose snapshots are in the header.
    #[inline(always)]
    pub(super) fn touch_both(&'static self, site: u32, row: &Row) {
        // PERF: the clock stands still for long; one test for both rows.
        let (now, all) = (CLOCK.load(Acquire), self.all());
        if (row.clock.load(Relaxed) ^ now) | (all.clock.load(Relaxed) ^ now) != 0 {
            self.save_both(site, row);
        }
    }

    #[inline(never)]
    fn save_both(&'static self, site: u32, row: &Row) {
        self.touch(site, row);
        let _ = touch(self.all());
    }

    #[cold]
    #[inline(never)]
    fn save_snapshots(&'static self, site: u32, row: &Row, then: u64) {
        let Some(header) = super::header() else {
            return;
        };
        let Some(slot) = self.slot(site) else { return };
        if slot.row_index.get() == u32::MAX || !std::ptr::eq(slot.row.get(), row) {
            return;
        }
        if slot.snaps.get().is_null() {
            let errno = Errno::keep();
            // SAFETY: the tables belong to the lane's owner, who is calling.
            let table = unsafe { &mut (*self.tables.get()).snaps };
            if let Some((index, place)) = session::push::<Snaps>(table) {
                // SAFETY: a zeroed record that is the lane's own and stays mapped.
                let snaps = unsafe { place.as_ref() };
                snaps.row.store(slot.row_index.get(), Relaxed);
                self.record().snaps_len.store(index as u32 + 1, Release);
                slot.snaps.set(snaps);
            }
            drop(errno);
        }
        // SAFETY: null or a record of the lane's own that stays mapped.
        let Some(snaps) = (unsafe { slot.snaps.get().as_ref() }) else {
            return;
        };
        let (live, seen) = (
            super::row::net_bytes(row),
            then & ((1 << CLOCK_SNAPSHOT_BITS) - 1),
        );
        for (sequence, value) in header.snapshot_seq.iter().zip(&snaps.live_bytes) {
            if sequence.load(Relaxed) > seen {
                value.store(live, Relaxed);
            }
        }
    }

    /// The cache entry for a key.
    #[inline(always)]
    pub(super) fn cached(&self, key: u64) -> *mut Cached {
        // SAFETY: the cache has CACHE entries and the index is masked below that.
        unsafe { self.cache.add((key >> 40) as usize & (CACHE - 1)) }
    }

    /// How long a block lived that this thread now frees.
    #[inline(always)]
    pub(super) fn lifetime(&self, owner: Owner) -> Lifetime {
        let Some(birth) = owner.birth() else {
            return Lifetime::Unknown;
        };
        let births = self.all().total_blocks.load(Relaxed);
        let known = (1u64 << birth.bits) - 1;
        let lifetime = births.wrapping_sub(u64::from(birth.number)) & known;
        if birth.lane != self.number || lifetime >= births - self.since_births.get() {
            Lifetime::Elsewhere
        } else if births <= known {
            Lifetime::Here(lifetime)
        } else {
            // It may be older by a whole turn of the number.
            Lifetime::Unknown
        }
    }
}

/// Net of the figures kept in a record: bytes and blocks.
pub(crate) fn figures_net(figures: &[std::sync::atomic::AtomicU64; 9]) -> (i64, i64) {
    let word = |index: usize| figures[index].load(Relaxed);
    (
        word(0).wrapping_sub(word(2)) as i64,
        word(1).wrapping_sub(word(3)) as i64,
    )
}
