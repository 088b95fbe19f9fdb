//! Stacks for work that needs more stack than the target's thread may have.
//!
//! A thread of the target may have 64 KiB or less, and a signal handler may run on 4 KiB. Beginning
//! a recording handles several paths of 4 KiB, and finding the rule of an address takes 2 KiB.
//! Signals are blocked meanwhile, so that a handler runs on the stack that its thread was created
//! with.

use super::map_private;

/// Only touched pages cost memory. Builds without optimization touch more.
const BYTES: usize = 2 << 20;
/// The size of a stack that is kept. Builds without optimization need most of it.
const KEPT_BYTES: usize = 256 << 10;
/// The part of such a stack that is used.
const USED_BYTES: usize = if cfg!(debug_assertions) {
    64 << 10
} else {
    8 << 10
};
/// The size of the guard below the stack. A stack overflow is a fault, as on any stack.
const GUARD: usize = 64 << 10;

struct Work<F, R> {
    work: Option<F>,
    result: Option<R>,
}

extern "C" fn run<F: FnOnce() -> R, R>(work: *mut Work<F, R>) {
    // SAFETY: it belongs to the caller, who waits.
    let work = unsafe { &mut *work };
    work.result = work.work.take().map(|work| work());
}

/// A stack that is kept for work that is done again and again. All-zero bytes are one that was not
/// made yet.
#[derive(Clone, Copy)]
pub(crate) struct KeptStack {
    /// The end of the stack, or null.
    top: *mut u8,
}

// SAFETY: the stack is used by whoever holds the lock of the value.
unsafe impl Send for KeptStack {}

impl KeptStack {
    /// Maps the stack. Without memory, work runs on the stack of its thread.
    pub(crate) fn prepare(&mut self) {
        if self.top.is_null()
            && let Some(top) = map_stack(KEPT_BYTES)
        {
            self.top = top;
            // Other pages stay untouched.
            super::count_own(USED_BYTES);
        }
    }

    /// Runs `work` on this stack. It must not unwind, and must not use this stack itself.
    #[inline(never)]
    pub(crate) fn run<R>(&self, work: impl FnOnce() -> R) -> R {
        // Where no system call is allowed, signals cannot be blocked.
        if self.top.is_null() || super::is_quiet() {
            return work();
        }
        // SAFETY: the end of a stack that nobody else uses: the caller has the only reference.
        unsafe { run_on(self.top, work) }
    }
}

/// Runs work on the stack that ends at `top`, with signals blocked.
///
/// # Safety
/// Nobody else may use that stack.
unsafe fn run_on<F: FnOnce() -> R, R>(top: *mut u8, work: F) -> R {
    let mut work = Work {
        work: Some(work),
        result: None,
    };
    let before = block_signals(u64::MAX);
    // SAFETY: `run` gets the work for which it was instantiated, and returns. The caller guarantees
    // the rest.
    unsafe { call_on(top, (&raw mut work).cast(), run::<F, R> as *const ()) };
    block_signals(before);
    match work.result {
        Some(result) => result,
        // `run` has stored it.
        None => std::process::abort(),
    }
}

/// Maps a stack with a guard below it, and returns its end.
fn map_stack(bytes: usize) -> Option<*mut u8> {
    let place = map_private(GUARD + bytes)?.as_ptr();
    // SAFETY: the lower part of a mapping that was made just now, and its upper end, which is
    // aligned as the ABI requires.
    unsafe {
        libc::mprotect(place.cast(), GUARD, libc::PROT_NONE);
        Some(place.add(GUARD + bytes))
    }
}

/// Runs `work` on a stack of its own. Returns `None` if there is no memory for the stack.
///
/// `work` must not unwind. That would end the process.
#[inline(never)]
pub(crate) fn on_own_stack<F: FnOnce() -> R, R>(work: F) -> Option<R> {
    let top = map_stack(BYTES)?;
    // SAFETY: the end of a stack that was mapped just now, and is no longer in use afterwards.
    unsafe {
        let result = run_on(top, work);
        libc::munmap(top.sub(GUARD + BYTES).cast(), GUARD + BYTES);
        Some(result)
    }
}

/// Calls `function(argument)` on the stack that ends at `top`.
///
/// # Safety
/// `function` must be an `extern "C" fn` that takes `argument` and does not unwind. `top` must be
/// the 16-byte aligned end of enough memory.
unsafe fn call_on(top: *mut u8, argument: *mut (), function: *const ()) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the stack pointer is kept in a register that functions preserve, and restored
    // afterwards. The caller guarantees the rest.
    unsafe {
        std::arch::asm!(
            "mov r12, rsp", "mov rsp, {top}", "call {function}", "mov rsp, r12",
            top = in(reg) top, function = in(reg) function, in("rdi") argument, out("r12") _,
            clobber_abi("C")
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        std::arch::asm!(
            "mov x20, sp", "mov sp, {top}", "blr {function}", "mov sp, x20",
            top = in(reg) top, function = in(reg) function, in("x0") argument, out("x20") _,
            clobber_abi("C")
        );
    }
}

/// Sets the mask of blocked signals, one bit each. Returns the previous mask.
fn block_signals(set: u64) -> u64 {
    let mut before = 0u64;
    // SAFETY: both sets have the size of the kernel's sets, which the last argument states.
    unsafe {
        libc::syscall(
            libc::SYS_rt_sigprocmask,
            libc::SIG_SETMASK,
            &raw const set,
            &raw mut before,
            size_of::<u64>(),
        )
    };
    before
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_runs_elsewhere_and_its_answer_comes_back() {
        let own = crate::sys::thread_stack();
        let numbers = [7u64; 100];
        let (there, sum) = on_own_stack(|| {
            let there = 0u8;
            (&raw const there as usize, numbers.iter().sum::<u64>())
        })
        .expect("memory");
        assert_eq!(sum, 700);
        assert!(!own.contains(there));
    }

    #[test]
    fn a_kept_stack_is_used_again() {
        let mut stack = KeptStack {
            top: std::ptr::null_mut(),
        };
        let place = |stack: &KeptStack| {
            stack.run(|| {
                let there = 0u8;
                std::hint::black_box(&raw const there) as usize
            })
        };
        let own = crate::sys::thread_stack();
        assert!(own.contains(place(&stack)), "before it is mapped");
        stack.prepare();
        let there = place(&stack);
        assert!(!own.contains(there));
        assert_eq!(place(&stack), there);
    }
}
