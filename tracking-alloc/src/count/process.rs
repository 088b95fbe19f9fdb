//! `stats()`: the whole process.
//!
//! Counting begins with the first call. While a recording is written its rows count, and what they
//! do not (blocks the recording does not know, a pause) is counted here; the figures are the sum of
//! both. When the recording is finished its sums are added here, and counting goes on.

use super::shared::Shared;
use crate::counters::Event;
use crate::{state, thread};

/// What no row of a recording counts, since counting began.
pub(crate) static PROCESS: Shared = Shared::new();

/// An event that no row counts, also when there is a recording.
#[cold]
#[inline(never)]
pub(crate) fn unrecorded(event: Event) {
    if state::is_counting() {
        PROCESS.count(event, thread::is_temporary(event));
    }
}

/// Begins counting, if nobody did. In a forked child counting begins anew.
pub(crate) fn begin() {
    state::begin_counting(|| PROCESS.reset());
}
