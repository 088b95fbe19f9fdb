//! `stats()`: the whole process.
//!
//! Counting begins with the first call. While a recording is written its rows count, and what they do not (blocks the
//! recording does not know, a pause) is counted here; the figures are the sum of both. When the recording is finished
//! its sums are added here, and counting goes on.

use super::Event;
use crate::figures::Figures;
use crate::{state, thread};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::*};

struct Process {
    total_bytes: AtomicU64,
    total_blocks: AtomicU64,
    freed_bytes: AtomicU64,
    freed_blocks: AtomicU64,
    live_bytes: AtomicI64,
    live_blocks: AtomicI64,
    peak_bytes: AtomicI64,
    peak_blocks: AtomicI64,
    grows: AtomicU64,
    shrinks: AtomicU64,
    copied_bytes: AtomicU64,
    temporary_blocks: AtomicU64,
    temporary_bytes: AtomicU64,
}

static PROCESS: Process = Process {
    total_bytes: AtomicU64::new(0),
    total_blocks: AtomicU64::new(0),
    freed_bytes: AtomicU64::new(0),
    freed_blocks: AtomicU64::new(0),
    live_bytes: AtomicI64::new(0),
    live_blocks: AtomicI64::new(0),
    peak_bytes: AtomicI64::new(0),
    peak_blocks: AtomicI64::new(0),
    grows: AtomicU64::new(0),
    shrinks: AtomicU64::new(0),
    copied_bytes: AtomicU64::new(0),
    temporary_blocks: AtomicU64::new(0),
    temporary_bytes: AtomicU64::new(0),
};

impl Process {
    fn moved(&self, bytes: i64, blocks: i64) {
        let live = self.live_bytes.fetch_add(bytes, Relaxed) + bytes;
        let live_blocks = self.live_blocks.fetch_add(blocks, Relaxed) + blocks;
        self.note(live, live_blocks);
    }

    fn note(&self, live: i64, live_blocks: i64) {
        if self.peak_bytes.fetch_max(live, Relaxed) <= live {
            self.peak_blocks.store(live_blocks, Relaxed);
        }
    }

    fn alloc(&self, bytes: u64) {
        self.total_bytes.fetch_add(bytes, Relaxed);
        self.total_blocks.fetch_add(1, Relaxed);
        self.moved(bytes as i64, 1);
    }

    fn free(&self, bytes: u64, temporary: bool) {
        self.freed_bytes.fetch_add(bytes, Relaxed);
        self.freed_blocks.fetch_add(1, Relaxed);
        self.live_bytes.fetch_sub(bytes as i64, Relaxed);
        self.live_blocks.fetch_sub(1, Relaxed);
        if temporary {
            self.temporary_bytes.fetch_add(bytes, Relaxed);
            self.temporary_blocks.fetch_add(1, Relaxed);
        }
    }

    fn resized(&self, old: u64, new: u64, moved: bool) {
        if new >= old {
            &self.grows
        } else {
            &self.shrinks
        }
        .fetch_add(1, Relaxed);
        if moved {
            self.copied_bytes.fetch_add(old.min(new), Relaxed);
        }
    }

    fn realloc(&self, old: u64, new: u64, moved: bool) {
        self.total_bytes.fetch_add(new, Relaxed);
        self.total_blocks.fetch_add(1, Relaxed);
        self.freed_bytes.fetch_add(old, Relaxed);
        self.freed_blocks.fetch_add(1, Relaxed);
        self.resized(old, new, moved);
        self.moved(new as i64 - old as i64, 0);
    }

    fn figures(&self) -> Figures {
        let word = |counter: &AtomicU64| counter.load(Relaxed);
        Figures {
            total_bytes: word(&self.total_bytes),
            total_blocks: word(&self.total_blocks),
            freed_bytes: word(&self.freed_bytes),
            freed_blocks: word(&self.freed_blocks),
            live_bytes: self.live_bytes.load(Relaxed),
            live_blocks: self.live_blocks.load(Relaxed),
            peak_bytes: self.peak_bytes.load(Relaxed).max(0) as u64,
            peak_blocks: self.peak_blocks.load(Relaxed).max(0) as u64,
            grows: word(&self.grows),
            shrinks: word(&self.shrinks),
            copied_bytes: word(&self.copied_bytes),
            temporary_blocks: word(&self.temporary_blocks),
            temporary_bytes: word(&self.temporary_bytes),
        }
    }

    /// Forgets what was counted: in a forked child counting begins anew.
    fn reset(&self) {
        for counter in [
            &self.total_bytes,
            &self.total_blocks,
            &self.freed_bytes,
            &self.freed_blocks,
            &self.grows,
            &self.shrinks,
            &self.copied_bytes,
            &self.temporary_blocks,
            &self.temporary_bytes,
        ] {
            counter.store(0, Relaxed);
        }
        for counter in [
            &self.live_bytes,
            &self.live_blocks,
            &self.peak_bytes,
            &self.peak_blocks,
        ] {
            counter.store(0, Relaxed);
        }
    }
}

/// Forgets a block that is being freed if it is the one this thread allocated last.
fn was_last(block: usize) -> bool {
    let forget = |thread: &thread::Thread| {
        let last = thread.last_block.get() == block;
        if last {
            thread.last_block.set(0);
        }
        last
    };
    thread::with(forget) == Some(true)
}

/// An event that no row counts.
#[cold]
#[inline(never)]
pub(super) fn count(event: Event) {
    match event {
        Event::Alloc(block, bytes) => {
            thread::with(|thread| thread.last_block.set(block));
            PROCESS.alloc(bytes as u64);
        }
        Event::Free(block, bytes) => PROCESS.free(bytes as u64, was_last(block)),
        Event::Realloc {
            old,
            old_bytes,
            new,
            bytes,
        } => {
            thread::with(|thread| thread.last_block.set(0));
            PROCESS.realloc(old_bytes as u64, bytes as u64, old != new);
        }
    }
}

/// A recorded thread frees a block that the recording does not know.
#[cfg(recording)]
#[cold]
#[inline(never)]
pub(crate) fn unknown_freed(block: usize, bytes: usize) {
    if state::is_counting() {
        PROCESS.free(bytes as u64, was_last(block));
    }
}

/// A recorded thread reallocates such a block: its new half is counted by a row.
#[cfg(recording)]
#[cold]
#[inline(never)]
pub(crate) fn unknown_reallocated(old: u64, new: u64, moved: bool) {
    if state::is_counting() {
        PROCESS.free(old, false);
        PROCESS.resized(old, new, moved);
    }
}

/// What rows hold live at a peak check, for the largest sum there was.
#[cfg(recording)]
pub(crate) fn note_rows(bytes: i64, blocks: i64) {
    if state::is_counting() {
        let live = PROCESS.live_bytes.load(Relaxed) + bytes;
        PROCESS.note(live, PROCESS.live_blocks.load(Relaxed) + blocks);
    }
}

/// The figures of rows, with what was counted beside them.
#[cfg(recording)]
pub(crate) fn join(rows: &Figures) -> Figures {
    note_rows(rows.live_bytes, rows.live_blocks);
    let mut joined = PROCESS.figures();
    let peak = (joined.peak_bytes, joined.peak_blocks);
    joined.add_sums(rows);
    // Where nothing was counted beside, the rows know their own maximum.
    (joined.peak_bytes, joined.peak_blocks) = peak;
    if !state::is_counting() {
        (joined.peak_bytes, joined.peak_blocks) = (rows.peak_bytes, rows.peak_blocks);
    }
    joined
}

/// A recording is finished and counting goes on: keeps the sums of its rows.
#[cfg(recording)]
pub(crate) fn keep_rows(rows: &Figures) {
    for (counter, more) in [
        (&PROCESS.total_bytes, rows.total_bytes),
        (&PROCESS.total_blocks, rows.total_blocks),
        (&PROCESS.freed_bytes, rows.freed_bytes),
        (&PROCESS.freed_blocks, rows.freed_blocks),
        (&PROCESS.grows, rows.grows),
        (&PROCESS.shrinks, rows.shrinks),
        (&PROCESS.copied_bytes, rows.copied_bytes),
        (&PROCESS.temporary_blocks, rows.temporary_blocks),
        (&PROCESS.temporary_bytes, rows.temporary_bytes),
    ] {
        counter.fetch_add(more, Relaxed);
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
