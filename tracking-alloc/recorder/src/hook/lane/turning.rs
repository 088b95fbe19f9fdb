//! The turning points of a lane: the falls of its net bytes from a possible maximum.

use crate::session::{CLOCK, net_bytes};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering::*};
use tracking_alloc_recording::Row;

/// The largest step, bytes: a lane makes a check before its net has changed by this much.
pub(in crate::hook) const STEP: i64 = 32 << 10;
/// Maximum number of turning points skipped in a row.
pub(in crate::hook) const MOST_SKIPS: u32 = 63;

/// The state of a lane's checks.
pub(in crate::hook) struct Turning {
    /// Number of falls from above the limit that are still skipped without a check, while other
    /// lanes change too.
    pub(in crate::hook) skip: Cell<u32>,
    pub(in crate::hook) backoff: Cell<u32>,
    /// `true` if a turning point was skipped since the last check.
    pub(in crate::hook) passed: AtomicBool,
    /// Number of checks that had seen a change in any lane, at this lane's last check.
    pub(in crate::hook) moves: Cell<u64>,
    /// Events of the lane at the last check.
    pub(in crate::hook) events: Cell<u64>,
    /// The last fall from the limit: its row, and the number of events in the lane at that time.
    pub(in crate::hook) row: Cell<*const Row>,
    pub(in crate::hook) row_events: Cell<u64>,
    /// Equal maxima skipped since the last check.
    pub(in crate::hook) equal: Cell<u32>,
    /// Index of the lane among the watched lanes.
    pub(in crate::hook) place: Cell<u32>,
}

impl Turning {
    /// Notes a fall from the limit: the row that it changes, and the number of events in the lane.
    #[inline(always)]
    pub(in crate::hook) fn fell(&self, row: Option<&'static Row>, events: u64) {
        self.row
            .set(row.map_or(std::ptr::null(), std::ptr::from_ref));
        self.row_events.set(events);
    }

    /// Returns `true` if every row of the lane is as it was at the current maximum: since then one
    /// block was freed from a row, and one event restored that row. An equal maximum then needs no
    /// new clock.
    #[inline(always)]
    pub(in crate::hook) fn is_same_maximum(&self, events: u64) -> bool {
        // SAFETY: null or a row, which stays mapped while the recording is current.
        let Some(row) = (unsafe { self.row.get().as_ref() }) else {
            return false;
        };
        events.wrapping_sub(self.row_events.get()) == 2
            && row.clock.load(Relaxed) == CLOCK.load(Relaxed)
            && row.saved_bytes.load(Relaxed) == net_bytes(row)
            && self.equal.get() < MOST_SKIPS
    }
}
