//! `stats()`: the whole process.
//!
//! Counting begins with the first call. While a recording is written its rows count, and what they do not (blocks the
//! recording does not know, a pause) is counted here; the figures are the sum of both. When the recording is finished
//! its sums are added here, and counting goes on.

use super::shared::Shared;
#[cfg(recording)]
use crate::counters;
use crate::counters::Event;
use crate::figures::Stats;
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

/// A recorded thread reallocates a block that the recording does not know: its new half is counted by a row.
#[cfg(recording)]
#[cold]
#[inline(never)]
pub(crate) fn unknown_reallocated(old: u64, new: u64, moved: bool) {
    if state::is_counting() {
        PROCESS.count(Event::Free(0, old as usize), false);
        counters::resized(&PROCESS, old, new, moved);
    }
}

/// What rows hold live at a peak check, for the largest sum there was.
#[cfg(recording)]
pub(crate) fn note_rows(bytes: i64, blocks: i64) {
    if state::is_counting() {
        let (live, live_blocks) = PROCESS.live();
        PROCESS.note_peak(live + bytes, live_blocks + blocks);
    }
}

/// The figures of rows, with what was counted beside them.
#[cfg(recording)]
pub(crate) fn join(rows: &Stats) -> Stats {
    note_rows(rows.live_bytes, rows.live_blocks);
    let own = PROCESS.figures();
    // Where nothing was counted beside, the rows know their own maximum.
    let peak = match state::is_counting() {
        true => own.peak(),
        false => rows.peak(),
    };
    own.plus(&rows.sums(), peak)
}

/// A recording is finished and counting goes on: keeps the sums of its rows.
#[cfg(recording)]
pub(crate) fn keep_rows(rows: &Stats) {
    PROCESS.add_figures(rows);
}

/// Begins counting, if nobody did. In a forked child counting begins anew.
pub(crate) fn begin() {
    state::begin_counting(|| PROCESS.reset());
}
