//! The four events, from the state word to the counters.

use super::lane::{Cached, Lane, Slot, acquire};
use super::open::Open;
use super::peak;
use super::row::add;
use crate::session::{self, Session};
use crate::shadow::{self, Owner};
use crate::stack::{self, Start};
use crate::{state, thread};
use std::sync::atomic::{Ordering::*, compiler_fence};
use tracking_alloc_recording::{Row, SITE_UNATTRIBUTED};

/// After a successful allocation.
#[inline(never)]
pub(crate) fn allocated(block: *mut u8, bytes: usize) {
    let start = Start::here();
    enter(|lane, word| {
        if word & state::PAUSED == 0 {
            alloc_in(lane, start, block as usize, bytes);
        }
    }, Missed::Alloc(block as usize, bytes));
}

/// Before a block is given back.
#[inline(never)]
pub(crate) fn freed(block: *mut u8, bytes: usize) {
    enter(|lane, _| free_in(lane, block as usize, bytes), Missed::Free(block as usize, bytes));
}

/// Before a realloc is forwarded: takes the block out of the shadow map, so that another thread may be given its address.
#[inline(always)]
pub(crate) fn reallocating(block: *mut u8, bytes: usize) -> Option<Owner> {
    if state::get() & state::RECORD == 0 {
        return None;
    }
    shadow::take(block as usize, bytes)
}

/// After a realloc: one event. A failed one puts the block back and changes nothing.
#[inline(never)]
pub(crate) fn reallocated(owner: Option<Owner>, old: *mut u8, old_bytes: usize, new: *mut u8, bytes: usize) {
    if new.is_null() {
        if let Some(owner) = owner {
            shadow::put(old as usize, old_bytes, owner);
        }
        return;
    }
    let start = Start::here();
    let moved = Realloc { owner, old: old as usize, old_bytes, new: new as usize, bytes };
    enter(|lane, word| match moved.owner {
        Some(owner) => realloc_in(lane, start, owner, moved),
        None if word & state::PAUSED == 0 => alloc_in(lane, start, moved.new, moved.bytes),
        None => {}
    }, Missed::Realloc(moved));
}

#[derive(Clone, Copy)]
struct Realloc {
    owner: Option<Owner>,
    old: usize,
    old_bytes: usize,
    new: usize,
    bytes: usize,
}

/// An event that found the hook busy in its own thread (a signal handler).
enum Missed {
    Alloc(usize, usize),
    Free(usize, usize),
    Realloc(Realloc),
}

/// Runs an event in the thread's lane, guarded against re-entry.
///
/// PERF: one compare of the state word with the lane's tag decides everything on the usual way: recording, not paused,
/// nobody measuring, the lane of this generation and not shared.
#[inline(always)]
fn enter(event: impl Fn(&'static Lane, u32), missed: Missed) {
    let lane = thread::with(|thread| thread.lane.get()).unwrap_or(std::ptr::null());
    // SAFETY: null or a lane, which is never unmapped.
    if let Some(lane) = unsafe { lane.as_ref() } {
        if lane.busy.load(Relaxed) {
            // NOTE: on the shared lane the flag says nothing: whoever asks raises it for a moment.
            return if lane.is_shared() { enter_slowly(&event, missed) } else { miss(lane, missed) };
        }
        lane.busy.store(true, Relaxed);
        // NOTE: busy before the state is read again. The one who finishes clears the state, fences every thread,
        // then waits for busy lanes: so nobody writes into a finished recording.
        compiler_fence(SeqCst);
        let word = state::get();
        if word == lane.tag.load(Relaxed) {
            event(lane, word);
            compiler_fence(SeqCst);
            lane.busy.store(false, Relaxed);
            return;
        }
        lane.busy.store(false, Relaxed);
    }
    enter_slowly(&event, missed);
}

/// The same with every question asked.
#[cold]
#[inline(never)]
fn enter_slowly(event: &dyn Fn(&'static Lane, u32), missed: Missed) {
    let word = state::get();
    if word & state::RECORD == 0 {
        return;
    }
    let Some(session) = session::current() else { return };
    if thread::with(|thread| thread.busy.replace(true)) != Some(false) {
        return miss_anywhere(session, missed);
    }
    let _open = Open::count();
    let tag = word & !(state::PAUSED | state::MEASURE | state::COUNT);
    // SAFETY: null or a lane, which is never unmapped.
    let known = unsafe { thread::with(|thread| thread.lane.get()).and_then(|lane| lane.as_ref()) };
    let lane = match known {
        // Finished meanwhile: nothing may be written any more, a lane's record neither.
        _ if state::get() & state::RECORD == 0 => None,
        Some(lane) if lane.tag.load(Relaxed) == tag || lane.is_shared() && session.tag() == tag => Some(lane),
        // SAFETY: `busy` is set for this thread.
        _ => unsafe { acquire(session) },
    };
    if let Some(lane) = lane {
        if lane.is_shared() {
            let _alone = lane.shared.hold();
            // The shared lane walks whichever thread's stack is calling.
            lane.stack.set(crate::sys::thread_stack());
            if state::get() & state::RECORD != 0 {
                event(lane, word);
            }
        } else {
            lane.busy.store(true, Relaxed);
            compiler_fence(SeqCst);
            if state::get() & state::RECORD != 0 {
                event(lane, word);
            }
            compiler_fence(SeqCst);
            lane.busy.store(false, Relaxed);
        }
    }
    thread::with(|thread| thread.busy.set(false));
}

/// The site of the calling stack and scope, with its slot and row in the lane.
#[inline(always)]
fn site_here(lane: &'static Lane, start: Start) -> (u32, &'static Slot, &'static Row) {
    let scope = thread::with(|thread| thread.scope.get()).unwrap_or(0);
    let key = stack::key(stack::walk(lane, start), scope);
    let entry = lane.cached(key);
    // SAFETY: the entry belongs to this lane, whose owner we are; a slot once cached is never unmapped.
    unsafe {
        if (*entry).key == key {
            let slot = &*(*entry).slot;
            return ((*entry).site, slot, slot.row());
        }
    }
    let site = crate::site::find(lane, start, key, scope);
    let row = lane.row_of(site);
    let Some(slot) = lane.slot(site) else { return (site, lane.spare_slot(), row) };
    // SAFETY: as above.
    unsafe { *entry = Cached { key, slot, site } };
    (site, slot, row)
}

#[inline(always)]
fn alloc_in(lane: &'static Lane, start: Start, block: usize, bytes: usize) {
    let (site, slot, row) = site_here(lane, start);
    let all = lane.all();
    let size = bytes as u64;
    let birth = all.total_blocks.load(Relaxed).wrapping_add(1);
    lane.count_size(slot, size);
    peak::around(lane, bytes as i64, || {
        lane.touch(site, row);
        lane.touch_all();
        add(&row.total_bytes, size);
        add(&row.total_blocks, 1);
        add(&all.total_bytes, size);
        add(&all.total_blocks, 1);
    });
    lane.last_block.set(block);
    if !shadow::put(block, bytes, Owner::new(site, lane.number, birth as u32)) {
        untracked();
    }
}

#[inline(always)]
fn free_in(lane: &'static Lane, block: usize, bytes: usize) {
    let Some(owner) = shadow::take(block, bytes) else {
        add(&lane.record().unknown_frees, 1);
        return;
    };
    let size = bytes as u64;
    if owner.site() == SITE_UNATTRIBUTED {
        return unattributed_free(lane.unattributed(), size);
    }
    let row = lane.row_of(owner.site());
    let all = lane.all();
    peak::around(lane, -(bytes as i64), || {
        lane.touch(owner.site(), row);
        lane.touch_all();
        add(&row.freed_bytes, size);
        add(&row.freed_blocks, 1);
        add(&all.freed_bytes, size);
        add(&all.freed_blocks, 1);
    });
    if lane.last_block.get() == block {
        lane.last_block.set(0);
        for row in [row, all] {
            add(&row.temporary_blocks, 1);
            add(&row.temporary_bytes, size);
        }
    }
    match lane.lifetime(owner) {
        Some(lifetime) => add(&row.lifetime, lifetime),
        None => add(&row.freed_elsewhere, 1),
    }
}

/// The block leaves its old site and counts, with its new size, at the site that reallocated. Both rows are saved for
/// the peak before either changes, and the net moves once, by the difference.
#[inline(always)]
fn realloc_in(lane: &'static Lane, start: Start, owner: Owner, realloc: Realloc) {
    let Realloc { old, old_bytes, new, bytes, .. } = realloc;
    let (old_size, size) = (old_bytes as u64, bytes as u64);
    let old_site = owner.site();
    let (site, slot, row) = site_here(lane, start);
    let all = lane.all();
    lane.count_size(slot, size);
    let old_row = if old_site == SITE_UNATTRIBUTED { None } else { Some(lane.row_of(old_site)) };
    peak::around(lane, bytes as i64 - old_bytes as i64, || {
        lane.touch(site, row);
        if let Some(old_row) = old_row {
            lane.touch(old_site, old_row);
        }
        lane.touch_all();
        for counted in [row, all] {
            add(&counted.total_bytes, size);
            add(&counted.total_blocks, 1);
            if bytes >= old_bytes {
                add(&counted.grows, 1);
                add(&counted.at_risk_bytes, old_size);
            } else {
                add(&counted.shrinks, 1);
            }
            if old != new {
                add(&counted.copied_bytes, old_size.min(size));
            }
        }
        match old_row {
            Some(old_row) => {
                add(&old_row.freed_bytes, old_size);
                add(&old_row.freed_blocks, 1);
                add(&all.freed_bytes, old_size);
                add(&all.freed_blocks, 1);
            }
            None => unattributed_free(lane.unattributed(), old_size),
        }
    });
    lane.last_block.set(0);
    if !shadow::put(new, bytes, owner.moved_to(site)) {
        untracked();
    }
}

#[cold]
fn untracked() {
    if let Some(header) = super::header() {
        header.untracked_blocks.fetch_add(1, Relaxed);
    }
}

/// A row that several contexts write: atomic additions.
#[cold]
fn unattributed_free(row: &Row, bytes: u64) {
    row.freed_bytes.fetch_add(bytes, Relaxed);
    row.freed_blocks.fetch_add(1, Relaxed);
}

#[cold]
fn unattributed_alloc(row: &Row, lane: u32, block: usize, bytes: usize) {
    row.total_bytes.fetch_add(bytes as u64, Relaxed);
    row.total_blocks.fetch_add(1, Relaxed);
    if !shadow::put(block, bytes, Owner::new(SITE_UNATTRIBUTED, lane, 0)) {
        untracked();
    }
}

/// The hook is busy in this thread: a signal handler allocates or frees in the middle of an event. Totals are kept,
/// without a stack.
#[cold]
#[inline(never)]
fn miss(lane: &'static Lane, missed: Missed) {
    if state::get() & state::RECORD != 0 {
        miss_in(lane.unattributed(), lane.number, missed);
    }
}

/// The same where the thread has no lane yet.
#[cold]
#[inline(never)]
fn miss_anywhere(session: &Session, missed: Missed) {
    if let Some(row) = session.stray_row() {
        miss_in(row, session.stray_lane(), missed);
    }
}

fn miss_in(row: &Row, lane: u32, missed: Missed) {
    match missed {
        Missed::Alloc(block, bytes) => unattributed_alloc(row, lane, block, bytes),
        Missed::Free(block, bytes) => {
            if shadow::take(block, bytes).is_some() {
                unattributed_free(row, bytes as u64);
            }
        }
        Missed::Realloc(realloc) => {
            if realloc.owner.is_some() {
                unattributed_free(row, realloc.old_bytes as u64);
            }
            unattributed_alloc(row, lane, realloc.new, realloc.bytes);
        }
    }
}

