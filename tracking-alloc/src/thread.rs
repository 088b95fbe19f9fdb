//! What a thread knows of itself: a few words without a destructor, so they are there before
//! `main`, during the teardown of thread-locals, and after it. Pointers are opaque here: the module
//! that sets one knows its type.

use crate::counters::{Event, last_block};
use crate::guards::Guards;
#[cfg(recording)]
use crate::sys::Stack;
use std::cell::Cell;
use std::ptr::null;

pub(crate) struct Thread {
    /// The lane that is its own, which may be of an earlier generation.
    #[cfg(recording)]
    pub(crate) lane: Cell<*const ()>,
    /// The lane it shares with others for want of one of its own.
    #[cfg(recording)]
    pub(crate) shared: Cell<*const ()>,
    /// Where its stack lies, once asked.
    #[cfg(recording)]
    pub(crate) stack: Cell<Option<Stack>>,
    /// The hook is at work in this thread outside a lane of its own.
    #[cfg(recording)]
    pub(crate) busy: Cell<bool>,
    /// The block it allocated last, if it was not freed or reallocated since.
    last_block: Cell<usize>,
    /// The scope it is in.
    pub(crate) scope: Cell<u32>,
    /// The phases it is in.
    pub(crate) guards: Guards,
    /// A stack is being captured for `assert_allocs!`.
    #[cfg(captures)]
    pub(crate) captures: Cell<bool>,
    /// What it allocates belongs to heapglass, and is not recorded.
    #[cfg(all(recording, captures))]
    passes_over: Cell<bool>,
    /// The innermost `measure()`.
    pub(crate) measure: Cell<*const ()>,
    /// The innermost memory budget.
    #[cfg(feature = "serde")]
    pub(crate) budget: Cell<*const ()>,
}

thread_local! {
    static THREAD: Thread = const {
        Thread {
            #[cfg(recording)]
            lane: Cell::new(null()),
            #[cfg(recording)]
            shared: Cell::new(null()),
            #[cfg(recording)]
            stack: Cell::new(None),
            #[cfg(recording)]
            busy: Cell::new(false),
            last_block: Cell::new(0),
            scope: Cell::new(0),
            guards: Guards::new(),
            #[cfg(captures)]
            captures: Cell::new(false),
            #[cfg(all(recording, captures))]
            passes_over: Cell::new(false),
            measure: Cell::new(null()),
            #[cfg(feature = "serde")]
            budget: Cell::new(null()),
        }
    };
}

/// Returns `true` if an event frees the block that the calling thread allocated last: then it was
/// temporary.
#[inline(always)]
pub(crate) fn is_temporary(event: Event) -> bool {
    let note = |thread: &Thread| {
        let (last, is_temporary) = last_block(thread.last_block.get(), event);
        thread.last_block.set(last);
        is_temporary
    };
    with(note) == Some(true)
}

/// Remembers the block that the calling thread allocated last; 0 = none.
#[cfg(recording)]
#[inline(always)]
pub(crate) fn set_last_block(block: usize) {
    with(|thread| thread.last_block.set(block));
}

/// Forgets a block that is being freed if it is that one: then it was temporary.
#[cfg(recording)]
#[inline(always)]
pub(crate) fn take_last_block(block: usize) -> bool {
    let take = |thread: &Thread| {
        let is_last = thread.last_block.get() == block;
        if is_last {
            thread.last_block.set(0);
        }
        is_last
    };
    with(take) == Some(true)
}

/// Returns `true` if what the calling thread allocates is not to be recorded.
#[cfg(recording)]
pub(crate) fn passes_over() -> bool {
    #[cfg(captures)]
    let passes_over = with(|thread| thread.passes_over.get()) == Some(true);
    #[cfg(not(captures))]
    let passes_over = false;
    passes_over
}

/// Says whether that is so from now on.
#[cfg(all(recording, captures))]
pub(crate) fn set_passes_over(passes_over: bool) {
    with(|thread| thread.passes_over.set(passes_over));
}

/// Calls `f` with the thread's words. Without a destructor they are never gone.
#[inline(always)]
pub(crate) fn with<R>(f: impl FnOnce(&Thread) -> R) -> Option<R> {
    THREAD.try_with(f).ok()
}
