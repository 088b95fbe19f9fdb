//! The four events, from the state word to the counters.

use super::here::{known_key, site_here, site_in_full};
use super::lane::{self, Lane, Lifetime, SizeCount};
use super::peak::{self, pauses};
use super::sampled::{self, TakenBlock};
use super::writers::{Inside, Open};
use super::{looks, net, owner};
use crate::accounting::{self, Event, Realloc};
use crate::session::{self, OVERFLOW_USED, Session, Shared, add, clock, fixed_rows, owned};
use crate::shadow::{self, Known, LaneBits, Owner};
use crate::stack::Start;
use crate::sys::Errno;
use crate::{counting, state, thread};
use std::num::NonZeroU64;
use std::sync::atomic::{Ordering::*, compiler_fence};
use tracking_alloc_recording::{Clock, LANES, Row, SITE_UNATTRIBUTED, lane_kind};

/// The function called instead of recording an allocation while the environment may not have been
/// examined yet.
type First = fn(*mut u8, usize);

/// Records a successful allocation.
// PERF: rare cases are tail calls, so that the common path keeps nothing across calls.
#[inline(never)]
pub(crate) fn allocated(block: *mut u8, bytes: usize, first: First) {
    let block = block as usize;
    let Some(lane) = enter() else {
        return alloc_slowly(Start::here(), block, bytes, first);
    };
    match alloc_known(lane, Start::here(), block, bytes) {
        Ok(births) if lane.looks_at(births) => look_entered(lane),
        Ok(_) => leave(lane),
        Err(key) => alloc_entered(lane, Start::here(), key, block, bytes),
    }
}

/// Records that the allocator returned null.
#[cold]
#[inline(never)]
pub(crate) fn request_failed(bytes: usize) {
    request_failed_at(Start::here(), bytes);
}

/// Counts a failed request at the site of a stack. It needs no row, because nothing was allocated.
#[cold]
#[inline(never)]
fn request_failed_at(start: Start, bytes: usize) {
    // The caller of the allocator may read errno.
    let _errno = Errno::keep();
    let Some(session) = session::current().filter(|_| !state::is_paused()) else {
        return;
    };
    let Some(inside) = Inside::enter() else {
        return;
    };
    let Some(lane) = owner::of_thread(&inside, session) else {
        return;
    };
    let site = if lane.is_shared() {
        let stack = owner::stack_of_thread();
        let _alone = lane.shared.lock();
        lane.limits.set_stack(stack);
        site_in_full(lane, start)
    } else {
        lane.busy.store(true, Relaxed);
        compiler_fence(SeqCst);
        site_in_full(lane, start)
    };
    if state::is_recording() {
        session.write.lock().request_failed(site, bytes as u64);
    }
}

/// Records a free, before it is forwarded.
#[inline(never)]
pub(crate) fn freed(block: *mut u8, bytes: usize) {
    free(block as usize, bytes);
}

#[inline(always)]
fn free(block: usize, bytes: usize) {
    match enter() {
        Some(lane) if free_known(lane, block, bytes) => leave(lane),
        Some(lane) => free_entered(lane, block, bytes),
        None => free_slowly(block, bytes),
    }
}

/// Records a free of a block whose size only the recording knows.
#[inline(never)]
pub(crate) fn freed_unsized(block: *mut u8) {
    let block = block as usize;
    let bytes = if state::is_recording() {
        sampled::known_bytes(block)
    } else {
        0
    };
    free(block, bytes);
}

/// Takes the block out of the recording before a realloc is forwarded, because another thread may
/// get its address. The size is `bytes` if the caller knows it. Until the realloc was recorded, the
/// block is in the lane, so that a copy of the memory has it.
#[inline(always)]
pub(crate) fn reallocating(block: *mut u8, bytes: Option<usize>) -> TakenBlock {
    let word = state::get();
    if word & state::RECORD == 0 {
        return TakenBlock {
            bytes: bytes.unwrap_or(0),
            ..TakenBlock::default()
        };
    }
    if word & state::SAMPLE != 0 {
        return sampled::reallocating(block as usize, bytes);
    }
    let block = block as usize;
    let known = shadow::known(block);
    let bytes = bytes.unwrap_or_else(|| match known {
        Some(known) => known.bytes(),
        None => shadow::bytes_elsewhere(block),
    });
    if let Some(lane) = lane::own() {
        lane.begin_realloc(block, bytes, known.and_then(Known::owner));
    }
    let owner = match known {
        Some(known) => known.take(),
        None => shadow::take(block),
    };
    TakenBlock {
        owner,
        bytes,
        sample: None,
    }
}

/// Takes a block of a pool out of the recording before the pool reallocates it. The pool's own code
/// runs until the realloc is recorded, and may never come to that, so the block is not put into the
/// lane: a snapshot in between lacks it.
#[cold]
#[inline(never)]
pub(crate) fn reallocating_in_pool(block: *mut u8) -> TakenBlock {
    if state::is_recording() {
        sampled::reallocating_in_pool(block as usize)
    } else {
        TakenBlock::default()
    }
}

/// Records a realloc as one event, after it was forwarded. If it failed, puts the block back and
/// counts a failed request.
#[inline(never)]
pub(crate) fn reallocated(
    owner: Option<Owner>,
    old: *mut u8,
    old_bytes: usize,
    new: *mut u8,
    bytes: usize,
) {
    let start = Start::here();
    if new.is_null() {
        if let Some(owner) = owner {
            shadow::put(old as usize, old_bytes, owner);
        }
        end_realloc();
        return request_failed_at(start, bytes);
    }
    let moved = Realloc {
        old: old as usize,
        old_bytes,
        new: new as usize,
        bytes,
    };
    match (enter(), owner) {
        (Some(lane), Some(owner)) => {
            realloc_in(lane, start, owner, moved);
            end_realloc_in(lane);
            leave(lane);
        }
        (Some(lane), None) => {
            unknown_realloc_in(lane, start, moved);
            end_realloc_in(lane);
            leave(lane);
        }
        (None, owner) => realloc_slowly(owner, start, moved),
    }
}

/// Records a realloc while samples are taken, or one of a sampled block.
#[cold]
#[inline(never)]
pub(crate) fn reallocated_among_samples(
    taken: TakenBlock,
    old: *mut u8,
    new: *mut u8,
    bytes: usize,
) {
    let start = Start::here();
    if new.is_null() {
        sampled::put_back(taken, old as usize);
        end_realloc();
        return request_failed_at(start, bytes);
    }
    if sampled::realloc_passes(state::get(), taken, bytes) {
        return end_realloc();
    }
    let moved = Realloc {
        old: old as usize,
        old_bytes: taken.bytes,
        new: new as usize,
        bytes,
    };
    slow_path(Event::Realloc(moved), taken, start);
    end_realloc();
}

/// Notes that the calling thread's realloc is over.
#[inline(always)]
fn end_realloc() {
    if let Some(lane) = lane::own() {
        lane.end_realloc();
    }
}

/// Does the same for a lane that was entered, and looks if it is time.
#[inline(always)]
fn end_realloc_in(lane: &'static Lane) {
    lane.end_realloc();
    if lane.looks_at(lane.births()) {
        looks::look(lane);
    }
}

/// Enters the fast path if all of these conditions hold:
/// - something records and is not paused,
/// - the thread has its own lane of this generation, does not measure and was not idle for long,
/// - the hook is not running in the lane.
///
/// Until [`leave`], events of signal handlers in this thread see the lane as busy.
///
/// PERF: comparing the state word with the lane's tag checks all of them but the last.
#[inline(always)]
fn enter() -> Option<&'static Lane> {
    let lane = lane::own().filter(|lane| !lane.busy.load(Relaxed))?;
    lane.busy.store(true, Relaxed);
    // NOTE: the busy flag is set before state and tag are read. A thread that finishes the
    // recording clears the state; a thread that parks a lane marks its tag. Both then fence every
    // thread and read the flag. So nobody writes into a finished recording, or into the row of a
    // lane whose sum is assumed to be known.
    compiler_fence(SeqCst);
    if state::get() == lane.tag.load(Relaxed) {
        return Some(lane);
    }
    leave(lane);
    None
}

#[inline(always)]
fn leave(lane: &Lane) {
    compiler_fence(SeqCst);
    lane.busy.store(false, Release);
}

/// Records the common case of an allocation: a known site and size class, no check of the peak, and
/// a written page of the shadow map. In all other cases it counts nothing and returns an error,
/// with the key of the stack if it was found. Returns the number of the lane's allocations.
#[inline(always)]
fn alloc_known(
    lane: &'static Lane,
    start: Start,
    block: usize,
    bytes: usize,
) -> Result<u64, Option<NonZeroU64>> {
    let key = known_key(lane, start).ok_or(None)?;
    let cached = lane.cached(key.get()).ok_or(Some(key))?;
    // SAFETY: cached rows and slots stay mapped while the recording is current.
    let (row, slot) = unsafe { (&*cached.row, &*cached.slot) };
    let size = bytes as u64;
    let size_count = slot.size_count(size);
    let all = lane.all();
    if matches!(size_count, SizeCount::New(_))
        || peak::checks_rise(lane, all, bytes as i64)
        || !are_touched(row, all, clock())
    {
        return Err(Some(key));
    }
    let place = shadow::place(block).ok_or(Some(key))?;
    if let SizeCount::Pair(pair) = size_count {
        add(pair, 1);
    }
    let (owner, births) = count_alloc(lane, row, all, cached.site, size);
    place.put(bytes, owner);
    thread::set_last_block(block);
    Ok(births)
}

/// Records the common case of a free. Returns `false` and does nothing in other cases.
#[inline(always)]
fn free_known(lane: &'static Lane, block: usize, bytes: usize) -> bool {
    let Some(known) = shadow::known(block) else {
        return false;
    };
    // The lane looks up no row for events without a stack.
    let Some(row) = lane.known_row(known.site()) else {
        return false;
    };
    let all = lane.all();
    if !are_touched(row, all, clock()) || peak::checks_fall(lane, row, all, bytes as i64) {
        return false;
    }
    if let Some(owner) = known.take() {
        count_free(row, all, bytes as u64);
        count_end(lane, row, all, owner, block, bytes as u64);
    }
    true
}

/// Looks in a lane that was entered, after an allocation was recorded.
#[cold]
#[inline(never)]
fn look_entered(lane: &'static Lane) {
    looks::look(lane);
    leave(lane);
}

/// Does the rest of an allocation in a lane that was entered.
#[cold]
#[inline(never)]
fn alloc_entered(
    lane: &'static Lane,
    start: Start,
    key: Option<NonZeroU64>,
    block: usize,
    bytes: usize,
) {
    alloc_in(lane, start, key, block, bytes);
    looks::look(lane);
    leave(lane);
}

/// Does the rest of a free in a lane that was entered.
#[cold]
#[inline(never)]
fn free_entered(lane: &'static Lane, block: usize, bytes: usize) {
    free_in(lane, block, bytes);
    leave(lane);
}

#[cold]
#[inline(never)]
fn alloc_slowly(start: Start, block: usize, bytes: usize, first: First) {
    if state::is_unexamined() {
        return first(block as *mut u8, bytes);
    }
    if sampled::allocation_passes(bytes) {
        return;
    }
    slow_path(Event::Alloc(block, bytes), TakenBlock::default(), start);
}

#[cold]
#[inline(never)]
fn realloc_slowly(owner: Option<Owner>, start: Start, moved: Realloc) {
    let taken = TakenBlock {
        owner,
        bytes: moved.old_bytes,
        sample: None,
    };
    slow_path(Event::Realloc(moved), taken, start);
    end_realloc();
}

#[cold]
#[inline(never)]
fn free_slowly(block: usize, bytes: usize) {
    if sampled::free_passes(state::get(), block, bytes) {
        return;
    }
    // A free has no stack.
    slow_path(
        Event::Free(block, bytes),
        TakenBlock::default(),
        Start::from_registers((0, 0, 0)),
    );
}

/// The slow path, with every check.
// NOTE: inlined, because an event has little stack.
#[inline(always)]
fn slow_path(event: Event, taken: TakenBlock, start: Start) {
    if counting::measure(event) && !thread::passes_over() {
        net::measuring(false);
    }
    if !record(event, taken, start) {
        counting::unrecorded(event);
    }
}

/// Records an event; `taken` is the block to be reallocated. Returns `false` if nothing records, or
/// if this event is not recorded.
#[inline(never)]
fn record(event: Event, taken: TakenBlock, start: Start) -> bool {
    let mut word = state::get();
    if word & state::RECORD == 0 {
        return false;
    }
    let Some(session) = session::current() else {
        return false;
    };
    let Some(inside) = Inside::enter() else {
        return miss(session, event, taken);
    };
    if word & state::PAUSED != 0 {
        pauses::look();
        word = state::get();
    }
    let Some(lane) = owner::of_thread(&inside, session) else {
        return false;
    };
    if lane.is_shared() {
        // NOTE: read before the lock is taken, because libc may take its own locks.
        let stack = owner::stack_of_thread();
        let _alone = lane.shared.lock();
        // The shared lane walks the stack of the calling thread, which differs between calls.
        lane.limits.set_stack(stack);
        return state::is_recording() && run(event, taken, lane, start, word);
    }
    // The thread may have just got this lane.
    lane.busy.store(true, Relaxed);
    compiler_fence(SeqCst);
    peak::wake(lane);
    state::is_recording() && run(event, taken, lane, start, word)
}

/// Records an event in a lane, and looks after an allocation. Returns `false` if it is not
/// recorded.
fn run(event: Event, taken: TakenBlock, lane: &'static Lane, start: Start, word: u32) -> bool {
    let is_recorded = record_in(event, taken, lane, start, word);
    if !matches!(event, Event::Free(..)) {
        looks::look(lane);
    }
    is_recorded
}

/// Records an event in a lane. While recording is paused, or the thread works for heapglass itself,
/// new blocks are skipped (returns `false`) and known blocks are followed.
#[inline(always)]
fn record_in(
    event: Event,
    taken: TakenBlock,
    lane: &'static Lane,
    start: Start,
    word: u32,
) -> bool {
    let passes_over = thread::passes_over();
    let paused = word & state::PAUSED != 0 || passes_over;
    // A block that became a sample may be reallocated while the mode changes.
    if word & state::SAMPLE != 0 || taken.sample.is_some() {
        let counting = if passes_over { 0 } else { word };
        return sampled::record((lane, start), event, taken, (paused, counting), free_in);
    }
    let owner = taken.owner;
    match (event, owner) {
        // The block was not recorded when it was allocated either.
        (Event::Free(block, _), _) if passes_over && shadow::known(block).is_none() => {
            return false;
        }
        (Event::Free(block, bytes), _) => free_in(lane, block, bytes),
        (Event::Realloc(moved), Some(owner)) => realloc_in(lane, start, owner, moved),
        _ if paused => return false,
        (Event::Alloc(block, bytes), _) => alloc_in(lane, start, None, block, bytes),
        (Event::Realloc(moved), None) => unknown_realloc_in(lane, start, moved),
    }
    true
}

/// Returns `true` if the row of a site and that of all events were saved since the clock advanced.
#[inline(always)]
fn are_touched(row: &Row, all: &Row, now: Clock) -> bool {
    row.clock.load(Relaxed) == now && all.clock.load(Relaxed) == now
}

/// Counts an allocation in rows whose values were saved. Returns the block's owner, and the number
/// of the lane's allocations. `all` is the row of all events.
///
/// PERF: the row of all events is read from the lane once per event and passed.
#[inline(always)]
fn count_alloc(lane: &'static Lane, row: &Row, all: &Row, site: u32, size: u64) -> (Owner, u64) {
    let birth = all.total_blocks.load(Relaxed).wrapping_add(1);
    accounting::allocated(owned(row), size);
    accounting::allocated(owned(all), size);
    (Owner::new(site, lane.bits, birth as u32), birth)
}

/// Counts a free in rows whose values were saved.
#[inline(always)]
fn count_free(row: &Row, all: &Row, size: u64) {
    accounting::freed(owned(row), size);
    accounting::freed(owned(all), size);
}

/// Counts the lifetime of a freed block.
#[inline(always)]
fn count_end(lane: &'static Lane, row: &Row, all: &Row, owner: Owner, block: usize, size: u64) {
    if thread::take_last_block(block) {
        accounting::was_temporary(owned(row), size);
        accounting::was_temporary(owned(all), size);
    }
    match lane.lifetime(owner, all) {
        Lifetime::Here(lifetime) => {
            add(&row.lifetime, lifetime);
            add(&row.lifetime_blocks, 1);
        }
        Lifetime::Elsewhere => add(&row.freed_elsewhere, 1),
        Lifetime::Unknown => {}
    }
}

fn alloc_in(
    lane: &'static Lane,
    start: Start,
    key: Option<NonZeroU64>,
    block: usize,
    bytes: usize,
) {
    let (site, slot, row) = site_here(lane, start, key);
    let size = bytes as u64;
    lane.count_size(slot, size);
    let owner = peak::around(lane, Some(row), bytes as i64, || {
        lane.touch_both(site, row, clock());
        let (owner, _) = count_alloc(lane, row, lane.all(), site, size);
        owner
    });
    thread::set_last_block(block);
    if !shadow::put(block, bytes, owner) {
        untracked();
    }
}

fn free_in(lane: &'static Lane, block: usize, bytes: usize) {
    // NOTE: a block leaves the map only after the check, so that a copy of the memory that is made
    // then has every block that counts as live.
    let known = shadow::known(block);
    let owner = match known {
        Some(known) => known.owner(),
        None => shadow::take(block),
    };
    let Some(owner) = owner else {
        add(&lane.record().unknown_frees, 1);
        return counting::unrecorded(Event::Free(block, bytes));
    };
    let size = bytes as u64;
    if owner.site() == SITE_UNATTRIBUTED {
        known.map(Known::take);
        return unattributed_free(lane.unattributed(), size);
    }
    let (row, all) = (lane.row_of(owner.site()), lane.all());
    peak::around(lane, Some(row), -(bytes as i64), || {
        known.map(Known::take);
        lane.touch_both(owner.site(), row, clock());
        count_free(row, all, size);
    });
    count_end(lane, row, all, owner, block, size);
}

/// Records a realloc of an unknown block as a new block.
#[cold]
#[inline(never)]
fn unknown_realloc_in(lane: &'static Lane, start: Start, moved: Realloc) {
    alloc_in(lane, start, None, moved.new, moved.bytes);
    thread::set_last_block(0);
    counting::unknown_reallocated(
        moved.old_bytes as u64,
        moved.bytes as u64,
        moved.old != moved.new,
    );
}

/// Records a realloc of a known block: the block moves from its old site to the site of the
/// realloc, with its new size. Both rows are saved for the peak before either changes, and the net
/// value changes once, by the difference.
#[inline(always)]
fn realloc_in(lane: &'static Lane, start: Start, owner: Owner, realloc: Realloc) {
    let Realloc {
        old,
        old_bytes,
        new,
        bytes,
        ..
    } = realloc;
    let (old_size, size) = (old_bytes as u64, bytes as u64);
    let old_site = owner.site();
    let (site, slot, row) = site_here(lane, start, None);
    let all = lane.all();
    lane.count_size(slot, size);
    let old_row = if old_site == SITE_UNATTRIBUTED {
        None
    } else {
        Some(lane.row_of(old_site))
    };
    peak::around(lane, None, bytes as i64 - old_bytes as i64, move || {
        let now = clock();
        if let Some(old_row) = old_row {
            lane.touch(old_site, old_row, now);
        }
        lane.touch_both(site, row, now);
        for counted in [row, all] {
            accounting::allocated(owned(counted), size);
            accounting::resized(owned(counted), old_size, size, old != new);
        }
        match old_row {
            Some(old_row) => {
                accounting::freed(owned(old_row), old_size);
                accounting::freed(owned(all), old_size);
            }
            None => unattributed_free(lane.unattributed(), old_size),
        }
    });
    thread::set_last_block(0);
    let births = lane.births_for(owner);
    if !shadow::put(new, bytes, owner.moved_to(site, births)) {
        untracked();
    }
}

#[cold]
fn untracked() {
    if let Some(header) = session::header() {
        header.untracked_blocks.fetch_add(1, Relaxed);
    }
}

#[cold]
fn unattributed_free(row: &Row, bytes: u64) {
    accounting::freed(Shared(row), bytes);
}

#[cold]
fn unattributed_alloc(row: &Row, lane: u32, block: usize, bytes: usize) {
    accounting::allocated(Shared(row), bytes as u64);
    if !shadow::put(
        block,
        bytes,
        Owner::new(SITE_UNATTRIBUTED, LaneBits::of(lane), 0),
    ) {
        untracked();
    }
}

/// Counts an event while the hook is busy in this thread, in its lane, or in the overflow lane if
/// it has none yet. Returns `false` if the recording was finished in the meantime.
#[cold]
#[inline(never)]
fn miss(session: &Session, event: Event, taken: TakenBlock) -> bool {
    const LANE: u32 = LANES as u32;
    if state::samples() {
        // A new block is no sample. A sample that is freed here stays until its address is used
        // again, because this may have interrupted a change of the set.
        return true;
    }
    let owner = taken.owner;
    let is_busy = |lane: &&Lane| lane.busy.load(Relaxed) && lane.is_of(session.tag());
    if let Some(lane) = lane::own().filter(is_busy) {
        return miss_in(lane.unattributed(), lane.number, event, owner);
    }
    let _open = Open::count();
    if !state::is_recording() {
        return false;
    }
    // SAFETY: a record of a mapped table.
    let lane = unsafe { &*session.lane_record(LANE) };
    lane.kind.store(lane_kind::SHARED, Relaxed);
    OVERFLOW_USED.store(1, Release);
    fixed_rows(LANE).is_some_and(|[.., row]| miss_in(row, LANE, event, owner))
}

/// Counts an event of a signal handler that interrupted another event in this thread. Only totals
/// are kept, without a stack.
#[cold]
fn miss_in(row: &Row, lane: u32, event: Event, owner: Option<Owner>) -> bool {
    match event {
        Event::Alloc(block, bytes) => unattributed_alloc(row, lane, block, bytes),
        Event::Free(block, bytes) => {
            if shadow::take(block).is_none() {
                return false;
            }
            unattributed_free(row, bytes as u64);
        }
        Event::Realloc(realloc) => {
            if owner.is_some() {
                unattributed_free(row, realloc.old_bytes as u64);
            }
            unattributed_alloc(row, lane, realloc.new, realloc.bytes);
        }
    }
    true
}
