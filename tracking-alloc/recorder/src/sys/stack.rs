//! A stack for work that needs more stack than the target's thread may have.
//!
//! A thread of the target may have 64 KiB or less, and beginning a recording handles several paths
//! of 4 KiB. Signals are blocked meanwhile, so that a handler runs on the stack that its thread was
//! created with.

use super::map_private;

/// Only touched pages cost memory. Builds without optimization touch more.
const BYTES: usize = 2 << 20;
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

/// Runs `work` on a stack of its own. Returns `None` if there is no memory for the stack.
///
/// `work` must not unwind. That would end the process.
#[inline(never)]
pub(crate) fn on_own_stack<F: FnOnce() -> R, R>(work: F) -> Option<R> {
    let place = map_private(GUARD + BYTES)?.as_ptr();
    // SAFETY: the lower part of a mapping that was made just now.
    unsafe { libc::mprotect(place.cast(), GUARD, libc::PROT_NONE) };
    let mut work = Work {
        work: Some(work),
        result: None,
    };
    let before = block_signals(u64::MAX);
    // SAFETY: the upper end of the mapping, aligned as the ABI requires.
    let top = unsafe { place.add(GUARD + BYTES) };
    // SAFETY: `run` gets the work for which it was instantiated, and returns. `top` is the end of a
    // stack that nobody uses.
    unsafe { call_on(top, (&raw mut work).cast(), run::<F, R> as *const ()) };
    block_signals(before);
    // SAFETY: the mapping made above, which is no longer in use.
    unsafe { libc::munmap(place.cast(), GUARD + BYTES) };
    work.result
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
}
