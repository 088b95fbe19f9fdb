//! Pauses: times in which new blocks are not recorded, while recorded blocks are still followed.
//!
//! [`Exchange::paused`] says whether the recording is to be paused. The program writes it, or any
//! process that may write the file, and a signal flips it. There is no thread that waits for that:
//!
//! - While blocks are recorded, a thread follows the word after a check of the peak, or at a
//!   [look](crate::hook::looks), so no event pays for it.
//! - During a pause, every event takes the slow path, because the state is not that of any lane. It
//!   follows the word first, so the first event after a resumption is recorded.

use super::{changes, check_peak_now};
use crate::hook::PEAK_CHECKS;
use crate::hook::signal::TOGGLE;
use crate::hook::writers::Inside;
use crate::sys::Errno;
use crate::{session, state};
use std::sync::atomic::Ordering::*;
use tracking_alloc_recording::{Exchange, Header, PAUSES_KEPT};

/// Begins a recording with a pause. Call before anything is recorded.
pub(crate) fn start_paused(exchange: &Exchange, header: &Header) {
    exchange.paused.store(1, Release);
    begin(header);
}

/// Pauses or resumes the recording in progress.
pub(crate) fn set_paused(is_wanted: bool) {
    let Some(exchange) = session::exchange() else {
        return;
    };
    exchange.paused.store(is_wanted.into(), Release);
    // In a signal handler that interrupted the recorder, the next cold path follows the word.
    if let Some(_inside) = Inside::enter() {
        // Not [`look`], which sees the state that a thread inside `follow` is about to change. The
        // pause has begun or ended when this function returns.
        follow(exchange);
    }
}

/// Follows the word of pauses and that of the mode. Call without any lock other than a lane's,
/// while the thread counts as inside the hook.
#[inline]
pub(in crate::hook) fn look() {
    let Some(exchange) = session::exchange() else {
        return;
    };
    if is_asked_by(exchange) {
        follow(exchange);
    }
}

/// Returns `true` if a pause, its end, or another mode is wanted.
pub(in crate::hook) fn is_asked() -> bool {
    session::exchange().is_some_and(is_asked_by)
}

#[inline]
fn is_asked_by(exchange: &Exchange) -> bool {
    TOGGLE.came() || wants_pause(exchange) != state::is_paused() || exchange.mode.load(Acquire) != 0
}

fn wants_pause(exchange: &Exchange) -> bool {
    exchange.paused.load(Acquire) != 0
}

#[cold]
#[inline(never)]
fn follow(exchange: &Exchange) {
    let Some(header) = session::header() else {
        return;
    };
    let _errno = Errno::keep();
    let mut checks = PEAK_CHECKS.lock();
    if !TOGGLE.take().is_multiple_of(2) {
        let flipped = !wants_pause(exchange);
        exchange.paused.store(flipped.into(), Release);
    }
    changes::follow(exchange, &mut checks, header);
    let is_wanted = wants_pause(exchange);
    if is_wanted == state::is_paused() || !state::is_recording() {
        return;
    }
    // Points of the timeline enclose the pause, unless there are so many pauses that their points
    // would displace all others.
    let is_kept = header.pauses.load(Relaxed) <= PAUSES_KEPT as u64;
    check_peak_now(&mut checks, is_kept);
    // Before the header says so to other processes.
    state::pause(is_wanted);
    if is_wanted {
        begin(header);
    } else {
        end(header);
    }
}

/// Ends the pause that lasts until the end of the recording. Call after the last check.
pub(crate) fn end_last_pause(header: &Header) {
    if header.paused_since_ns.load(Relaxed) != 0 {
        end(header);
    }
}

/// Notes the beginning of a pause at the time of the last check.
fn begin(header: &Header) {
    let now_ns = header.elapsed_ns.load(Relaxed).max(1);
    let number = header.pauses.load(Relaxed);
    if let Some(place) = header.pause_begins_ns.get(number as usize) {
        place.store(now_ns, Relaxed);
    }
    header.paused_since_ns.store(now_ns, Relaxed);
    header.pauses.store(number + 1, Release);
}

/// Notes the end of a pause at the time of the last check.
fn end(header: &Header) {
    let began_ns = header.paused_since_ns.load(Relaxed);
    let now_ns = header.elapsed_ns.load(Relaxed).max(began_ns);
    let last = header.pauses.load(Relaxed).wrapping_sub(1);
    if let Some(place) = header.pause_ends_ns.get(last as usize) {
        place.store(now_ns, Relaxed);
    }
    let paused_ns = header.paused_ns.load(Relaxed) + (now_ns - began_ns);
    header.paused_ns.store(paused_ns, Relaxed);
    header.paused_since_ns.store(0, Release);
}
