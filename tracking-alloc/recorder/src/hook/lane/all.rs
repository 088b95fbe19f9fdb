//! All lanes together, for checks, marks and finishing.

use super::{Lane, Slot, TABLE};
use std::ptr::{from_ref, null_mut};
use std::sync::atomic::{AtomicPtr, Ordering::*};
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
        // SAFETY: null or a row, which stays mapped while the recording is current.
        let row = |slot: &Slot| unsafe { slot.row.load(Acquire).as_ref() };
        let rows = lane.slots.all().filter_map(row);
        rows.filter(|row| !lane.is_full(row))
    })
}

/// Forgets all lanes, for a forked child that starts its own recording, or for the next recording
/// of a process. Their memory is not freed, because threads know their lanes.
pub(in crate::hook) fn forget_all() {
    lanes().for_each(|lane| lane.countdown.exhaust());
    TABLE
        .iter()
        .for_each(|slot| slot.store(null_mut(), Release));
}

/// Memory of lanes, of this recording and of earlier ones.
static MADE: [AtomicPtr<Lane>; MAX_LANES] = [const { AtomicPtr::new(null_mut()) }; MAX_LANES];

/// Forgets the memory of all lanes, in a forked child. The threads that own them are the parent's.
pub(in crate::hook) fn forget_made() {
    MADE.iter().for_each(|slot| slot.store(null_mut(), Release));
}

/// Notes the memory of a lane. If there are too many, it is not used again.
pub(in crate::hook) fn keep_memory(lane: &'static Lane) {
    let place = from_ref(lane).cast_mut();
    for slot in &MADE {
        let added = slot.compare_exchange(null_mut(), place, AcqRel, Acquire);
        if added.is_ok() {
            return;
        }
    }
}

/// Returns the lanes of earlier recordings whose memory may be used again.
pub(in crate::hook) fn earlier(tag: u32) -> impl Iterator<Item = &'static Lane> {
    MADE.iter()
        // SAFETY: null or a lane, which is never unmapped.
        .map_while(|slot| unsafe { slot.load(Acquire).as_ref() })
        .filter(move |lane| !lane.is_of(tag))
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
