//! Lanes by number: the lanes in use, and their fixed rows.
//!
//! The reasons for its choices are in `docs/src/decisions/threads-and-memory.md`.

use super::rows::sums_of;
use crate::accounting::Sums;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering::*};
use tracking_alloc_recording::{FURTHER_LANES, LANE_TABLES, LANES, Row};

/// Three fixed rows for each lane: all events, "(table full)", "(unattributed)". This is the first
/// table, followed by the further ones.
pub(super) static FIXED_ROWS: [AtomicPtr<[Row; 3]>; LANE_TABLES] =
    [const { AtomicPtr::new(null_mut()) }; LANE_TABLES];
/// Number of lanes that ever had an owner, without the overflow lane.
pub(crate) static LANES_USED: AtomicU32 = AtomicU32::new(0);
/// `true` if the overflow lane is in use.
pub(crate) static OVERFLOW_USED: AtomicU32 = AtomicU32::new(0);

/// Forgets all lanes, at the start of a recording.
pub(super) fn forget() {
    let tables = FIXED_ROWS.iter();
    tables.for_each(|table| table.store(null_mut(), Release));
    LANES_USED.store(0, Release);
    OVERFLOW_USED.store(0, Release);
}

/// Returns the number of the lane that is created after this many lanes.
pub(crate) fn lane_number(made: u32) -> u32 {
    made + u32::from(made as usize >= LANES)
}

/// Returns the numbers of all lanes in use, including the overflow lane.
pub(crate) fn lanes_in_use() -> impl Iterator<Item = u32> {
    let overflow = OVERFLOW_USED.load(Acquire) != 0;
    (0..LANES_USED.load(Acquire))
        .map(lane_number)
        .chain(overflow.then_some(LANES as u32))
}

/// Returns the number of lanes in use in each table of lanes that was written.
pub(super) fn tables_of_lanes() -> impl Iterator<Item = usize> {
    let used = LANES_USED.load(Acquire) as usize;
    let further = used.saturating_sub(LANES);
    let overflow = (OVERFLOW_USED.load(Acquire) != 0 && used < LANES) as usize;
    [used.min(LANES), overflow].into_iter().chain(
        (0..further.div_ceil(FURTHER_LANES))
            .map(move |table| (further - table * FURTHER_LANES).min(FURTHER_LANES)),
    )
}

/// Returns the table of fixed rows and lane records that contains a lane, and its place there.
pub(super) fn table_of(lane: u32) -> (usize, usize) {
    match (lane as usize).checked_sub(LANES + 1) {
        None => (0, lane as usize),
        Some(further) => (1 + further / FURTHER_LANES, further % FURTHER_LANES),
    }
}

/// Returns the fixed rows of a lane: all events, "(table full)", "(unattributed)".
pub(crate) fn fixed_rows(lane: u32) -> Option<&'static [Row; 3]> {
    let (table, place) = table_of(lane);
    let rows = FIXED_ROWS.get(table)?.load(Acquire);
    // SAFETY: there are three rows for every lane of the table. They are mapped until the process
    // ends.
    (!rows.is_null()).then(|| unsafe { &*rows.add(place) })
}

/// Returns the sums of all lanes. The rows "all" and "(unattributed)" of a lane together count each
/// of its events once.
pub(crate) fn sums_of_lanes() -> Sums {
    let mut sums = Sums::default();
    for [all, _, unattributed] in lanes_in_use().filter_map(fixed_rows) {
        sums = sums.zip(sums_of(all), u64::wrapping_add);
        sums = sums.zip(sums_of(unattributed), u64::wrapping_add);
    }
    sums
}
