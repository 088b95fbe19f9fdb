//! Rows of counters, with plain additions by their single writer, and saved values that make the
//! peak exact.

use crate::accounting::{Counter, Counters, Sums};
use std::sync::atomic::{AtomicU64, Ordering::*};
use tracking_alloc_recording::{CLOCK_SNAPSHOT_BITS, Record, Row, RowValue};

/// The clock. The upper bits are the epoch of the last peak, the lower bits the number of the last
/// snapshot. It changes under the peak lock.
pub(crate) static CLOCK: AtomicU64 = AtomicU64::new(0);

/// Returns the epoch of the last peak.
pub(crate) fn epoch() -> u64 {
    CLOCK.load(Relaxed) >> CLOCK_SNAPSHOT_BITS
}

/// Returns the clock at the start of an event.
#[inline(always)]
pub(crate) fn clock() -> u64 {
    CLOCK.load(Acquire)
}

/// Adds to a counter that has a single writer, without a locked instruction.
#[inline(always)]
pub(crate) fn add(counter: &AtomicU64, more: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(more), Relaxed);
}

#[inline(always)]
fn word(row: &Row, counter: Counter) -> &AtomicU64 {
    match counter {
        Counter::TotalBytes => &row.total_bytes,
        Counter::TotalBlocks => &row.total_blocks,
        Counter::FreedBytes => &row.freed_bytes,
        Counter::FreedBlocks => &row.freed_blocks,
        Counter::Grows => &row.grows,
        Counter::Shrinks => &row.shrinks,
        Counter::CopiedBytes => &row.copied_bytes,
        Counter::TemporaryBlocks => &row.temporary_blocks,
        Counter::TemporaryBytes => &row.temporary_bytes,
    }
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
        add(word(self.0, counter), more);
    }
}

/// A row with several writers, which uses atomic additions.
#[derive(Clone, Copy)]
pub(crate) struct Shared<'r>(pub(crate) &'r Row);

impl Counters for Shared<'_> {
    fn add(&mut self, counter: Counter, more: u64) {
        word(self.0, counter).fetch_add(more, Relaxed);
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

/// Saves a row's net values before it changes, if the clock has advanced since its last change.
/// They are the row's values at the peak. Returns the row's old clock if a snapshot was taken
/// since, so that the caller saves that too.
///
/// `now` is the clock, read once for the whole event, so that all rows count the event on the same
/// side of a peak.
#[inline(always)]
pub(crate) fn touch(row: &Row, now: u64) -> Option<u64> {
    let then = row.clock.load(Relaxed);
    if now == then {
        return None;
    }
    if now >> CLOCK_SNAPSHOT_BITS != then >> CLOCK_SNAPSHOT_BITS {
        row.saved_bytes.store(net_bytes(row), Relaxed);
        row.saved_blocks.store(net_blocks(row), Relaxed);
    }
    // Store the saved values before the clock that makes them valid.
    row.clock.store(now, Release);
    (now as u16 != then as u16).then_some(then)
}

/// Returns the bytes and blocks of a row at the peak of the current epoch.
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

/// Returns the first nine words of a row, as thread and mark records keep them.
pub(crate) fn figures_of(row: &Row) -> Sums {
    RowValue::load(row).sums()
}

/// Returns the net bytes and blocks of the figures in a record.
pub(crate) fn figures_net(figures: &[AtomicU64; 9]) -> (i64, i64) {
    let word = |index: usize| figures[index].load(Relaxed);
    (
        word(0).wrapping_sub(word(2)) as i64,
        word(1).wrapping_sub(word(3)) as i64,
    )
}
