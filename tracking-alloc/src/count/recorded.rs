//! `stats()` while a recording is written: what rows count, with what is counted beside them.

use super::process::PROCESS;
use crate::counters::{self, Event};
use crate::figures::Stats;
use crate::state;

/// A recorded thread reallocates a block that the recording does not know: its new half is counted
/// by a row.
#[cold]
#[inline(never)]
pub(crate) fn unknown_reallocated(old: u64, new: u64, moved: bool) {
    if state::is_counting() {
        PROCESS.count(Event::Free(0, old as usize), false);
        counters::resized(&PROCESS, old, new, moved);
    }
}

/// What rows hold live at a peak check, for the largest sum there was.
pub(crate) fn note_rows(bytes: i64, blocks: i64) {
    if state::is_counting() {
        let (live, live_blocks) = PROCESS.live();
        PROCESS.note_peak(live + bytes, live_blocks + blocks);
    }
}

/// The figures of rows, with what was counted beside them.
pub(crate) fn join(rows: &Stats) -> Stats {
    note_rows(rows.live_bytes, rows.live_blocks);
    let own = PROCESS.figures();
    // Where nothing was counted beside, the rows know their own maximum.
    let peak = if state::is_counting() {
        own.peak()
    } else {
        rows.peak()
    };
    own.plus(&rows.sums(), peak)
}
