//! Walking by frame pointers: two loads a frame.

use super::{CutAfter, End, Stack};
use tracking_alloc_recording::MAX_FRAMES;

/// The frame pointer of the function this is inlined into.
///
/// NOTE: the clobber of a callee-saved register is what makes the compiler build the frame first; without it the
/// prologue may be moved behind these instructions, which would then read the caller's frame pointer.
#[inline(always)]
pub(super) fn current() -> usize {
    let pointer: usize;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: copies a register.
    unsafe {
        std::arch::asm!("mov {}, rbp", out(reg) pointer, out("r15") _, options(nomem, nostack, preserves_flags));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: copies a register.
    unsafe {
        std::arch::asm!("mov {}, x29", out(reg) pointer, out("x20") _, options(nomem, nostack, preserves_flags));
    }
    pointer
}

/// Return addresses may carry a signature above the address bits (pointer authentication).
#[inline(always)]
fn strip(address: u64) -> u64 {
    if cfg!(target_arch = "aarch64") {
        address & 0xffff_ffff_ffff
    } else {
        address
    }
}

/// Visits return addresses from the innermost outward.
///
/// `frame` must be the frame pointer of a function in progress that keeps one. Everything read lies between it and the
/// top of the thread's stack, which is mapped: frames are followed strictly upward and never past the top.
#[inline(always)]
pub(super) fn walk(
    frame: usize,
    stack: Stack,
    stop: Option<&CutAfter>,
    mut visit: impl FnMut(u64),
) -> End {
    const LINK: usize = 2 * size_of::<usize>();
    if frame < stack.low || frame >= stack.high {
        if stack.high != 0 && frame & 7 == 0 && frame != 0 {
            // SAFETY: the function whose frame this is keeps a frame pointer (self-test), so its own link is there.
            visit(strip(unsafe { *((frame + 8) as *const u64) }));
        }
        return End::Foreign;
    }
    let last = stack.high - LINK;
    if frame > last {
        return End::Outermost;
    }
    // PERF: two loops, so that the usual one asks nothing about stops.
    match stop {
        None => follow(frame, last, |_| false, visit),
        Some(stop) => follow(frame, last, |address| stop.contains(address), visit),
    }
}

/// Follows links from `frame`, of which none may lie beyond `last`.
#[inline(always)]
fn follow(
    mut frame: usize,
    last: usize,
    stops: impl Fn(u64) -> bool,
    mut visit: impl FnMut(u64),
) -> End {
    for _ in 0..MAX_FRAMES {
        // SAFETY: `frame .. frame + 16` lies between the first frame and the top of the thread's stack. A link that is
        // data may be unaligned.
        let (next, address) = unsafe {
            (
                (frame as *const usize).read_unaligned(),
                strip(((frame + 8) as *const u64).read_unaligned()),
            )
        };
        if address == 0 {
            return End::Outermost;
        }
        visit(address);
        if next <= frame || next > last {
            return End::Outermost;
        }
        if stops(address) {
            return End::Stopped;
        }
        frame = next;
    }
    End::TooDeep
}
