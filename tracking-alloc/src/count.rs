//! Counting without stacks: the frames of `measure()` for one thread, groups of threads, the sums of `stats()` for the
//! process. Works on every platform.

mod frame;
mod group;
mod pool;
mod process;
mod shared;
#[cfg(captures)]
mod sites;

#[cfg(feature = "serde")]
pub(crate) use frame::measured_so_far;
pub(crate) use frame::{Frame, enter, figures_of, leave};
pub(crate) use group::Group;
#[cfg(captures)]
pub(crate) use process::capture;
pub(crate) use process::{begin, process};
#[cfg(recording)]
pub(crate) use process::{join, keep_rows, note_rows, unknown_freed, unknown_reallocated};

use crate::counters::Event;
use crate::{state, thread};
#[cfg(captures)]
pub(crate) use sites::{Stack, Stacks};

/// An event for whoever counts.
#[cfg(not(recording))]
#[cold]
#[inline(never)]
pub(crate) fn event(event: Event) {
    measure(event);
    unrecorded(event);
}

/// An event for the innermost `measure()` of this thread. True when its last call turns out to have ended.
pub(crate) fn measure(event: Event) -> bool {
    thread::with(|thread| !thread.measure.get().is_null()) == Some(true) && frame::count(event)
}

/// An event that no recording counts, for `stats()`.
pub(crate) fn unrecorded(event: Event) {
    if state::is_counting() {
        process::count(event);
    }
}
