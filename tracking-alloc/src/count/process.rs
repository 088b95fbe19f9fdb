//! `stats()`: the whole process.
//!
//! Counting begins with the first call. While a recording is written its rows count, and what they do not (blocks the
//! recording does not know, a pause) is counted here; the figures are the sum of both. When the recording is finished
//! its sums are added here, and counting goes on.

use crate::counters::{self, Counter, Counters, Event, SUMS};
use crate::figures::Figures;
use crate::{state, thread};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::*};

struct Process {
    sums: [AtomicU64; SUMS],
    /// Bytes and blocks.
    live: [AtomicI64; 2],
    peak: [AtomicI64; 2],
}

static PROCESS: Process = Process {
    sums: [const { AtomicU64::new(0) }; SUMS],
    live: [const { AtomicI64::new(0) }; 2],
    peak: [const { AtomicI64::new(0) }; 2],
};

/// By any thread.
impl Counters for &Process {
    fn add(&mut self, counter: Counter, more: u64) {
        if let Some(sum) = self.sums.get(counter as usize) {
            sum.fetch_add(more, Relaxed);
        }
    }
}

impl Process {
    fn moved(&self, bytes: i64, blocks: i64) {
        let live = self.live[0].fetch_add(bytes, Relaxed) + bytes;
        let live_blocks = self.live[1].fetch_add(blocks, Relaxed) + blocks;
        self.note(live, live_blocks);
    }

    fn note(&self, live: i64, live_blocks: i64) {
        if self.peak[0].fetch_max(live, Relaxed) <= live {
            self.peak[1].store(live_blocks, Relaxed);
        }
    }

    fn free(&self, bytes: u64, temporary: bool) {
        counters::freed(self, bytes);
        self.live[0].fetch_sub(bytes as i64, Relaxed);
        self.live[1].fetch_sub(1, Relaxed);
        if temporary {
            counters::was_temporary(self, bytes);
        }
    }

    fn figures(&self) -> Figures {
        let peak = (self.peak[0].load(Relaxed), self.peak[1].load(Relaxed));
        let sums = std::array::from_fn(|sum| self.sums[sum].load(Relaxed));
        Figures::new(sums, peak)
    }

    /// Forgets what was counted: in a forked child counting begins anew.
    fn reset(&self) {
        self.sums.iter().for_each(|sum| sum.store(0, Relaxed));
        let moments = self.live.iter().chain(&self.peak);
        moments.for_each(|word| word.store(0, Relaxed));
    }
}

/// An event that no row counts.
#[cold]
#[inline(never)]
pub(super) fn count(event: Event) {
    match event {
        Event::Alloc(block, bytes) => {
            thread::set_last_block(block);
            counters::allocated(&PROCESS, bytes as u64);
            PROCESS.moved(bytes as i64, 1);
        }
        Event::Free(block, bytes) => PROCESS.free(bytes as u64, thread::take_last_block(block)),
        Event::Realloc(of) => {
            let (old, new) = (of.old_bytes as u64, of.bytes as u64);
            thread::set_last_block(0);
            counters::allocated(&PROCESS, new);
            counters::freed(&PROCESS, old);
            counters::resized(&PROCESS, old, new, of.old != of.new);
            PROCESS.moved(new as i64 - old as i64, 0);
        }
    }
}

/// A recorded thread frees a block that the recording does not know.
#[cfg(recording)]
#[cold]
#[inline(never)]
pub(crate) fn unknown_freed(block: usize, bytes: usize) {
    if state::is_counting() {
        PROCESS.free(bytes as u64, thread::take_last_block(block));
    }
}

/// A recorded thread reallocates such a block: its new half is counted by a row.
#[cfg(recording)]
#[cold]
#[inline(never)]
pub(crate) fn unknown_reallocated(old: u64, new: u64, moved: bool) {
    if state::is_counting() {
        PROCESS.free(old, false);
        counters::resized(&PROCESS, old, new, moved);
    }
}

/// What rows hold live at a peak check, for the largest sum there was.
#[cfg(recording)]
pub(crate) fn note_rows(bytes: i64, blocks: i64) {
    if state::is_counting() {
        let [live, live_blocks] = &PROCESS.live;
        PROCESS.note(
            live.load(Relaxed) + bytes,
            live_blocks.load(Relaxed) + blocks,
        );
    }
}

/// The figures of rows, with what was counted beside them.
#[cfg(recording)]
pub(crate) fn join(rows: &Figures) -> Figures {
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
pub(crate) fn keep_rows(rows: &Figures) {
    for (sum, more) in PROCESS.sums.iter().zip(rows.sums()) {
        sum.fetch_add(more, Relaxed);
    }
    PROCESS.moved(rows.live_bytes, rows.live_blocks);
    PROCESS.note(rows.peak_bytes as i64, rows.peak_blocks as i64);
}

/// Begins counting, if nobody did.
pub(crate) fn begin() {
    state::begin_counting(|| PROCESS.reset());
}

/// What no row of a recording counts, since counting began.
pub(crate) fn process() -> Figures {
    PROCESS.figures()
}
