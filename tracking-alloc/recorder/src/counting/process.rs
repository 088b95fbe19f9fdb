//! `stats()`: the whole process.
//!
//! Counting begins with the first call. While a recording is written, its rows count most events,
//! and the figures are the sum of the rows and of the events counted here: those of blocks that the
//! recording does not know, and those during a pause. When the recording is finished, its sums are
//! added here, and counting continues.

use super::shared::Shared;
use crate::accounting::Event;
use crate::{state, thread};

/// The events that no row of a recording has counted since counting began.
pub(crate) static PROCESS: Shared = Shared::new();

/// Adds an event that no row counts, even if there is a recording.
#[cold]
#[inline(never)]
pub(crate) fn unrecorded(event: Event) {
    if state::is_counting() {
        PROCESS.count(event, thread::is_temporary(event));
    }
}

/// Begins counting, unless it has begun. A forked child begins from zero.
pub(crate) fn begin() {
    state::begin_counting(|| PROCESS.reset());
}
