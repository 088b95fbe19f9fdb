//! Counting without stacks: the frames of `measure()` for one thread, groups of threads, the sums
//! of `stats()` for the process. Works on every platform.

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

#[cfg(feature = "serde")]
pub(crate) use frame::measured_so_far;
pub(crate) use frame::{Frame, enter, figures_of, leave};
pub(crate) use group::Group;
pub(crate) use process::{PROCESS, begin, unrecorded};
#[cfg(recording)]
pub(crate) use recorded::{join, note_rows, unknown_reallocated};

use crate::counters::Event;
use crate::thread;
#[cfg(captures)]
pub(crate) use sites::{Stack, Stacks};

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
