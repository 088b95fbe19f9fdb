//! The word that every allocator call reads first, on platforms on which nothing is recorded into a
//! file. It is 0 unless `stats()` counts, `measure()` is in progress, or a WebAssembly module
//! records in memory.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

/// A recording is being written.
#[cfg(in_memory)]
pub(crate) const RECORD: u32 = 1;
/// Process-wide counting.
const COUNT: u32 = 4;

/// One call of `measure()` in progress.
const MEASURE: u64 = 1 << 32;

static WORD: AtomicU64 = AtomicU64::new(0);
/// 1 once `stats()` has been called.
static COUNTING: AtomicU32 = AtomicU32::new(0);

/// Returns the current state, without the calls of `measure()`.
#[cfg(in_memory)]
#[inline(always)]
pub(crate) fn get() -> u32 {
    WORD.load(Relaxed) as u32
}

/// Adds and removes bits.
#[cfg(in_memory)]
pub(crate) fn change(add: u32, remove: u32) {
    WORD.fetch_and(!u64::from(remove), AcqRel);
    WORD.fetch_or(u64::from(add), AcqRel);
}

/// Returns `true` if no event is counted or recorded.
#[inline(always)]
pub(crate) fn is_off() -> bool {
    WORD.load(Relaxed) == 0
}

/// Notes the start of a call of `measure()`.
pub(crate) fn begin_measuring() {
    WORD.fetch_add(MEASURE, AcqRel);
}

/// Notes the end of a call of `measure()`.
pub(crate) fn end_measuring() {
    WORD.fetch_sub(MEASURE, AcqRel);
}

/// Returns `true` if events that no recording counts are counted.
#[inline]
pub(crate) fn is_counting() -> bool {
    COUNTING.load(Acquire) != 0
}

/// Begins counting unless it has begun. `reset` runs before the first event is counted.
pub(crate) fn begin_counting(reset: impl FnOnce()) {
    if is_counting() {
        return;
    }
    reset();
    if COUNTING.compare_exchange(0, 1, AcqRel, Relaxed).is_ok() {
        WORD.fetch_or(COUNT.into(), AcqRel);
    }
}
