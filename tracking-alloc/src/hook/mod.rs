//! The hook: what happens at each allocator call while something records.
//!
//! Never allocates through the hooked allocator, never panics, takes no lock on its hot path, keeps `errno`.
//! Order: alloc = forward, then record; free = record, then forward; realloc is one event.

mod event;
mod lane;
mod open;
mod peak;
mod row;
mod sizes;

pub(crate) use event::{allocated, freed, reallocated, reallocating};
#[cfg(feature = "serde")]
pub(crate) use lane::visit;
pub(crate) use lane::{
    Lane, MAX_DEPTH, Net, figures_net, lanes_in_use, measuring, net_here, release_all,
    tables_of_lanes, wait_until_idle,
};
pub(crate) use open::Inside;
pub(crate) use peak::{Window, look_now, mark_window};
pub(crate) use row::{at_peak, counted_rows, figures_of, part, recorded_stats, table_of};

use crate::sys::Lock;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64};
use tracking_alloc_recording::{Header, LANE_TABLES, Row};

/// The clock: epoch of the last peak above the number of the last snapshot. Changed under the look lock.
pub(crate) static CLOCK: AtomicU64 = AtomicU64::new(0);
/// The header of the recording; null before the start.
pub(crate) static HEADER: AtomicPtr<Header> = AtomicPtr::new(std::ptr::null_mut());
/// Three fixed rows for each lane: all events, "(table full)", "(unattributed)". The first table, and the further ones.
pub(crate) static FIXED_ROWS: [AtomicPtr<Row>; LANE_TABLES] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; LANE_TABLES];
/// Lanes that ever had an owner; the overflow lane is not among them.
pub(crate) static LANES_USED: AtomicU32 = AtomicU32::new(0);
/// Whether the overflow lane is in use.
pub(crate) static OVERFLOW_USED: AtomicU32 = AtomicU32::new(0);
/// The look lock: the peak, the timeline, snapshots, marks. Held before the write lock, never after it.
pub(crate) static LOOKS: Lock<peak::Looks> = Lock::new(peak::Looks::new());

/// The header, while a recording exists.
#[inline(always)]
pub(crate) fn header() -> Option<&'static Header> {
    // SAFETY: null or the mapped header, which stays mapped until the process ends.
    unsafe { HEADER.load(std::sync::atomic::Ordering::Acquire).as_ref() }
}

/// What looks share, as before any recording.
pub(crate) const fn fresh_looks() -> peak::Looks {
    peak::Looks::new()
}
