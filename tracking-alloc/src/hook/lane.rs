//! Lanes: one thread's column of counters, handed on when the thread ends.
//!
//! Owning a lane is holding its robust mutex, which the owner never unlocks: the kernel says when the thread ended,
//! after the last thread-local destructor, so there is no destructor of ours and late frees still land here.

mod all;
mod mine;
mod owner;

pub(crate) use all::{release_all, wait_until_idle};
pub(super) use all::{reset_limits, rows_of};
#[cfg(feature = "serde")]
pub(crate) use mine::visit;
pub(crate) use mine::{Net, measuring, net_here};
pub(super) use owner::{of_thread, own, stack_of_thread};

use super::peak::Turning;
use super::sizes::Spread;
use crate::record::{Table, growths_resumed};
use crate::shadow::Owner;
use crate::stack::{Limits, Start};
use crate::sys::{Bump, Errno, Lock, PAGE, count_own};
use crate::tables::{self, CLOCK, lane_row, net_bytes, touch};
use std::cell::{Cell, UnsafeCell};
use std::ptr::{NonNull, null, null_mut};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicU32, Ordering::*};
use tracking_alloc_recording::{
    self as recording, CLOCK_SNAPSHOT_BITS, LANES, MAX_FRAMES, MAX_LANES, MAX_SITES, Row,
    SITE_TABLE_FULL, SIZE_PAIRS, Sizes, Snaps, size_class,
};

/// In a lane's tag: its owner measures itself. No state of a recording has this bit.
const MEASURED: u32 = 8;
/// In a lane's tag: it did not move for long, and its sums are taken as known. Likewise.
const PARKED: u32 = 4;
const _: () = assert!(PARKED == crate::state::COUNT && MEASURED < crate::state::GENERATION);

/// Entries of the cache from stack to row.
const CACHE: usize = 2048;
/// Sites in one chunk of a lane's look-up from site to row.
const CHUNK: usize = 512;
const CHUNKS: usize = MAX_SITES as usize / CHUNK;
/// Chunks of a lane's look-up from scope to visits: 65,536 scopes.
#[cfg(feature = "serde")]
const VISIT_CHUNKS: usize = (1 << 16) / CHUNK;

const _: () = assert!(
    PAGE.is_multiple_of(size_of::<Slot>()) && (CHUNK * size_of::<Slot>()).is_multiple_of(PAGE)
);
const _: () = assert!(CACHE * size_of::<Cached>() <= 32 * PAGE);

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

    /// Counts the page of a slot that is about to be used, if it is the first one used there.
    fn count_page(&self) {
        const SLOTS: usize = PAGE / size_of::<Slot>();
        let first = (std::ptr::from_ref(self).addr() & !(PAGE - 1)) as *const Slot;
        // SAFETY: chunks are whole pages of slots, reached by the lane's owner alone.
        let is_new = (0..SLOTS).all(|index| unsafe { (*first.add(index)).row.get().is_null() });
        if is_new {
            count_own(PAGE);
        }
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
    /// The state in which the owner may record without further questions. With [`MEASURED`] or [`PARKED`] it is none.
    pub(super) tag: AtomicU32,
    pub(crate) number: u32,
    /// The hook is at work in the owner.
    pub(super) busy: AtomicBool,
    /// All events of the lane.
    pub(super) all: *const Row,
    pub(super) cache: *mut Cached,
    /// Pages of the cache that were written, a bit for each.
    cache_pages: Cell<u32>,
    /// Net bytes at the last look.
    pub(super) looked: Cell<i64>,
    /// The lane looks before its net is this far from `looked`.
    pub(super) step: Cell<i64>,
    /// A fall from this net or above may be the fall from a new peak.
    pub(super) limit: AtomicI64,
    pub(super) turning: Turning,
    /// Births up to the beginning of this tenancy.
    pub(super) since_births: Cell<u64>,
    /// Looks at which the thread's name is still asked for.
    names_to_read: Cell<u32>,
    /// How often growth had gone on when the lane last asked for what it had been refused.
    resumed: Cell<u32>,
    /// Where walks of the owner's stack end.
    pub(super) limits: Limits,
    pub(super) record: *const recording::Lane,
    full: *const Row,
    unattributed: *const Row,
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

static TABLE: [AtomicPtr<Lane>; MAX_LANES] = [const { AtomicPtr::new(null_mut()) }; MAX_LANES];

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

    /// Whether the lane is of the present recording and its owner's alone.
    fn is_of(&self, tag: u32) -> bool {
        self.tag.load(Relaxed) & !(MEASURED | PARKED) == tag
    }

    /// Marks that the lane did not move for long. Under the look lock, which must see that nobody is at work in it.
    pub(super) fn park(&self) {
        self.tag.fetch_or(PARKED, SeqCst);
    }

    /// Whether the lane has that mark.
    pub(super) fn is_parked(&self) -> bool {
        self.tag.load(SeqCst) & PARKED != 0
    }

    /// Takes the mark back. Under the look lock.
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
        let chunk = unsafe { (*self.tables.get()).bump.take_sparse::<Slot>(CHUNK) }?;
        self.chunks[(site as usize / CHUNK) & (CHUNKS - 1)].store(chunk.as_ptr(), Relaxed);
        drop(errno);
        // SAFETY: as in `slot`.
        Some(unsafe { &*chunk.as_ptr().add(site as usize % CHUNK) })
    }

    /// The site of a key, interning the calling stack when it is new.
    #[cold]
    #[inline(never)]
    pub(super) fn find_site(
        &'static self,
        frame_pointer: usize,
        stack_pointer: usize,
        pc: u64,
        key: u64,
        scope: u32,
    ) -> u32 {
        tables::check_modules();
        if let Some(site) = tables::find_site(key)
            && self.trusts(site)
        {
            return site;
        }
        let start = Start::from_registers((frame_pointer, stack_pointer, pc));
        // SAFETY: the scratch belongs to the lane's owner, who is calling.
        let scratch = unsafe { &mut *self.scratch.get() };
        tables::intern(&self.limits, start, scratch, key, scope)
    }

    /// Whether a site found by its key is taken for what it is: not the first time, and not always, since another stack
    /// may have the same key.
    fn trusts(&'static self, site: u32) -> bool {
        const DOUBTED: u32 = 32;
        let times = self.trusted.get().wrapping_add(1);
        self.trusted.set(times);
        let met = self
            .slot(site)
            .is_some_and(|slot| !slot.row.get().is_null());
        met && !times.is_multiple_of(DOUBTED)
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
        slot.count_page();
        slot.row.set(row);
        slot.row_index.set(index);
        slot.class.set(NO_CLASS);
        drop(errno);
        row
    }

    /// Whether a row is the lane's "(table full)".
    pub(super) fn is_full(&self, row: &Row) -> bool {
        std::ptr::eq(row, self.full)
    }

    /// When the recording grows again after a refusal: forgets which sites had no row, so that they get one with
    /// their next event. Called by the owner where it is on a slow path anyway.
    #[inline]
    pub(super) fn ask_again(&self) {
        let resumed = growths_resumed();
        if self.resumed.get() != resumed {
            self.resumed.set(resumed);
            self.forget_full();
        }
    }

    #[cold]
    #[inline(never)]
    fn forget_full(&self) {
        for index in 0..CACHE {
            // SAFETY: the cache has CACHE entries, reached by the lane's owner alone, who is calling.
            let entry = unsafe { &mut *self.cache.add(index) };
            if std::ptr::eq(entry.row, self.full) {
                // No stack has this key.
                entry.key = 0;
            }
        }
        for chunk in &self.chunks {
            let chunk = chunk.load(Relaxed);
            for index in 0..if chunk.is_null() { 0 } else { CHUNK } {
                // SAFETY: a chunk has CHUNK slots, reached by the lane's owner alone.
                let slot = unsafe { &*chunk.add(index) };
                if std::ptr::eq(slot.row.get(), self.full) {
                    slot.row.set(null());
                }
            }
        }
    }

    fn new_row(&self, site: u32) -> Option<(u32, &'static Row)> {
        // SAFETY: the tables belong to the lane's owner, who is calling.
        let rows = unsafe { &mut (*self.tables.get()).rows };
        let (index, place) = tables::push::<Row>(rows)?;
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
        let pushed = tables::push::<Sizes>(table);
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
        let Some(header) = tables::header() else {
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
            if let Some((index, place)) = tables::push::<Snaps>(table) {
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
        let (live, seen) = (net_bytes(row), then & ((1 << CLOCK_SNAPSHOT_BITS) - 1));
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

    /// Keeps where a key led.
    pub(super) fn keep(&self, entry: *mut Cached, cached: Cached) {
        let page = 1 << ((entry.addr() - self.cache.addr()) / PAGE);
        if self.cache_pages.get() & page == 0 {
            self.cache_pages.set(self.cache_pages.get() | page);
            count_own(PAGE);
        }
        // SAFETY: an entry of the cache, which is reached by the lane's owner alone.
        unsafe { *entry = cached }
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
        if birth.lane != Owner::lane_kept(self.number)
            || lifetime >= births - self.since_births.get()
        {
            Lifetime::Elsewhere
        } else if births <= known && birth.lane == self.number {
            Lifetime::Here(lifetime)
        } else {
            // It may be older by a whole turn of the number, or another of the lanes that blocks do not tell apart.
            Lifetime::Unknown
        }
    }

    /// Allocations so far of the lane that made a block; more than any number of them when that cannot be told.
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
    lane_row(lane).map_or(u64::MAX, |row| row.total_blocks.load(Relaxed))
}
