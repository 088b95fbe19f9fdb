//! `measure()` counts the events of one thread while a function runs.
//!
//! A frame holds the figures of a call. Frames are never freed, and the frames of a thread form a
//! chain that no other thread changes. So no pointer dangles if a coroutine with its own stack is
//! suspended inside `measure()`. Its call may return on another thread, after an outer call, or
//! never.
//!
//! - A frame counts the events of its thread until the call returns, on whatever thread.
//! - A returning call only marks its frame as ended. The thread that began it removes ended frames
//!   from its chain when they are innermost, and only then is a frame used again.
//! - If a call never returns (its coroutine was dropped), its frame stays and continues to count
//!   without effect.
//! - A frame may also count for a [`Group`] of threads until its call returns.

use super::atomic_stats::AtomicStats;
use super::group::Group;
use super::pool::{Pool, Reusable};
use crate::accounting::{self, Counter, Counters, Event};
use crate::leaked::Link;
use crate::stats::Stats;
use crate::{state, thread};
use std::ptr::null;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};

/// The figures of one `measure()`. Inner figures are added to the outer ones when they end.
pub(crate) struct Frame {
    used: AtomicBool,
    ended: AtomicBool,
    /// Written by the thread that began the call.
    figures: AtomicStats,
    /// The block allocated last in it, unless that was freed or reallocated since.
    last_block: AtomicUsize,
    /// The next outer frame.
    outer: Link<Frame>,
    /// The group for which it also counts.
    group: Link<Group>,
    /// The innermost frame with a group, from this one outward.
    ///
    /// PERF: an event inside many calls visits only frames with a group.
    with_group: Link<Frame>,
}

static FRAMES: Pool<Frame> = Pool::new();

fn head() -> Option<&'static Frame> {
    let head = thread::with(|thread| thread.measure.get()).unwrap_or(null());
    // SAFETY: null or a frame, which is never unmapped.
    unsafe { head.cast::<Frame>().as_ref() }
}

fn set_head(head: Option<&'static Frame>) {
    let head = head.map_or(null(), std::ptr::from_ref);
    thread::with(|thread| thread.measure.set(head.cast()));
}

/// Returns the calls that this thread is in, innermost first.
fn frames() -> impl Iterator<Item = &'static Frame> {
    std::iter::successors(head(), |frame| frame.outer.get())
}

/// Begins a call that also counts for `group`. Returns its frame, and `true` if it is the outermost
/// of its thread.
pub(crate) fn enter(group: Option<&'static Group>) -> (&'static Frame, bool) {
    let frame = FRAMES.take();
    frame.figures.set(&Stats::default());
    frame.last_block.store(0, Relaxed);
    frame.ended.store(false, Relaxed);
    take_out_ended();
    let outer = head();
    let with_group = match group {
        Some(group) => {
            group.retain();
            Some(frame)
        }
        None => outer.and_then(|outer| outer.with_group.get()),
    };
    frame.outer.set(outer);
    frame.group.set(group);
    frame.with_group.set(with_group);
    set_head(Some(frame));
    state::begin_measuring();
    (frame, outer.is_none())
}

/// Returns the figures of a call in progress, including those of inner calls that have not ended.
#[inline(never)]
pub(crate) fn figures_of(frame: &'static Frame) -> Stats {
    let mut inside: Option<Stats> = None;
    for inner in frames() {
        let own = inner.figures.get();
        let figures = inside.map_or(own, |inside| own.plus_inner(&inside));
        if std::ptr::eq(inner, frame) {
            return figures;
        }
        inside = Some(figures);
    }
    // The call began on another thread.
    frame.figures.get()
}

/// Ends a call. Returns `true` if this thread is not in any call now.
pub(crate) fn leave(frame: &'static Frame) -> bool {
    state::end_measuring();
    frame.ended.store(true, Release);
    take_out_ended()
}

/// Removes this thread's innermost frames whose calls have ended from its chain. Returns `true` if
/// the chain is empty now.
fn take_out_ended() -> bool {
    let mut went = false;
    while let Some(frame) = head().filter(|frame| frame.ended.load(Acquire)) {
        let outer = frame.outer.get();
        if let Some(outer) = outer {
            let figures = outer.figures.get().plus_inner(&frame.figures.get());
            outer.figures.set(&figures);
            outer.last_block.store(0, Relaxed);
        }
        set_head(outer);
        if let Some(group) = frame.group.get() {
            group.release();
        }
        frame.used.store(false, Release);
        FRAMES.note_free(frame);
        went = outer.is_none();
    }
    went
}

/// Counts an event of a thread that measures. Returns `true` if the thread turns out not to measure
/// any more.
#[cold]
#[inline(never)]
pub(super) fn count(event: Event) -> bool {
    let went = take_out_ended();
    let Some(frame) = head() else {
        return went;
    };
    let (last, is_temporary) = accounting::last_block(frame.last_block.load(Relaxed), event);
    frame.last_block.store(last, Relaxed);
    accounting::count(frame, event, is_temporary);
    if !matches!(event, Event::Free(..)) {
        // Of equal maxima, the latest counts.
        let now = frame.figures.get();
        if now.live_bytes >= now.peak().0 {
            frame.figures.set_peak((now.live_bytes, now.live_blocks));
        }
    }
    count_for_groups(frame, event, is_temporary);
    false
}

/// Counts an event once for each group that the thread is in.
fn count_for_groups(innermost: &'static Frame, event: Event, is_temporary: bool) {
    for (index, group) in groups(innermost).enumerate() {
        let is_counted = groups(innermost)
            .take(index)
            .any(|inner| std::ptr::eq(inner, group));
        if !is_counted {
            group.counters.count(event, is_temporary);
        }
    }
}

/// Returns the groups of calls in progress, from a frame outward.
fn groups(frame: &'static Frame) -> impl Iterator<Item = &'static Group> {
    let outward = |frame: &&'static Frame| frame.outer.get()?.with_group.get();
    std::iter::successors(frame.with_group.get(), outward)
        .filter(|frame| !frame.ended.load(Acquire))
        .filter_map(|frame| frame.group.get())
}

/// Returns the net and total bytes of all calls of `measured` in which this thread is. The
/// difference between two moments within the same call counts all events in between, including
/// those of inner calls.
pub fn measured_so_far() -> (i64, u64) {
    frames().fold((0, 0), |(live, total), frame| {
        let figures = frame.figures.get();
        (live + figures.live_bytes, total + figures.total_bytes)
    })
}

impl Reusable for Frame {
    const UNUSED: Self = Frame {
        used: AtomicBool::new(false),
        ended: AtomicBool::new(false),
        figures: AtomicStats::new(),
        last_block: AtomicUsize::new(0),
        outer: Link::new(),
        group: Link::new(),
        with_group: Link::new(),
    };

    fn claim(&self) -> bool {
        self.used
            .compare_exchange(false, true, Acquire, Relaxed)
            .is_ok()
    }
}

/// Only the thread that began the call adds to the counters.
impl Counters for &Frame {
    fn add(&mut self, counter: Counter, more: u64) {
        if let Some(sum) = self.figures.sums.get(counter as usize) {
            sum.store(sum.load(Relaxed).wrapping_add(more), Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::pool::CHUNK;
    use super::*;

    fn alloc(block: usize, bytes: usize) {
        count(Event::Alloc(block, bytes));
    }

    fn free(block: usize, bytes: usize) {
        count(Event::Free(block, bytes));
    }

    /// Begins a call of `measure()`. A coroutine suspended in such a call looks the same.
    fn begin() -> &'static Frame {
        enter(None).0
    }

    fn end(frame: &'static Frame) -> Stats {
        let figures = figures_of(frame);
        leave(frame);
        figures
    }

    fn bytes(figures: &Stats) -> (u64, u64, i64, u64) {
        (
            figures.total_bytes,
            figures.freed_bytes,
            figures.live_bytes,
            figures.peak_bytes,
        )
    }

    #[test]
    fn a_call_that_ends_after_the_one_around_it_leaves_both_right() {
        std::thread::spawn(|| {
            let outer = begin();
            alloc(16, 100);
            let inner = begin();
            alloc(32, 10);
            assert_eq!(bytes(&end(outer)), (110, 0, 110, 110));
            alloc(48, 5);
            assert_eq!(bytes(&end(inner)), (15, 0, 15, 15));
            assert!(head().is_none(), "nothing is left in the chain");
        })
        .join()
        .expect("it ends");
    }

    #[test]
    fn a_call_that_ends_on_another_thread_stops_counting_and_its_frame_is_taken_out() {
        std::thread::spawn(|| {
            let around = begin();
            alloc(16, 1);
            let moved = begin();
            alloc(32, 20);
            let figures = std::thread::spawn(move || {
                alloc(64, 7_000);
                let own = begin();
                alloc(80, 3);
                let figures = end(moved);
                assert_eq!(
                    bytes(&end(own)),
                    (3, 0, 3, 3),
                    "the other thread's own call"
                );
                figures
            })
            .join()
            .expect("it ends");
            assert_eq!(bytes(&figures), (20, 0, 20, 20));
            assert!(
                moved.used.load(Relaxed),
                "not used again while it is in a chain"
            );
            alloc(48, 300);
            // Another test may use the frame at once. It is only certain that this thread's chain
            // continues without it.
            let innermost = thread::with(|thread| thread.measure.get()).expect("a thread");
            assert!(
                std::ptr::addr_eq(innermost, std::ptr::from_ref(around)),
                "taken out"
            );
            assert_eq!(bytes(&end(around)), (321, 0, 321, 321));
        })
        .join()
        .expect("it ends");
    }

    #[test]
    fn a_call_that_never_ends_keeps_its_frame_and_harms_nobody() {
        std::thread::spawn(|| {
            let around = begin();
            let dropped = begin();
            alloc(16, 8);
            let after = begin();
            alloc(32, 4);
            free(32, 4);
            let figures = end(after);
            assert_eq!(
                (figures.temporary_blocks, figures.temporary_bytes),
                (1, 4),
                "a call after it is right"
            );
            assert_eq!(bytes(&end(around)), (12, 4, 8, 12));
            let again = begin();
            alloc(48, 2);
            assert_eq!(bytes(&end(again)), (2, 0, 2, 2));
            assert!(dropped.used.load(Relaxed));
        })
        .join()
        .expect("it ends");
    }

    #[test]
    fn more_calls_than_a_chunk_has_frames_are_all_counted() {
        std::thread::spawn(|| {
            let calls: Vec<_> = (0..3 * CHUNK).map(|_| begin()).collect();
            alloc(16, 9);
            for call in calls.into_iter().rev() {
                assert_eq!(bytes(&end(call)), (9, 0, 9, 9));
            }
        })
        .join()
        .expect("it ends");
    }

    #[test]
    fn calls_that_move_between_threads_at_random_read_nothing_that_is_gone() {
        use std::sync::Mutex;
        static SUSPENDED: Mutex<Vec<&'static Frame>> = Mutex::new(Vec::new());
        let threads: Vec<_> = (0..4u32)
            .map(|seed| {
                std::thread::spawn(move || {
                    let mut random = seed.wrapping_mul(2_654_435_761) | 1;
                    for step in 0..20_000usize {
                        random ^= random << 13;
                        random ^= random >> 17;
                        random ^= random << 5;
                        match random % 4 {
                            0 => SUSPENDED.lock().expect("unpoisoned").push(begin()),
                            1 | 2 => {
                                let taken = SUSPENDED.lock().expect("unpoisoned").pop();
                                if let Some(frame) = taken {
                                    end(frame);
                                }
                            }
                            _ => alloc(16 * step, 1),
                        }
                    }
                })
            })
            .collect();
        threads
            .into_iter()
            .for_each(|thread| thread.join().expect("it ends"));
    }
}
