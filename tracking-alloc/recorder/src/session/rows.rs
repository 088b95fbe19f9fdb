//! Rows of counters, with plain additions by their single writer, and saved values that make the
//! peak exact.

use crate::accounting::{Counter, Counters, Sums};
use std::sync::atomic::{AtomicU64, Ordering::*};
use tracking_alloc_recording::{Clock, ClockCell, Record, Row, RowValue};

/// The clock. It changes under the peak lock.
pub(crate) static CLOCK: ClockCell = ClockCell::new();

/// Returns the epoch of the last peak.
pub(crate) fn epoch() -> u64 {
    CLOCK.load(Relaxed).epoch()
}

/// Returns the clock at the start of an event.
#[inline(always)]
pub(crate) fn clock() -> Clock {
    CLOCK.load(Acquire)
}

/// Adds to a counter that has a single writer, without a locked instruction.
#[inline(always)]
pub(crate) fn add(counter: &AtomicU64, more: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(more), Relaxed);
}

/// Gives access to a row as its single writer.
pub(crate) struct Owned<'r>(&'r Row);

/// PERF: a function, so that a closure that calls it captures the row and not the variable.
#[inline(always)]
pub(crate) fn owned(row: &Row) -> Owned<'_> {
    Owned(row)
}

impl Counters for Owned<'_> {
    #[inline(always)]
    fn add(&mut self, counter: Counter, more: u64) {
        add(self.0.counter(counter), more);
    }
}

/// A row with several writers, which uses atomic additions.
#[derive(Clone, Copy)]
pub(crate) struct Shared<'r>(pub(crate) &'r Row);

impl Counters for Shared<'_> {
    fn add(&mut self, counter: Counter, more: u64) {
        self.0.counter(counter).fetch_add(more, Relaxed);
    }
}

/// Returns the net bytes of a row. They are negative if this lane freed blocks of other lanes.
#[inline(always)]
pub(crate) fn net_bytes(row: &Row) -> i64 {
    row.total_bytes
        .load(Relaxed)
        .wrapping_sub(row.freed_bytes.load(Relaxed)) as i64
}

/// Returns the net blocks of a row.
#[inline(always)]
pub(crate) fn net_blocks(row: &Row) -> i64 {
    row.total_blocks
        .load(Relaxed)
        .wrapping_sub(row.freed_blocks.load(Relaxed)) as i64
}

/// Returns `true` if there was a peak between two values of the clock.
#[inline(always)]
pub(crate) fn at_other_peak(then: Clock, now: Clock) -> bool {
    now.epoch() != then.epoch()
}

/// Saves a row's net values before it changes, if the clock has advanced since its last change.
/// They are the row's values at the peak. Returns the row's old clock if a checkpoint was taken
/// since, so that the caller saves that too.
///
/// `now` is the clock, read once for the whole event, so that all rows count the event on the same
/// side of a peak.
#[inline(always)]
pub(crate) fn touch(row: &Row, now: Clock) -> Option<Clock> {
    let then = row.clock.load(Relaxed);
    if now == then {
        return None;
    }
    if at_other_peak(then, now) {
        row.saved_bytes.store(net_bytes(row), Relaxed);
        row.saved_blocks.store(net_blocks(row), Relaxed);
    }
    // Store the saved values before the clock that makes them valid.
    row.clock.store(now, Release);
    (now.checkpoint() != then.checkpoint()).then_some(then)
}

/// Returns the bytes and blocks of a row at the peak of the current epoch.
pub(crate) fn at_peak(row: &Row, epoch: u64) -> (i64, i64) {
    if row.clock.load(Acquire).epoch() == epoch {
        (
            row.saved_bytes.load(Relaxed),
            row.saved_blocks.load(Relaxed),
        )
    } else {
        (net_bytes(row), net_blocks(row))
    }
}

/// Returns the counters of a row.
pub(crate) fn sums_of(row: &Row) -> Sums {
    RowValue::load(row).sums()
}
