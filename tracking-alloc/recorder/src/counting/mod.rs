//! Figures without a recording: of a thread during a call ([`measured`](crate::measured())), of a
//! [`Group`] of threads, and of the process ([`stats`](crate::stats())). Works on every platform.

mod atomic_stats;
mod frame;
mod group;
mod pool;
mod process;
#[cfg(recording)]
mod recorded;
mod shared;
#[cfg(captures)]
mod sites;

pub use frame::measured_so_far;
pub(crate) use frame::{Frame, enter, figures_of, leave};
pub use group::{Group, Measurement};
pub(crate) use process::{PROCESS, begin, unrecorded};
#[cfg(recording)]
pub(crate) use recorded::{join, note_rows, unknown_reallocated};

use crate::accounting::Event;
use crate::thread;
#[cfg(captures)]
pub use sites::{Stack, Stacks};

/// Adds an event to everything that counts.
#[cfg(not(recording))]
#[cold]
#[inline(never)]
pub(crate) fn event(event: Event) {
    measure(event);
    unrecorded(event);
}

/// Adds an event to the innermost `measure()` of this thread. Returns `true` if its last call turns
/// out to have ended.
pub(crate) fn measure(event: Event) -> bool {
    thread::with(|thread| !thread.measure.get().is_null()) == Some(true) && frame::count(event)
}

/// Captures the stacks of the events that count for `group`, or for the process if it is `None`.
/// Returns `None` if stacks are already being captured there, or if memory ran out.
#[cfg(captures)]
pub fn capture(group: Option<&'static Group>) -> Option<Stacks> {
    group
        .map_or(&PROCESS, |group| &group.counters)
        .sites
        .begin()
}
