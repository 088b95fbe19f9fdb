//! Counting without stacks: `measure()` for one thread, `stats()` for the process. Works on every platform.

use crate::figures::Figures;
use crate::{state, thread};
use std::cell::Cell;
use std::ptr::null;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering::*};

/// What one `measure()` counts, on the stack of its call. Inner ones are added to the outer when they end.
pub(crate) struct Frame {
    figures: Cell<Figures>,
    /// The block allocated last, if it was not freed or reallocated since.
    last_block: Cell<usize>,
    /// The one further out.
    outer: Cell<*const Frame>,
}

/// Threads inside `measure()`.
static MEASURERS: AtomicU32 = AtomicU32::new(0);

/// Runs `f`, counting this thread's events.
pub(crate) fn measured<R>(f: impl FnOnce() -> R) -> (R, Figures) {
    let frame = Frame::new();
    let result = {
        let _entered = Entered::new(&frame);
        f()
    };
    (result, frame.figures.get())
}

/// While it lives, this thread's events go to a frame; also when `f` unwinds.
struct Entered<'a> {
    frame: &'a Frame,
}

impl<'a> Entered<'a> {
    fn new(frame: &'a Frame) -> Self {
        MEASURERS.fetch_add(1, AcqRel);
        state::change(state::MEASURE, 0);
        let outer = thread::with(|thread| thread.measure.replace(frame)).unwrap_or(null());
        frame.outer.set(outer);
        Entered { frame }
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        let outer = self.frame.outer.get();
        thread::with(|thread| thread.measure.set(outer));
        // SAFETY: the outer frame belongs to a call of `measured` further out on this very stack, still in progress.
        if let Some(outer) = unsafe { outer.as_ref() } {
            let mut figures = outer.figures.get();
            figures.add_inner(&self.frame.figures.get());
            outer.figures.set(figures);
            outer.last_block.set(0);
        }
        if MEASURERS.fetch_sub(1, AcqRel) == 1 {
            state::change(0, state::MEASURE);
            // Another thread may have begun in between: its bit must not be lost.
            if MEASURERS.load(Acquire) > 0 {
                state::change(state::MEASURE, 0);
            }
        }
    }
}

fn here(event: impl FnOnce(&Frame)) {
    let frame = thread::with(|thread| thread.measure.get()).unwrap_or(null());
    // SAFETY: the frame is on this thread's own stack, of a call of `measured` in progress.
    if let Some(frame) = unsafe { frame.as_ref() } {
        event(frame);
    }
}

/// Net and total bytes of all calls of `measured` this thread is in. Differences count whatever happened between two
/// moments within one and the same call, calls inside it included.
#[cfg(feature = "serde")]
pub(crate) fn measured_so_far() -> (i64, u64) {
    let (mut live, mut total) = (0, 0);
    let mut next = thread::with(|thread| thread.measure.get()).unwrap_or(null());
    // SAFETY: frames are on this thread's own stack, of calls of `measured` in progress.
    while let Some(frame) = unsafe { next.as_ref() } {
        let figures = frame.figures.get();
        live += figures.live_bytes;
        total += figures.total_bytes;
        next = frame.outer.get();
    }
    (live, total)
}

impl Frame {
    fn new() -> Self {
        Frame {
            figures: Cell::new(Figures::default()),
            last_block: Cell::new(0),
            outer: Cell::new(null()),
        }
    }

    fn change(&self, change: impl FnOnce(&mut Figures)) {
        let mut figures = self.figures.get();
        change(&mut figures);
        self.figures.set(figures);
    }
}

/// An allocation, for whoever counts.
#[cold]
#[inline(never)]
pub(crate) fn allocated(block: usize, bytes: usize) {
    here(|frame| {
        frame.last_block.set(block);
        frame.change(|figures| figures.alloc(bytes as u64));
    });
    if state::get() & state::COUNT != 0 {
        PROCESS.alloc(bytes as u64);
    }
}

/// A free.
#[cold]
#[inline(never)]
pub(crate) fn freed(block: usize, bytes: usize) {
    here(|frame| {
        let temporary = frame.last_block.get() == block;
        if temporary {
            frame.last_block.set(0);
        }
        frame.change(|figures| figures.free(bytes as u64, temporary));
    });
    if state::get() & state::COUNT != 0 {
        PROCESS.free(bytes as u64);
    }
}

/// A realloc that succeeded.
#[cold]
#[inline(never)]
pub(crate) fn reallocated(old: usize, old_bytes: usize, new: usize, bytes: usize) {
    here(|frame| {
        frame.last_block.set(0);
        frame.change(|figures| figures.realloc(old_bytes as u64, bytes as u64, old != new));
    });
    if state::get() & state::COUNT != 0 {
        PROCESS.realloc(old_bytes as u64, bytes as u64, old != new);
    }
}

/// The whole process, when no recording counts it.
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
};

impl Process {
    fn moved(&self, bytes: i64, blocks: i64) {
        let live = self.live_bytes.fetch_add(bytes, Relaxed) + bytes;
        let live_blocks = self.live_blocks.fetch_add(blocks, Relaxed) + blocks;
        if self.peak_bytes.fetch_max(live, Relaxed) <= live {
            self.peak_blocks.store(live_blocks, Relaxed);
        }
    }

    fn alloc(&self, bytes: u64) {
        self.total_bytes.fetch_add(bytes, Relaxed);
        self.total_blocks.fetch_add(1, Relaxed);
        self.moved(bytes as i64, 1);
    }

    fn free(&self, bytes: u64) {
        self.freed_bytes.fetch_add(bytes, Relaxed);
        self.freed_blocks.fetch_add(1, Relaxed);
        self.live_bytes.fetch_sub(bytes as i64, Relaxed);
        self.live_blocks.fetch_sub(1, Relaxed);
    }

    fn realloc(&self, old: u64, new: u64, moved: bool) {
        self.total_bytes.fetch_add(new, Relaxed);
        self.total_blocks.fetch_add(1, Relaxed);
        self.freed_bytes.fetch_add(old, Relaxed);
        self.freed_blocks.fetch_add(1, Relaxed);
        if new >= old {
            &self.grows
        } else {
            &self.shrinks
        }
        .fetch_add(1, Relaxed);
        if moved {
            self.copied_bytes.fetch_add(old.min(new), Relaxed);
        }
        self.moved(new as i64 - old as i64, 0);
    }
}

/// The process's figures since counting began; the first call begins it.
pub(crate) fn process() -> Figures {
    state::change(state::COUNT, 0);
    let word = |counter: &AtomicU64| counter.load(Relaxed);
    Figures {
        total_bytes: word(&PROCESS.total_bytes),
        total_blocks: word(&PROCESS.total_blocks),
        freed_bytes: word(&PROCESS.freed_bytes),
        freed_blocks: word(&PROCESS.freed_blocks),
        live_bytes: PROCESS.live_bytes.load(Relaxed),
        live_blocks: PROCESS.live_blocks.load(Relaxed),
        peak_bytes: PROCESS.peak_bytes.load(Relaxed).max(0) as u64,
        peak_blocks: PROCESS.peak_blocks.load(Relaxed).max(0) as u64,
        grows: word(&PROCESS.grows),
        shrinks: word(&PROCESS.shrinks),
        copied_bytes: word(&PROCESS.copied_bytes),
        // Which block a thread allocated last is known to recordings and to `measure` only.
        temporary_blocks: 0,
        temporary_bytes: 0,
    }
}
