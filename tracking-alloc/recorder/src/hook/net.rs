//! Uses of a thread's own lane outside of events: its net bytes, and the mark that the thread
//! measures.

use super::lane::{Lane, MEASURED, own};
use super::owner::of_thread;
use super::writers::Inside;
use crate::session::{self, net_bytes};
use crate::state;
#[cfg(captures)]
use crate::{samples, thread};
use std::sync::atomic::Ordering::*;

/// The net bytes of a thread at one moment.
#[derive(Clone, Copy)]
pub(crate) struct Net {
    lane: *const Lane,
    bytes: i64,
}

impl Net {
    /// Returns the difference from an earlier moment, or `None` if the thread changed its lane.
    pub(crate) fn since(self, before: Net) -> Option<i64> {
        (self.lane == before.lane).then(|| self.bytes.wrapping_sub(before.bytes))
    }
}

/// Returns the net bytes of the calling thread. Returns `None` if nothing records, or if it shares
/// its lane with other threads.
pub(crate) fn net_here() -> Option<Net> {
    let lane = own_or_new()?;
    Some(Net {
        lane,
        bytes: net_bytes(lane.all()),
    })
}

/// Returns the calling thread's own lane in the current recording. Creates it if there is none.
pub(super) fn own_or_new() -> Option<&'static Lane> {
    let word = state::get();
    if word & state::RECORD == 0 {
        return None;
    }
    own()
        .filter(|lane| lane.is_of(word & !state::CHANGING))
        .or_else(move_in)
}

#[cold]
#[inline(never)]
fn move_in() -> Option<&'static Lane> {
    let inside = Inside::enter()?;
    of_thread(&inside, session::current()?).filter(|lane| !lane.is_shared())
}

/// Notes that the calling thread begins or ends measuring. Meanwhile, only its own events take the
/// slower path.
pub(crate) fn measuring(begins: bool) {
    match own() {
        Some(lane) if begins => lane.tag.fetch_or(MEASURED, Relaxed),
        Some(lane) => lane.tag.fetch_and(!MEASURED, Relaxed),
        None => 0,
    };
}

/// A guard during which allocations of the calling thread are not recorded, because they belong to
/// heapglass.
#[cfg(captures)]
#[derive(Debug)]
pub struct PassedOver;

#[cfg(captures)]
impl PassedOver {
    /// Begins to skip the allocations of the calling thread.
    pub fn begin() -> PassedOver {
        // Without a lane, the first event would create one whose tag does not lead to the slow
        // path.
        let _lane = own_or_new();
        thread::set_passes_over(true);
        measuring(true);
        // Without a countdown, events of a recording that samples take the slow path too.
        samples::set_countdown(None);
        PassedOver
    }
}

#[cfg(captures)]
impl Drop for PassedOver {
    fn drop(&mut self) {
        thread::set_passes_over(false);
        let tag = state::get() & !state::CHANGING;
        let lane = own().filter(|lane| lane.is_of(tag));
        samples::set_countdown(lane.map(|lane| &lane.countdown));
        if thread::with(|thread| thread.measure.get().is_null()) == Some(true) {
            measuring(false);
        }
    }
}
