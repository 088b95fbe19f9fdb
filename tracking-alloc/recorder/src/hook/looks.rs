//! Looks: what a thread does now and then whatever it allocates. They make the recording see
//! requests (a pause, another mode, a snapshot), and keep the time and the resident set in the file
//! up to date, in programs whose live bytes hardly change.
//!
//! A lane looks at an allocation, after at most [`MOST_EVENTS`] of them, or [`MOST_BYTES`] while
//! samples are taken. The distance follows the pace: it grows only while looks come within 5 us of
//! each other, and is one allocation again after 50 us. So a busy thread spends less than a
//! hundredth of its time on looks, a quiet one looks at each of its allocations, and one that
//! becomes quiet after a burst looks after about as many allocations as it had made in a few
//! microseconds. The common path only compares a number that it has computed anyway.
//!
//! A program that allocates nothing does not look, because nothing of heapglass runs in it.

use super::Inside;
use super::lane::Lane;
use super::peak::{self, pauses};
use super::snapshots;
use crate::{session, state, sys};
use std::sync::atomic::Ordering::*;

/// Maximum number of allocations of a lane between two looks.
const MOST_EVENTS: u32 = 256;
/// Maximum number of bytes that a lane allocates between two looks while samples are taken.
const MOST_BYTES: u32 = 64 << 10;
/// The time after which a look stores the time in the recording, in units of 5 us: 100 ms.
const LATE: u64 = 20_000;

/// Looks after an allocation that took a slow path, because it was time for a look or for another
/// reason. The caller is inside the hook and holds no lock other than a lane's.
// NOTE: never inlined, because `cargo instructions` leaves this function out.
// PERF: nor does the common path keep anything across the call.
#[cold]
#[inline(never)]
pub(super) fn look(lane: &'static Lane) {
    let now = sys::ticks();
    if state::samples() {
        lane.pace.note(now, MOST_BYTES);
    } else {
        lane.pace.note(now, MOST_EVENTS);
        lane.look_after(lane.pace.distance().into());
    }
    if is_due(now) {
        peak::note_time_and_serve(lane);
    }
}

/// Counts an allocation with which a thread's share of the countdown runs out, and looks. Returns
/// `false` and does nothing if the block is a sample, or the hook cannot be entered.
pub(super) fn passes_among_samples(lane: &'static Lane, bytes: usize, counts: bool) -> bool {
    // Entered before the countdown changes: a signal handler that allocates may have interrupted
    // such a change, or may interrupt this one.
    let Some(_inside) = Inside::enter() else {
        return false;
    };
    let now = sys::ticks();
    let share = lane.pace.distance().into();
    if !lane.countdown.goes_on(bytes as u64, counts, share) {
        return false;
    }
    lane.pace.note(now, MOST_BYTES);
    if is_due(now) {
        peak::note_time_and_serve(lane);
    }
    true
}

/// Returns `true` if a look has something to do: a request waits, or the time was stored long ago.
fn is_due(now: u64) -> bool {
    let passed = now.saturating_sub(session::STORED_AT.load(Relaxed));
    let is_late = session::ticks_in_5_us().is_none_or(|ticks| passed > LATE * ticks);
    is_late || pauses::is_asked() || snapshots::is_asked()
}
