//! All lanes together, for checks, marks and finishing.

use super::{Lane, Slot, TABLE};
use std::ptr::{from_ref, null_mut};
use std::sync::atomic::Ordering::*;
use tracking_alloc_recording::{MAX_LANES, Row};

/// Returns the lane with a number, if it exists.
pub(in crate::hook) fn lane_at(number: u32) -> Option<&'static Lane> {
    // SAFETY: null or a lane, which is never unmapped.
    unsafe { TABLE.get(number as usize)?.load(Acquire).as_ref() }
}

/// Returns all lanes.
pub(in crate::hook) fn lanes() -> impl Iterator<Item = &'static Lane> {
    (0..MAX_LANES as u32).filter_map(lane_at)
}

/// Returns the rows of a lane's sites.
pub(in crate::hook) fn rows_of(lane: u32) -> impl Iterator<Item = &'static Row> {
    lane_at(lane).into_iter().flat_map(|lane| {
        // SAFETY: null or a row, which stays mapped.
        let row = |slot: &Slot| unsafe { slot.row.load(Acquire).as_ref() };
        let rows = lane.slots.all().filter_map(row);
        rows.filter(|row| !lane.is_full(row))
    })
}

/// Forgets all lanes, for a forked child that starts its own recording. Their memory is not freed.
pub(in crate::hook) fn forget_all() {
    TABLE
        .iter()
        .for_each(|slot| slot.store(null_mut(), Release));
}

/// Makes the next fall of every lane check, because the maximum was reset. Call under the peak
/// lock.
pub(in crate::hook) fn reset_limits() {
    lanes().for_each(|lane| lane.limit.store(i64::MIN, Relaxed));
}

/// Makes a new lane known under its number.
pub(in crate::hook) fn publish(lane: &'static Lane) {
    if let Some(place) = TABLE.get(lane.number as usize) {
        place.store(from_ref(lane).cast_mut(), Release);
    }
}
