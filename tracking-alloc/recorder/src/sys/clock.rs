//! Clocks. `ticks` is cheap enough for every check; the others are vDSO calls.

/// Returns a cheap monotonic counter of unspecified rate (TSC, CNTVCT).
#[inline]
pub(crate) fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: RDTSC is part of every x86-64. It only reads a counter.
    unsafe {
        std::arch::x86_64::_rdtsc()
    }
    #[cfg(target_arch = "aarch64")]
    {
        let count: u64;
        // SAFETY: CNTVCT_EL0 is readable from user space on Linux. No memory is touched.
        unsafe {
            std::arch::asm!("mrs {}, cntvct_el0", out(reg) count, options(nomem, nostack, preserves_flags))
        };
        count
    }
}

/// Lets other threads run.
pub(crate) fn yield_now() {
    // SAFETY: no preconditions.
    unsafe { libc::sched_yield() };
}

/// Sleeps, or returns early when a signal comes. Unlike std's function, this is not a cancellation
/// point.
///
/// NOTE: not by `nanosleep`. The kernel notes for it how an interrupted call goes on, in a place of
/// the thread that has one note. A thread that was interrupted in a call of its own, to make calls
/// for somebody who attaches, would lose its note.
pub fn sleep(nanoseconds: u32) {
    let time = libc::timespec {
        tv_sec: 0,
        tv_nsec: nanoseconds.into(),
    };
    let _errno = super::Errno::keep();
    // SAFETY: `time` is a valid timespec, and there are neither files nor signals to wait for.
    unsafe { libc::syscall(libc::SYS_ppoll, 0, 0, &raw const time, 0, 0) };
}

/// A limited wait for other threads, which on a busy machine may wait long for a core. It yields
/// for a while, then sleeps.
pub(crate) struct Patience {
    tries: u32,
    sleeps: u32,
}

impl Patience {
    const YIELDS: u32 = 1_000;
    const SLEEP_NS: u32 = 100_000;

    /// Creates a wait that ends after this many sleeps.
    pub(crate) fn new(sleeps: u32) -> Patience {
        Patience { tries: 0, sleeps }
    }

    /// Waits until a condition holds. Returns `false` if it does not hold at the end.
    pub(crate) fn wait_until(&mut self, is_so: impl Fn() -> bool) -> bool {
        while !is_so() {
            self.tries += 1;
            match self.tries {
                0..=Self::YIELDS => yield_now(),
                tries if tries < Self::YIELDS + self.sleeps => sleep(Self::SLEEP_NS),
                _ => return false,
            }
        }
        true
    }
}

fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid timespec to write into.
    if unsafe { libc::clock_gettime(clock, &mut time) } != 0 {
        return 0;
    }
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Returns the monotonic time in nanoseconds.
pub(crate) fn now_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// Returns the processor time of the calling thread in nanoseconds. This is a system call.
pub(crate) fn thread_cpu_ns() -> u64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Returns the nanoseconds since the Unix epoch.
pub(crate) fn unix_ns() -> u64 {
    read(libc::CLOCK_REALTIME)
}
