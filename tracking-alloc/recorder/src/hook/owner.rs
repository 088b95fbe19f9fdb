//! Ownership of lanes: taking over the lane of a thread that ended, creating a lane, sharing the
//! last one.

use super::PEAK_CHECKS;
use super::lane::{
    CACHE, Cached, Lane, LaneTables, MEASURED, STEP, earlier, keep_memory, lane_at, own, publish,
};
use super::writers::Inside;
use crate::file::Table;
use crate::session::{
    CLOCK, LANES_USED, OVERFLOW_USED, Session, fixed_rows, header, lane_number, sums_of,
};
use crate::shadow::LaneBits;
use crate::sys::{self, Bump, Errno, Stack};
use crate::{samples, thread};
use std::cell::UnsafeCell;
use std::ptr::{NonNull, from_ref, null};
use std::sync::atomic::Ordering::*;
use tracking_alloc_recording::{
    LANES, MAX_LANES, SITE_TABLE_FULL, SITE_UNATTRIBUTED, Sums, Word, lane_kind, table,
};

/// Returns the calling thread's lane in the current recording, its own or the shared one. Creates
/// one if it has none.
pub(super) fn of_thread(_: &Inside, session: &Session) -> Option<&'static Lane> {
    let (own, shared) = thread::with(|thread| (thread.lane.get(), thread.shared.get()))?;
    // SAFETY: null or lanes, which are never unmapped.
    let (own, shared) = unsafe { (own.cast::<Lane>().as_ref(), shared.cast::<Lane>().as_ref()) };
    own.or(shared)
        .filter(|lane| lane.is_of(session.tag()))
        .or_else(|| acquire(session))
}

/// Returns the address range of the calling thread's stack. Calls libc once per thread.
pub(super) fn stack_of_thread() -> Stack {
    if let Some(Some(known)) = thread::with(|thread| thread.stack.get()) {
        return known;
    }
    let stack = sys::thread_stack();
    thread::with(|thread| thread.stack.set(Some(stack)));
    stack
}

#[cold]
#[inline(never)]
fn acquire(session: &Session) -> Option<&'static Lane> {
    let _errno = Errno::keep();
    let stack = stack_of_thread();
    let own = take_over(session, stack).or_else(|| add(session, stack));
    let lane = own.or_else(|| overflow(session));
    thread::with(|thread| {
        let pointer = |lane: Option<&Lane>| lane.map_or(null(), |lane| from_ref(lane).cast());
        thread.lane.set(pointer(own));
        thread.shared.set(pointer(lane.filter(|_| own.is_none())));
        if let Some(own) = own.filter(|_| !thread.measure.get().is_null()) {
            own.tag.fetch_or(MEASURED, Relaxed);
        }
    });
    let countdown = own.map(|own| &own.countdown);
    samples::set_countdown(countdown.filter(|_| !thread::passes_over()));
    lane
}

/// Makes the calling thread the owner of a lane's mutex if its owner has ended.
///
/// # Safety
/// The mutex of the lane must be initialized.
unsafe fn has_lost_owner(lane: &Lane) -> bool {
    // SAFETY: guaranteed by the caller.
    unsafe {
        libc::pthread_mutex_trylock(lane.mutex.get()) == libc::EOWNERDEAD
            && libc::pthread_mutex_consistent(lane.mutex.get()) == 0
    }
}

/// Returns a lane of an earlier recording that belongs to the calling thread, or to none any more.
/// The calling thread holds its mutex.
fn of_earlier(session: &Session) -> Option<&'static Lane> {
    let is_own = |lane: &&Lane| own().is_some_and(|own| std::ptr::eq(own, *lane));
    let mut all = earlier(session.tag()).filter(|lane| !lane.is_shared());
    // SAFETY: only lanes whose mutex was initialized are in the list.
    all.find(is_own)
        .or_else(|| earlier(session.tag()).find(|lane| unsafe { has_lost_owner(lane) }))
}

/// Returns the first lane whose owner has ended.
fn take_over(session: &Session, stack: Stack) -> Option<&'static Lane> {
    for made in 0..LANES_USED.load(Acquire) {
        let Some(lane) = lane_at(lane_number(made)) else {
            continue;
        };
        // SAFETY: the mutex was initialized and locked before the lane was published, and nobody
        // unlocks it. An owner that ended leaves the mutex inconsistent. The counters are whole
        // words written by one thread, so they need no repair.
        if unsafe { has_lost_owner(lane) } {
            // A thread that was canceled inside the hook left the lane busy.
            lane.busy.store(false, Relaxed);
            lane.tag.fetch_and(!MEASURED, Relaxed);
            lane.hand_over(session);
            lane.move_in(stack);
            return Some(lane);
        }
    }
    None
}

/// Creates a lane for the calling thread.
fn add(session: &Session, stack: Stack) -> Option<&'static Lane> {
    // NOTE: this takes the peak lock, so that a check sees either no lane or a complete one.
    let mut checks = PEAK_CHECKS.lock();
    let made = LANES_USED.load(Acquire);
    if made as usize >= MAX_LANES - 1 {
        return None;
    }
    let number = lane_number(made);
    let earlier = of_earlier(session);
    let lane = make(session, number, earlier)?;
    if earlier.is_none() {
        own_mutex(lane)?;
        keep_memory(lane);
    }
    lane.tag.store(session.tag(), Relaxed);
    lane.move_in(stack);
    lane.record().kind.store(lane_kind::OWNED, Release);
    publish(lane);
    checks.watch(lane);
    LANES_USED.store(made + 1, Release);
    if let Some(header) = header() {
        header.lanes.store(made + 1, Relaxed);
    }
    Some(lane)
}

/// Initializes the mutex of a new lane, and locks it for ever.
fn own_mutex(lane: &Lane) -> Option<()> {
    // SAFETY: the zeroed mutex is initialized here once, before the lane is published. The
    // attributes are initialized first.
    let is_ready = unsafe {
        let mut attributes: libc::pthread_mutexattr_t = std::mem::zeroed();
        libc::pthread_mutexattr_init(&mut attributes);
        libc::pthread_mutexattr_setrobust(&mut attributes, libc::PTHREAD_MUTEX_ROBUST);
        let ready = libc::pthread_mutex_init(lane.mutex.get(), &attributes) == 0
            && libc::pthread_mutex_trylock(lane.mutex.get()) == 0;
        libc::pthread_mutexattr_destroy(&mut attributes);
        ready
    };
    is_ready.then_some(())
}

/// Returns the lane of all threads that have none of their own.
fn overflow(session: &Session) -> Option<&'static Lane> {
    let mut checks = PEAK_CHECKS.lock();
    if let Some(lane) = lane_at(LANES as u32) {
        return Some(lane);
    }
    let lane = make(session, LANES as u32, None)?;
    lane.tag.store(session.tag(), Relaxed);
    lane.record().kind.store(lane_kind::SHARED, Release);
    checks.watch(lane);
    publish(lane);
    OVERFLOW_USED.store(1, Release);
    Some(lane)
}

/// Bytes of the memory of a lane, which has pages of its own: other threads know it for ever.
const LANE_BYTES: usize = size_of::<Lane>().next_multiple_of(sys::PAGE);

/// Makes the memory of a lane zeros again, except for its mutex, which the calling thread holds.
fn clear(lane: &'static Lane) -> NonNull<Lane> {
    let start = from_ref(lane).cast_mut().cast::<u8>();
    let mutex = std::mem::offset_of!(Lane, mutex);
    let after = mutex + size_of::<libc::pthread_mutex_t>();
    let pages = after.next_multiple_of(sys::page_bytes());
    let end = size_of::<Lane>();
    // SAFETY: no other thread uses the lane, and it consists of values for which zeros are valid.
    // Whole pages after the mutex are freed.
    unsafe {
        start.write_bytes(0, mutex);
        if pages < end {
            start.add(after).write_bytes(0, pages - after);
            let whole = (LANE_BYTES - pages) / sys::page_bytes() * sys::page_bytes();
            if libc::madvise(start.add(pages).cast(), whole, libc::MADV_DONTNEED) != 0 {
                start.add(pages).write_bytes(0, whole);
            }
            let rest = pages + whole;
            start.add(rest).write_bytes(0, LANE_BYTES - rest);
        } else {
            start.add(after).write_bytes(0, end - after);
        }
    }
    NonNull::from(lane)
}

/// Allocates memory for a lane, or uses that of an earlier recording again, and connects it with its
/// record in the recording.
fn make(session: &Session, number: u32, earlier: Option<&'static Lane>) -> Option<&'static Lane> {
    session.prepare_lane(number)?;
    let mut bump = Bump::new();
    let place: NonNull<Lane> = match earlier {
        Some(lane) => clear(lane),
        None => sys::map_private(LANE_BYTES)?.cast(),
    };
    // This counts the lane up to its table from site to row, which uses few pages.
    sys::count_own(std::mem::offset_of!(Lane, slots).next_multiple_of(sys::PAGE));
    let cache: NonNull<[Cached; 2]> = bump.take_sparse(CACHE)?;
    let fixed @ [_, full, unattributed] = fixed_rows(number)?;
    let table = |id| Table::new(id, number, 8 << 10, 64 << 10);
    let clock = CLOCK.load(Acquire);
    for row in fixed {
        row.clock.store(clock, Relaxed);
    }
    full.site.store(SITE_TABLE_FULL, Relaxed);
    unattributed.site.store(SITE_UNATTRIBUTED, Relaxed);
    // SAFETY: zeroed memory for a lane that nobody else knows. Zeros are valid for every field that
    // is not written here.
    let lane = unsafe {
        let lane = place.as_ptr();
        (*lane).number = number;
        (*lane).bits = LaneBits::of(number);
        (*lane).fixed = fixed;
        (*lane).cache = cache.as_ptr();
        (*lane).record = session.lane_record(number);
        (&raw mut (*lane).tables).write(UnsafeCell::new(LaneTables {
            rows: table(table::ROWS),
            sizes: table(table::SIZES),
            checkpoints: table(table::CHECKPOINTS),
            visits: table(table::VISITS),
            samples: table(table::SAMPLES),
            bump,
        }));
        &*lane
    };
    // The first fall makes a check.
    lane.limit.store(i64::MIN, Relaxed);
    lane.step.set(STEP);
    Some(lane)
}

impl Lane {
    /// Makes the calling thread the owner.
    fn move_in(&self, stack: Stack) {
        self.in_flight.address.store(0, Relaxed);
        let (record, all) = (self.record(), self.all());
        self.limits.set_stack(stack);
        self.limits.forget_foreign();
        self.since_births.set(all.total_blocks.load(Relaxed));
        self.look_after(0);
        sums_of(all).store(&record.since);
        record.since_clock.store(CLOCK.load(Relaxed), Relaxed);
        record
            .tenancies
            .store(record.tenancies.load(Relaxed) + 1, Relaxed);
        record.stack_low.store(stack.low as u64, Relaxed);
        record.stack_high.store(stack.high as u64, Relaxed);
        record.thread_pointer.store(sys::thread_pointer(), Relaxed);
        let in_flight = from_ref(&self.in_flight).expose_provenance();
        record.in_flight.store(in_flight as u64, Relaxed);
        self.names_to_read.set(4);
        self.read_name();
    }

    /// Adds the last owner's counters to the threads with its name.
    fn hand_over(&self, session: &Session) {
        let record = self.record();
        let since = Sums::load(&record.since);
        let sums = sums_of(self.all()).zip(since, u64::wrapping_sub);
        let name = [record.name[0].load(Relaxed), record.name[1].load(Relaxed)];
        let since = (since.net(), record.since_clock.load(Relaxed));
        session
            .write
            .lock()
            .thread_ended(name, sums, self.all(), since);
    }
}
