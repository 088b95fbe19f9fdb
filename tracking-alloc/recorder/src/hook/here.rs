//! The site of the calling stack: from the walk to the row of the lane.

use super::lane::{Cached, Lane, Slot};
use crate::current_scope;
use crate::session::{self, KnownSite};
use crate::stack::{self, Start};
use std::num::NonZeroU64;
use std::sync::atomic::Ordering::*;
use tracking_alloc_recording::{Row, SITE_TABLE_FULL};

/// Returns the site of a stack, known to the lane or not.
pub(super) fn site_in_full(lane: &'static Lane, start: Start) -> u32 {
    let (frame_pointer, stack_pointer, pc) = start.registers();
    let key = key_in_full(lane, start);
    let scope = current_scope::current();
    lane.find_site(frame_pointer, stack_pointer, pc, key, scope)
        .site
}

/// Returns the key of the calling stack in the calling thread's scope, unless that needs a full
/// walk.
#[inline(always)]
pub(super) fn known_key(lane: &'static Lane, start: Start) -> Option<NonZeroU64> {
    let (limits, last) = (&lane.limits, &lane.last_walks);
    let key = stack::walk(
        limits,
        last,
        start,
        current_scope::current(),
        &session::FINDERS,
    );
    if cfg!(debug_assertions) {
        compare(lane, start, key?);
    }
    key.and_then(NonZeroU64::new)
}

#[cold]
#[inline(never)]
fn key_in_full(lane: &Lane, start: Start) -> u64 {
    stack::walk_in_full(
        &lane.limits,
        start,
        current_scope::current(),
        &session::FINDERS,
    )
}

/// Checks in debug builds that a full walk of the same stack has the same key.
#[cold]
#[inline(never)]
fn compare(lane: &Lane, start: Start, key: u64) {
    if key_in_full(lane, start) != key
        && let Some(header) = session::header()
    {
        header.walk_disagreements.fetch_add(1, Relaxed);
    }
}

/// Returns the site of the calling stack and scope, with its slot and row in the lane. `key` is the
/// key of that stack, if known.
#[inline(always)]
pub(super) fn site_here(
    lane: &'static Lane,
    start: Start,
    key: Option<NonZeroU64>,
) -> (u32, &'static Slot, &'static Row) {
    let mut key = key
        .or_else(|| known_key(lane, start))
        .map_or_else(|| key_in_full(lane, start), NonZeroU64::get);
    if let Some(cached) = lane.cached(key) {
        // SAFETY: cached rows and slots stay mapped while the recording is current.
        let (slot, row) = unsafe { (&*cached.slot, &*cached.row) };
        if !lane.is_spare(cached.slot) {
            return (cached.site, slot, row);
        }
        // The stack leads through code that can be unloaded.
        if !session::check_modules() {
            return (cached.site, lane.slot(cached.site).unwrap_or(slot), row);
        }
        key = key_in_full(lane, start);
    } else if session::check_modules() {
        key = key_in_full(lane, start);
    }
    if lane.limits.forget_old_cuts() {
        key = key_in_full(lane, start);
    }
    new_here(lane, start, key)
}

/// Finds the site of a key that is not in the lane's cache.
#[inline(always)]
fn new_here(lane: &'static Lane, start: Start, key: u64) -> (u32, &'static Slot, &'static Row) {
    lane.ask_again();
    let (frame_pointer, stack_pointer, pc) = start.registers();
    let KnownSite { mut site, can_go } = lane.find_site(
        frame_pointer,
        stack_pointer,
        pc,
        key,
        current_scope::current(),
    );
    let row = lane.row_of(site);
    if lane.is_full(row) {
        // NOTE: the block then belongs to "(table full)" wherever it is freed, even if the site
        // gets a row later.
        site = SITE_TABLE_FULL;
        lane.row_of(site);
    }
    let slot = lane.slot(site);
    // NOTE: with the spare slot, all events with this key take the path that checks if the code is
    // unchanged.
    let kept = slot
        .filter(|_| !can_go)
        .unwrap_or_else(|| lane.spare_slot());
    if slot.is_some() {
        lane.keep(Cached {
            key,
            row,
            slot: kept,
            site,
        });
    }
    (site, slot.unwrap_or(kept), row)
}
