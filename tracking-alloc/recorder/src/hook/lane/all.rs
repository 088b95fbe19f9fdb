//! All lanes together, for checks, marks and finishing.

use super::{Lane, Slot, TABLE};
use crate::hook::writers;
use crate::sys;
use std::ptr::null_mut;
use std::sync::atomic::Ordering::*;
use tracking_alloc_recording::{MAX_LANES, Row};

/// Returns the lane with a number, if it exists.
pub(super) fn lane_at(number: u32) -> Option<&'static Lane> {
    // SAFETY: null or a lane, which is never unmapped.
    unsafe { TABLE.get(number as usize)?.load(Acquire).as_ref() }
}

fn lanes() -> impl Iterator<Item = &'static Lane> {
    (0..MAX_LANES as u32).filter_map(lane_at)
}

/// Returns the rows of a lane's sites.
pub(in super::super) fn rows_of(lane: u32) -> impl Iterator<Item = &'static Row> {
    lane_at(lane).into_iter().flat_map(|lane| {
        // SAFETY: null or a row, which stays mapped.
        let row = |slot: &Slot| unsafe { slot.row.load(Acquire).as_ref() };
        let rows = lane.slots.all().filter_map(row);
        rows.filter(|row| !lane.is_full(row))
    })
}

/// Waits until no owner is inside the hook. Returns `false` if one stays inside: it was killed
/// there, or it is this thread itself, in a signal handler.
pub(crate) fn wait_until_idle() -> bool {
    // About three seconds.
    const SLEEPS: u32 = 30_000;
    if writers::is_here() || !sys::fence_all_threads() && !sys::wait_for_stores() {
        return false;
    }
    let mut patience = sys::Patience::new(SLEEPS);
    // The shared lane is never busy. Threads that use it are counted as open writers.
    patience.wait_until(|| !writers::is_open())
        && lanes().all(|lane| patience.wait_until(|| !lane.busy.load(Acquire)))
}

/// Forgets all lanes, for a forked child that starts its own recording. Their memory is not freed.
pub(crate) fn release_all() {
    TABLE
        .iter()
        .for_each(|slot| slot.store(null_mut(), Release));
    writers::forget();
}

/// Makes the next fall of every lane check, because the maximum was reset. Call under the peak
/// lock.
pub(in super::super) fn reset_limits() {
    lanes().for_each(|lane| lane.limit.store(i64::MIN, Relaxed));
}
