//! `stats()` while a recording is written: the counts of rows, plus the events counted separately.

use super::process::PROCESS;
use crate::accounting::{self, Event};
use crate::state;
use crate::stats::Stats;

/// Adds the realloc of a block that the recording does not know. A row counts its new size.
#[cold]
#[inline(never)]
pub(crate) fn unknown_reallocated(old: u64, new: u64, moved: bool) {
    if state::is_counting() {
        PROCESS.count(Event::Free(0, old as usize), false);
        accounting::resized(&PROCESS, old, new, moved);
    }
}

/// Notes the live bytes and blocks of all rows at a peak check, for the largest sum.
pub(crate) fn note_rows(bytes: i64, blocks: i64) {
    if state::is_counting() {
        let (live, live_blocks) = PROCESS.live();
        PROCESS.note_peak(live + bytes, live_blocks + blocks);
    }
}

/// Returns the figures of rows, plus the events counted separately.
pub(crate) fn join(rows: &Stats) -> Stats {
    note_rows(rows.live_bytes, rows.live_blocks);
    let own = PROCESS.figures();
    // If nothing was counted separately, the rows' own maximum is exact.
    let peak = if state::is_counting() {
        own.peak()
    } else {
        rows.peak()
    };
    own.plus(&rows.sums(), peak)
}
