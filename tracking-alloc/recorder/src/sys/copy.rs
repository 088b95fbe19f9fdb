//! The paused copy of the process: a clone that sleeps until its reader has ended.
//!
//! The copy is a child that the program does not see. Its exit signal is 0, so it raises no SIGCHLD
//! and only a wait with `__WCLONE` or `__WALL` finds it. It runs no code of the program: all
//! signals are blocked before the clone, and stay blocked in the copy. Between the clone and its
//! end the copy makes only raw system calls, because any lock may be held by a thread that does not
//! exist in it.

use super::Errno;
use super::file::read_whole;
use std::ptr::null;
use std::time::Duration;
use tracking_alloc_recording::CopyRegisters as Registers;

/// Every signal, also those that libc keeps for itself.
const ALL_SIGNALS: u64 = u64::MAX;
const PR_SET_PTRACER: libc::c_int = 0x5961_6d61;

/// Returns `true` if a filter of system calls may kill the process for making a copy: it has a
/// filter and has given up new privileges, as sandboxes and Kubernetes' restricted profile do.
/// Filters of other containers return an error instead.
///
/// `buffer` is for `/proc/self/status`, because events have little stack.
pub(crate) fn is_sandboxed(buffer: &mut [u8]) -> bool {
    let status = read_whole(c"/proc/self/status", buffer).unwrap_or_default();
    let value_of = |name: &[u8]| {
        let mut lines = status.split(|byte| *byte == b'\n');
        let value = lines.find_map(|line| line.strip_prefix(name));
        value.map(<[u8]>::trim_ascii)
    };
    if let (Some(gave_up), Some(filter)) = (value_of(b"NoNewPrivs:"), value_of(b"Seccomp:")) {
        return gave_up != b"0" && filter != b"0";
    }
    // Without /proc, or if the lines did not fit. The second question is asked only where a filter
    // may exist.
    // SAFETY: the arguments are plain numbers.
    unsafe {
        libc::prctl(libc::PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1
            && libc::prctl(libc::PR_GET_SECCOMP, 0, 0, 0, 0) != 0
    }
}

/// Returns `true` if other processes of the same user may read this process's memory.
pub(crate) fn is_dumpable() -> bool {
    // SAFETY: the arguments are plain numbers.
    unsafe { libc::prctl(libc::PR_GET_DUMPABLE, 0, 0, 0, 0) == 1 }
}

/// Returns `true` if a process exists.
pub(crate) fn exists(process: u32) -> bool {
    let Ok(process) = i32::try_from(process) else {
        return false;
    };
    // SAFETY: signal 0 is sent to nobody.
    process > 0 && (unsafe { libc::kill(process, 0) } == 0 || Errno::current() == libc::EPERM)
}

/// Returns `true` if the kernel has the system calls that the copy makes.
pub(crate) fn can_copy() -> bool {
    // SAFETY: no descriptor has this number.
    unsafe { libc::syscall(libc::SYS_close_range, u32::MAX, u32::MAX, 0) == 0 }
}

/// Makes a paused copy of the process, which ends when the process `reader` does, or after
/// `longest`. Returns its process ID, or the errno of the clone.
#[inline(never)]
pub(crate) fn make(reader: u32, longest: Duration) -> Result<u32, i32> {
    let mut kept = 0_u64;
    let change = |mask: &u64, kept: *mut u64| {
        // SAFETY: both are the 8 bytes of a kernel's signal set, or null.
        unsafe {
            libc::syscall(
                libc::SYS_rt_sigprocmask,
                libc::SIG_SETMASK,
                std::ptr::from_ref(mask),
                kept,
                size_of::<u64>(),
            )
        }
    };
    if change(&ALL_SIGNALS, &mut kept) != 0 {
        return Err(Errno::current());
    }
    // The copy's memory has what its registers had, and the copy tells its reader where.
    let registers = registers();
    std::hint::black_box(&registers);
    let flags = libc::CLONE_UNTRACED as libc::c_long;
    // SAFETY: without CLONE_VM, the copy has its own memory and continues on a copy of this stack.
    // All other arguments are unused without their flags.
    let copy = unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) };
    if copy == 0 {
        sleep_until_ended(reader, longest, &registers);
    }
    let errno = Errno::current();
    // Until here, they stay on the stack.
    std::hint::black_box(&registers);
    change(&kept, std::ptr::null_mut());
    u32::try_from(copy).map_err(|_| errno)
}

/// Returns the registers that a function leaves as they were, as [`Registers`] lays them out. The
/// program may keep its only pointer to a block in one of them: each function between the program
/// and this one stored those that it uses itself, and no others.
#[inline(always)]
fn registers() -> [u64; Registers::WORDS] {
    let mut registers = [0; Registers::WORDS];
    registers[0] = Registers::MAGIC;
    let start = registers.as_mut_ptr();
    // SAFETY: the stores stay within the array. Nothing else changes.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::asm!(
            "mov [{start} + 8], rbx",
            "mov [{start} + 16], rbp",
            "mov [{start} + 24], r12",
            "mov [{start} + 32], r13",
            "mov [{start} + 40], r14",
            "mov [{start} + 48], r15",
            "mov [{start} + 56], rsp",
            "lea {here}, [rip]",
            "mov [{start} + 64], {here}",
            start = in(reg) start,
            here = out(reg) _,
            options(nostack, preserves_flags),
        );
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        std::arch::asm!(
            "stp x19, x20, [{start}, 8]",
            "stp x21, x22, [{start}, 24]",
            "stp x23, x24, [{start}, 40]",
            "stp x25, x26, [{start}, 56]",
            "stp x27, x28, [{start}, 72]",
            start = in(reg) start,
            options(nostack, preserves_flags),
        );
    }
    registers
}

/// The life of the copy. Its reader finds the registers by the last argument of the system call in
/// which the copy waits, which the call itself has no use for.
fn sleep_until_ended(reader: u32, longest: Duration, registers: &[u64; Registers::WORDS]) -> ! {
    const SCORE: &[u8] = b"1000";
    // SAFETY: raw system calls with pointers to live values of this function.
    unsafe {
        // If memory runs out, the kernel should end the copy and not the program.
        let file = libc::syscall(
            libc::SYS_openat,
            libc::AT_FDCWD,
            c"/proc/self/oom_score_adj".as_ptr(),
            libc::O_WRONLY | libc::O_CLOEXEC,
            0,
        );
        if file >= 0 {
            libc::syscall(libc::SYS_write, file, SCORE.as_ptr(), SCORE.len());
        }
        // The other ends of the program's pipes and sockets must not wait for the copy.
        if libc::syscall(libc::SYS_close_range, 0, u32::MAX, 0) == 0 {
            // A reader that is no ancestor may read only with this, where Yama restricts it.
            libc::syscall(
                libc::SYS_prctl,
                PR_SET_PTRACER,
                reader as libc::c_ulong,
                0,
                0,
                0,
            );
            let ended = libc::syscall(libc::SYS_pidfd_open, reader, 0);
            if ended >= 0 {
                let mut poll = libc::pollfd {
                    fd: ended as libc::c_int,
                    events: libc::POLLIN,
                    revents: 0,
                };
                let time = libc::timespec {
                    tv_sec: longest.as_secs() as _,
                    tv_nsec: 0,
                };
                libc::syscall(
                    libc::SYS_ppoll,
                    &raw mut poll,
                    1,
                    &raw const time,
                    null::<u64>(),
                    size_of::<u64>(),
                    registers.as_ptr(),
                );
            }
        }
        loop {
            libc::syscall(libc::SYS_exit_group, 0);
        }
    }
}

/// Ends a copy that was not reaped.
pub(crate) fn end(copy: u32) {
    if let Some(copy) = i32::try_from(copy).ok().filter(|copy| *copy > 0) {
        // SAFETY: the number is that of the copy, because nobody reaped it.
        unsafe { libc::kill(copy, libc::SIGKILL) };
    }
}

/// Removes a copy that has ended from the list of processes. Returns `false` if it has not ended.
pub(crate) fn reap(copy: u32) -> bool {
    // SAFETY: nothing is written without a place for the status.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_wait4,
            copy,
            null::<libc::c_int>(),
            libc::__WCLONE | libc::WNOHANG,
            null::<libc::c_void>(),
        )
    };
    // An error means that it is no child (any more): somebody else waited for it.
    answer != 0
}
