//! Rows of counters: plain additions by their single writer, and the saved value that makes the peak exact.

use super::peak::Looks;
use super::{CLOCK, FIXED_ROWS};
use crate::{Figures, count, state};
use std::sync::atomic::{AtomicU64, Ordering::*};
use tracking_alloc_recording::{CLOCK_SNAPSHOT_BITS, FURTHER_LANES, LANES, Row};

/// Single-writer addition: no locked instruction.
#[inline(always)]
pub(super) fn add(counter: &AtomicU64, more: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(more), Relaxed);
}

/// Net bytes of a row; negative when other lanes allocated what this one freed.
#[inline(always)]
pub(super) fn net_bytes(row: &Row) -> i64 {
    row.total_bytes
        .load(Relaxed)
        .wrapping_sub(row.freed_bytes.load(Relaxed)) as i64
}

/// Net blocks of a row.
#[inline(always)]
pub(super) fn net_blocks(row: &Row) -> i64 {
    row.total_blocks
        .load(Relaxed)
        .wrapping_sub(row.freed_blocks.load(Relaxed)) as i64
}

/// Before a row changes: if the clock went on since it last did, its net is what it was at the peak. Returns the
/// row's old clock when a snapshot was taken since, for the caller to save that too.
#[inline(always)]
pub(super) fn touch(row: &Row) -> Option<u64> {
    let now = CLOCK.load(Acquire);
    let then = row.clock.load(Relaxed);
    if now == then {
        return None;
    }
    if now >> CLOCK_SNAPSHOT_BITS != then >> CLOCK_SNAPSHOT_BITS {
        row.saved_bytes.store(net_bytes(row), Relaxed);
        row.saved_blocks.store(net_blocks(row), Relaxed);
    }
    // The saved value before the clock that vouches for it.
    row.clock.store(now, Release);
    (now as u16 != then as u16).then_some(then)
}

/// What a row held at the present epoch's peak: bytes and blocks.
pub(crate) fn at_peak(row: &Row, epoch: u64) -> (i64, i64) {
    if row.clock.load(Acquire) >> CLOCK_SNAPSHOT_BITS == epoch {
        (
            row.saved_bytes.load(Relaxed),
            row.saved_blocks.load(Relaxed),
        )
    } else {
        (net_bytes(row), net_blocks(row))
    }
}

/// The row of all events of a lane.
pub(crate) fn lane_row(lane: u32) -> Option<&'static Row> {
    fixed_row(lane, 0)
}

/// The table of fixed rows and lane records that a lane is in, and its place there.
pub(crate) fn table_of(lane: u32) -> (usize, usize) {
    match (lane as usize).checked_sub(LANES + 1) {
        None => (0, lane as usize),
        Some(further) => (1 + further / FURTHER_LANES, further % FURTHER_LANES),
    }
}

/// A fixed row: 0 = all events, 1 = "(table full)", 2 = "(unattributed)".
pub(super) fn fixed_row(lane: u32, which: usize) -> Option<&'static Row> {
    let (table, place) = table_of(lane);
    let rows = FIXED_ROWS.get(table)?.load(Acquire);
    if rows.is_null() {
        return None;
    }
    // SAFETY: there are three rows for every lane of the table, mapped until the process ends.
    Some(unsafe { &*rows.add(3 * place + which) })
}

/// The rows of a lane that together count each of its events once: "all", and "(unattributed)".
pub(crate) fn counted_rows(lane: u32) -> impl Iterator<Item = &'static Row> {
    [fixed_row(lane, 0), fixed_row(lane, 2)]
        .into_iter()
        .flatten()
}

/// The first nine words of a row, as thread and mark records keep them.
pub(crate) fn figures_of(row: &Row) -> [u64; 9] {
    [
        &row.total_bytes,
        &row.total_blocks,
        &row.freed_bytes,
        &row.freed_blocks,
        &row.grows,
        &row.shrinks,
        &row.copied_bytes,
        &row.temporary_blocks,
        &row.temporary_bytes,
    ]
    .map(|word| word.load(Relaxed))
}

/// The sums of all lanes, and the largest there was.
fn figures_of_lanes(highest: Option<(i64, i64)>) -> Figures {
    let mut sums = [0u64; 9];
    for row in super::lanes_in_use().flat_map(counted_rows) {
        sums.iter_mut()
            .zip(figures_of(row))
            .for_each(|(sum, figure)| *sum = sum.wrapping_add(figure));
    }
    let [
        total_bytes,
        total_blocks,
        freed_bytes,
        freed_blocks,
        grows,
        shrinks,
        copied_bytes,
        temporary_blocks,
        temporary_bytes,
    ] = sums;
    let live = (
        total_bytes.wrapping_sub(freed_bytes) as i64,
        total_blocks.wrapping_sub(freed_blocks) as i64,
    );
    let (peak_bytes, peak_blocks) = highest.map_or(live, |highest| highest.max(live));
    Figures {
        total_bytes,
        total_blocks,
        freed_bytes,
        freed_blocks,
        live_bytes: live.0,
        live_blocks: live.1,
        peak_bytes: peak_bytes.max(0) as u64,
        peak_blocks: peak_blocks.max(0) as u64,
        grows,
        shrinks,
        copied_bytes,
        temporary_blocks,
        temporary_bytes,
    }
}

/// The figures of all lanes together with what is counted beside them; `None` when no recording of this process counts.
pub(crate) fn recorded_stats() -> Option<Figures> {
    if !state::rows_are_joined() {
        return None;
    }
    let inside = super::Inside::enter();
    if inside.is_none() && state::get() & state::RECORD != 0 {
        // A signal handler in the middle of an event, which may hold the lock.
        return Some(count::join(&figures_of_lanes(None)));
    }
    let looks = super::LOOKS.try_hold(1_000_000)?;
    // Finished meanwhile: its sums are kept elsewhere now.
    state::rows_are_joined().then(|| count::join(&figures_of_lanes(Some(looks.highest()))))
}

/// The recording is finished: if `stats()` goes on, what it counted is kept. Under the look lock.
pub(crate) fn part(looks: &Looks) {
    if state::part_from_rows() {
        count::keep_rows(&figures_of_lanes(Some(looks.highest())));
    }
}
