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
    /// The countdown of the lane, if the thread has one of its own.
    #[cfg(recording)]
    pub(crate) countdown: Cell<*const ()>,
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

impl Thread {
    const fn new() -> Thread {
        Thread {
            #[cfg(recording)]
            lane: Cell::new(null()),
            #[cfg(recording)]
            shared: Cell::new(null()),
            #[cfg(recording)]
            countdown: Cell::new(null()),
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
    }
}

#[cfg(not(initial_exec))]
thread_local! {
    static THREAD: Thread = const { Thread::new() };
}

/// The words in the space that every thread has from its start (the TLS model initial-exec).
///
/// In a shared library, `thread_local!` calls `__tls_get_addr`, which may allocate. A library that
/// is `malloc` must not call it. The compiler option for this model is not stable, so the words are
/// defined and found in assembly.
#[cfg(initial_exec)]
mod initial_exec {
    use super::Thread;
    use std::mem::{MaybeUninit, transmute};

    const WORDS: usize = size_of::<Thread>() / size_of::<usize>();
    const _: () = {
        // A new thread has zeros there. Only the tag of an optional value and plain words are
        // looked at, because no other byte means anything.
        // SAFETY: any bytes are valid for `MaybeUninit`.
        let stack = unsafe {
            transmute::<Option<super::Stack>, [MaybeUninit<usize>; 3]>(
                Thread::new().stack.into_inner(),
            )
        };
        // SAFETY: the tag of an optional value without a niche is initialized.
        assert!(unsafe { stack[0].assume_init() } == 0);
        assert!(align_of::<Thread>() == align_of::<usize>());
    };

    std::arch::global_asm!(
        ".pushsection .tbss.heapglass_thread, \"awT\", %nobits",
        ".hidden heapglass_thread",
        ".globl heapglass_thread",
        ".type heapglass_thread, %object",
        ".p2align 3",
        "heapglass_thread:",
        ".zero {bytes}",
        ".size heapglass_thread, {bytes}",
        ".popsection",
        bytes = const WORDS * size_of::<usize>(),
    );

    /// Returns the words of the calling thread.
    #[inline(always)]
    pub(super) fn of_thread() -> *const Thread {
        let words: *const Thread;
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the word at the thread pointer is the thread pointer itself. The words lie at a
        // distance from it that the loader has stored.
        unsafe {
            std::arch::asm!(
                "mov {words}, qword ptr fs:[0]",
                "add {words}, qword ptr [rip + heapglass_thread@GOTTPOFF]",
                words = out(reg) words,
                options(pure, nomem, nostack)
            );
        }
        #[cfg(target_arch = "aarch64")]
        // SAFETY: as above, with the thread pointer in its register.
        unsafe {
            std::arch::asm!(
                "mrs {words}, tpidr_el0",
                "adrp {distance}, :gottprel:heapglass_thread",
                "ldr {distance}, [{distance}, :gottprel_lo12:heapglass_thread]",
                "add {words}, {words}, {distance}",
                words = out(reg) words, distance = out(reg) _,
                options(pure, nomem, nostack, preserves_flags)
            );
        }
        words
    }
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
    #[cfg(not(initial_exec))]
    return THREAD.try_with(f).ok();
    #[cfg(initial_exec)]
    // SAFETY: the words exist as long as their thread, were zero at first, which is the value of
    // `new`, and are used by no other thread.
    return Some(f(unsafe { &*initial_exec::of_thread() }));
}
