//! The thread-local words of the recorder. They have no destructor, so they exist before `main`,
//! during the teardown of thread-locals, and after it. Pointers are opaque here; the module that
//! sets one knows its type.

use crate::accounting::{Event, last_block};
#[cfg(recording)]
use crate::sys::Stack;
use std::cell::Cell;
use std::ptr::null;

pub(crate) struct Thread {
    /// The thread's own lane, which may be from an earlier generation.
    #[cfg(recording)]
    pub(crate) lane: Cell<*const ()>,
    /// The lane that it shares with other threads if it has none of its own.
    #[cfg(recording)]
    pub(crate) shared: Cell<*const ()>,
    /// The address range of the thread's stack, once known.
    #[cfg(recording)]
    pub(crate) stack: Cell<Option<Stack>>,
    /// `true` while the hook runs in this thread without a lane of its own.
    #[cfg(recording)]
    pub(crate) busy: Cell<bool>,
    /// The block that the thread allocated last, unless it was freed or reallocated since.
    last_block: Cell<usize>,
    /// The thread's current scope.
    pub(crate) scope: Cell<u32>,
    /// `true` while a stack is captured for `assert_allocs!`.
    #[cfg(captures)]
    pub(crate) captures: Cell<bool>,
    /// `true` while the thread's allocations belong to heapglass and are not recorded.
    #[cfg(all(recording, captures))]
    passes_over: Cell<bool>,
    /// The innermost `measure()`.
    pub(crate) measure: Cell<*const ()>,
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
            #[cfg(captures)]
            captures: Cell::new(false),
            #[cfg(all(recording, captures))]
            passes_over: Cell::new(false),
            measure: Cell::new(null()),
        }
    };
}

/// Returns `true` if an event frees the block that the calling thread allocated last, which makes
/// the block temporary.
#[inline(always)]
pub(crate) fn is_temporary(event: Event) -> bool {
    let note = |thread: &Thread| {
        let (last, is_temporary) = last_block(thread.last_block.get(), event);
        thread.last_block.set(last);
        is_temporary
    };
    with(note) == Some(true)
}

/// Remembers the block that the calling thread allocated last, or 0 for none.
#[cfg(recording)]
#[inline(always)]
pub(crate) fn set_last_block(block: usize) {
    with(|thread| thread.last_block.set(block));
}

/// Forgets the last allocated block if it is the one being freed. In that case the block was
/// temporary, and the result is `true`.
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

/// Returns `true` if allocations of the calling thread must not be recorded.
#[cfg(recording)]
pub(crate) fn passes_over() -> bool {
    #[cfg(captures)]
    let passes_over = with(|thread| thread.passes_over.get()) == Some(true);
    #[cfg(not(captures))]
    let passes_over = false;
    passes_over
}

/// Sets whether allocations of the calling thread must not be recorded.
#[cfg(all(recording, captures))]
pub(crate) fn set_passes_over(passes_over: bool) {
    with(|thread| thread.passes_over.set(passes_over));
}

/// Calls `f` with the thread's words, which always exist because they have no destructor.
#[inline(always)]
pub(crate) fn with<R>(f: impl FnOnce(&Thread) -> R) -> Option<R> {
    THREAD.try_with(f).ok()
}
