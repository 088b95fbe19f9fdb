//! Lanes. A lane holds the counters of one thread. When the thread ends, another thread takes the
//! lane over.
//!
//! A thread owns a lane by holding the lane's robust mutex, which it never unlocks. The kernel
//! reports when the thread has ended, after the last thread-local destructor. So no destructor of
//! our own is needed, and late frees are still counted in the lane.

mod all;
mod pace;
mod sample_records;
mod size_class;
mod sizes;
mod slots;
mod turning;
mod visited;

pub(super) use all::{
    earlier, forget_all, forget_made, keep_memory, lane_at, lanes, publish, reset_limits, rows_of,
};
use pace::Pace;
pub(super) use sample_records::{add_allocated, add_freed, touch_samples};
pub(super) use slots::{SizeCount, Slot};
pub(super) use turning::{MOST_SKIPS, STEP, Turning};

use crate::file::Table;
use crate::hash::GOLDEN;
use crate::samples::Countdown;
use crate::session::{fixed_rows, push, touch};
use crate::shadow::{KNOWN_BITS, LaneBits, Owner};
use crate::stack::{LastWalks, Limits};
use crate::sys::{self, Bump, CHUNK, Chunked, Errno, Lock, PAGE, count_own};
use crate::thread;
use std::cell::{Cell, UnsafeCell};
use std::ptr::{NonNull, null, null_mut};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicU32, Ordering::*, compiler_fence};
use tracking_alloc_recording::MAX_SCOPES;
use tracking_alloc_recording::{
    self as recording, Clock, InFlight, LANES, MAX_FRAMES, MAX_LANES, MAX_SITES, Row,
};

/// Bit of a lane's tag: its owner measures. No state of a recording has this bit.
pub(super) const MEASURED: u32 = 8;
/// Bit of a lane's tag: the lane was idle for long, and its sums are assumed to be known. No state
/// of a recording has this bit.
const PARKED: u32 = 4;
const _: () = assert!(PARKED == crate::state::COUNT && MEASURED < crate::state::GENERATION);

/// Number of pairs of entries in the cache from stack to row. A key may be in either entry of its
/// pair.
pub(super) const CACHE: usize = 1024;
/// The upper bits of the product are the pair's number.
const CACHE_SHIFT: u32 = u64::BITS - CACHE.ilog2();

const _: () = assert!(CACHE * size_of::<[Cached; 2]>() <= 32 * PAGE);

/// One entry of the cache: the key of stack and scope, and its slot and row.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Cached {
    pub(super) key: u64,
    /// PERF: a copy of the value in the slot, which saves one load.
    pub(super) row: *const Row,
    pub(super) slot: *const Slot,
    pub(super) site: u32,
}

/// The lifetime of a block, as far as known.
pub(super) enum Lifetime {
    /// In allocations of the thread that allocated and freed it.
    Here(u64),
    /// Another thread, or an earlier owner of the lane, allocated it.
    Elsewhere,
    /// Unknown: the block was too small to keep its birth number, or the number may have wrapped.
    Unknown,
}

/// The private part of a lane. Its counters are in the recording. All-zero bytes are a lane that
/// never had an owner.
#[repr(C, align(128))]
pub(crate) struct Lane {
    /// The state word with which the owner may record on the fast path. With [`MEASURED`] or
    /// [`PARKED`] it matches no state.
    pub(super) tag: AtomicU32,
    pub(crate) number: u32,
    /// The lane number, encoded as its blocks keep it in the shadow map.
    pub(super) bits: LaneBits,
    /// `true` while the hook runs in the owner.
    pub(super) busy: AtomicBool,
    /// The lane's rows: of all events, of "(table full)" and of "(unattributed)".
    pub(super) fixed: *const [Row; 3],
    /// The block that the owner is reallocating.
    pub(super) in_flight: InFlight,
    pub(super) cache: *mut [Cached; 2],
    /// The pages of the cache that were written, one bit each.
    cache_pages: Cell<u32>,
    /// The lane makes a check before its net is this far from what it was at the last check.
    pub(super) step: Cell<i64>,
    /// The net at the last check, less the step: a fall to this net needs a check.
    pub(super) floor: Cell<i64>,
    /// The net at the last check, plus the step: a rise to this net needs a check.
    pub(super) ceiling: Cell<i64>,
    /// The number of allocations from which on the owner looks: see [`looks`](super::looks).
    look_at: Cell<u64>,
    pub(super) pace: Pace,
    /// A fall from this net or above may be the fall from a new peak.
    pub(super) limit: AtomicI64,
    pub(super) turning: Turning,
    /// The countdown to the owner's next sample.
    pub(super) countdown: Countdown,
    /// Birth number at the time the current owner took the lane.
    pub(super) since_births: Cell<u64>,
    /// Number of peak checks that will still read the thread's name.
    pub(super) names_to_read: Cell<u32>,
    /// The number of resumed growths when the lane last retried after a failure.
    resumed: Cell<u32>,
    /// The limits of walks on the owner's stack.
    pub(super) limits: Limits,
    pub(super) record: *const recording::Lane,
    pub(super) mutex: UnsafeCell<libc::pthread_mutex_t>,
    /// For the overflow lane: lets only one event run at a time.
    pub(super) shared: Lock<()>,
    pub(super) tables: UnsafeCell<LaneTables>,
    /// Number of times a site was found by its key alone.
    trusted: Cell<u32>,
    /// Return addresses of the walk on a cold path, innermost first.
    scratch: UnsafeCell<[u64; MAX_FRAMES]>,
    /// The slot for sites for which the lane has no memory.
    spare: Slot,
    /// The slots, by site.
    pub(super) slots: Chunked<Slot, { MAX_SITES as usize / CHUNK }>,
    /// The counters of visits, by scope.
    visits: Chunked<visited::Visited, { MAX_SCOPES / CHUNK }>,
    /// The samples behind the rows, by site.
    samples: Chunked<sample_records::SamplesOfSite, { MAX_SITES as usize / CHUNK }>,
    /// The last walk of the owner's stack. Its pages are written only if stacks are deep.
    pub(super) last_walks: LastWalks,
}

pub(super) struct LaneTables {
    pub(super) rows: Table,
    pub(super) sizes: Table,
    pub(super) checkpoints: Table,
    pub(super) visits: Table,
    pub(super) samples: Table,
    pub(super) bump: Bump,
}

static TABLE: [AtomicPtr<Lane>; MAX_LANES] = [const { AtomicPtr::new(null_mut()) }; MAX_LANES];

/// Returns the calling thread's own lane, which may be from an earlier generation.
#[inline(always)]
pub(super) fn own() -> Option<&'static Lane> {
    let lane = thread::with(|thread| thread.lane.get()).unwrap_or(null());
    // SAFETY: null or a lane, which is never unmapped.
    unsafe { lane.cast::<Lane>().as_ref() }
}

impl Lane {
    fn fixed(&self) -> &'static [Row; 3] {
        // SAFETY: the rows are mapped while the recording is current.
        unsafe { &*self.fixed }
    }

    /// Returns the row of all events.
    pub(super) fn all(&self) -> &'static Row {
        &self.fixed()[0]
    }

    /// Returns the row of events at sites that have no row of their own.
    fn full(&self) -> &'static Row {
        &self.fixed()[1]
    }

    pub(super) fn record(&self) -> &'static recording::Lane {
        // SAFETY: the record is mapped while the recording is current.
        unsafe { &*self.record }
    }

    /// Returns the row of events that occurred while the hook was busy. Several contexts write it,
    /// atomically.
    pub(super) fn unattributed(&self) -> &'static Row {
        &self.fixed()[2]
    }

    /// Reads the thread's name. A thread gets its name shortly after its start.
    pub(super) fn read_name(&self) {
        let left = self.names_to_read.get();
        if left == 0 || self.is_shared() {
            return;
        }
        self.names_to_read.set(left - 1);
        let name = if sys::is_main_thread() {
            *b"main\0\0\0\0\0\0\0\0\0\0\0\0"
        } else {
            sys::thread_name()
        };
        for (word, bytes) in self.record().name.iter().zip(name.chunks_exact(8)) {
            word.store(bytes.try_into().map_or(0, u64::from_le_bytes), Relaxed);
        }
    }

    /// Notes the lane's net at its own check.
    pub(super) fn checked(&self, net: i64) {
        self.floor.set(net - self.step.get());
        self.ceiling.set(net + self.step.get());
    }

    /// Returns the number of allocations so far.
    #[inline(always)]
    pub(super) fn births(&self) -> u64 {
        self.all().total_blocks.load(Relaxed)
    }

    /// Returns `true` if the owner looks after so many allocations.
    #[inline(always)]
    pub(super) fn looks_at(&self, births: u64) -> bool {
        births >= self.look_at.get()
    }

    /// Makes the owner look after so many more allocations.
    pub(super) fn look_after(&self, allocations: u64) {
        self.look_at.set(self.births() + allocations);
    }

    /// Returns `true` if the lane belongs to the recording with this tag.
    #[inline(always)]
    pub(super) fn is_of(&self, tag: u32) -> bool {
        self.tag.load(Relaxed) & !(MEASURED | PARKED) == tag
    }

    /// Marks the lane as idle. Call under the peak lock, after which the caller must check that the
    /// hook is not running in it.
    pub(super) fn park(&self) {
        self.tag.fetch_or(PARKED, SeqCst);
    }

    /// Returns `true` if the lane is marked as idle.
    pub(super) fn is_parked(&self) -> bool {
        self.tag.load(SeqCst) & PARKED != 0
    }

    /// Notes that the owner is reallocating a block, before the block leaves the shadow map.
    #[inline(always)]
    pub(super) fn begin_realloc(&self, address: usize, bytes: usize, owner: Option<Owner>) {
        let [first, second] = owner.map_or([0; 2], Owner::words);
        self.in_flight.bytes.store(bytes as u64, Relaxed);
        self.in_flight.first.store(first, Relaxed);
        self.in_flight.second.store(second, Relaxed);
        self.in_flight.address.store(address as u64, Release);
        compiler_fence(SeqCst);
    }

    /// Returns `true` while the owner is reallocating.
    pub(super) fn is_reallocating(&self) -> bool {
        self.in_flight.address.load(Relaxed) != 0
    }

    /// Notes that the block, wherever it is now, is in the shadow map again.
    #[inline(always)]
    pub(super) fn end_realloc(&self) {
        self.in_flight.address.store(0, Release);
    }

    /// Removes the mark. Call under the peak lock.
    pub(super) fn unpark(&self) {
        self.tag.fetch_and(!PARKED, SeqCst);
    }

    pub(crate) fn is_shared(&self) -> bool {
        self.number as usize == LANES
    }

    /// Returns private memory of the lane for one `T`, for which all-zero bytes must be a valid
    /// value.
    pub(super) fn take<T>(&self) -> Option<NonNull<T>> {
        let _errno = Errno::keep();
        // SAFETY: the tables belong to the lane's owner, who is the caller.
        unsafe { (*self.tables.get()).bump.take::<T>(1) }
    }

    /// Adds a record to one of the lane's tables, and fills it before the length is published.
    /// Returns its number and place.
    fn add_record<T>(
        &self,
        table: fn(&mut LaneTables) -> &mut Table,
        len: fn(&recording::Lane) -> &AtomicU32,
        fill: impl FnOnce(&T),
    ) -> Option<(u32, &'static T)> {
        // SAFETY: the tables belong to the lane's owner, who is the caller.
        let table = table(unsafe { &mut *self.tables.get() });
        let (index, place) = push::<T>(table)?;
        // SAFETY: a zeroed record that belongs to the lane and stays mapped while the recording is
        // current.
        let record: &'static T = unsafe { place.as_ref() };
        fill(record);
        len(self.record()).store(index as u32 + 1, Release);
        Some((index as u32, record))
    }

    /// Saves a row's values for the peak and for checkpoints taken since, before the row changes.
    /// `now` is the clock, read once per event.
    #[inline(always)]
    pub(super) fn touch(&'static self, site: u32, row: &Row, now: Clock) {
        if let Some(then) = touch(row, now) {
            self.save_checkpoints(site, row, then);
        }
    }

    /// Calls [`touch`](Self::touch) for the row of a site, and saves the row of all events, whose
    /// checkpoints are those of the recording.
    pub(super) fn touch_both(&'static self, site: u32, row: &Row, now: Clock) {
        self.touch(site, row, now);
        let _ = touch(self.all(), now);
    }

    /// Returns the entries in which a key may be.
    #[inline(always)]
    fn cache_pair(&self, key: u64) -> *mut [Cached; 2] {
        // SAFETY: the cache has CACHE pairs, and after the shift the value is below CACHE.
        unsafe {
            self.cache
                .add((key.wrapping_mul(GOLDEN) >> CACHE_SHIFT) as usize)
        }
    }

    /// Returns the slot and row of a key, if they are still in the cache.
    #[inline(always)]
    pub(super) fn cached(&self, key: u64) -> Option<Cached> {
        // SAFETY: only the lane's owner, who is the caller, reaches the cache.
        let pair = unsafe { &*self.cache_pair(key) };
        pair.iter().find(|cached| cached.key == key).copied()
    }

    /// Keeps the slot and row of a key.
    pub(super) fn keep(&self, cached: Cached) {
        let pair = self.cache_pair(cached.key);
        let page = 1 << ((pair.addr() - self.cache.addr()) / PAGE);
        if self.cache_pages.get() & page == 0 {
            self.cache_pages.set(self.cache_pages.get() | page);
            count_own(PAGE);
        }
        // SAFETY: a pair of the cache, which only the lane's owner reaches.
        unsafe { *pair = [cached, (*pair)[0]] }
    }

    /// Returns the lifetime of a block that this thread now frees. `all` is the row of all events.
    #[inline(always)]
    pub(super) fn lifetime(&self, owner: Owner, all: &Row) -> Lifetime {
        if !owner.has_birth() {
            return Lifetime::Unknown;
        }
        if !owner.is_of(self.bits) {
            return Lifetime::Elsewhere;
        }
        let births = all.total_blocks.load(Relaxed);
        if births >> KNOWN_BITS != 0 || !Owner::tells_lane(self.number) {
            return self.long_lifetime(owner, births);
        }
        // PERF: the common case: the whole number is known.
        let number = u64::from(owner.birth_number());
        if number > self.since_births.get() {
            Lifetime::Here(births - number)
        } else {
            Lifetime::Elsewhere
        }
    }

    /// Returns the lifetime if the block does not keep all bits of its birth number.
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
            // The number may have wrapped, or the block may come from another lane with the same
            // bits.
            Lifetime::Unknown
        }
    }

    /// Returns the number of allocations so far in the lane that allocated a block. If it is
    /// unknown, the result is larger than any such number.
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
