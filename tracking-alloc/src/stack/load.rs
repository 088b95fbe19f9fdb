//! Loads from the calling thread's stack by the machine, not by the language: where a frame was before, anything may lie
//! now, what no variable holds too. AddressSanitizer would take such a load for an error and end the program.

use std::arch::asm;

/// The two words at an address, aligned or not.
///
/// # Safety
/// They must be readable.
#[inline(always)]
pub(super) unsafe fn two_words(address: usize) -> [u64; 2] {
    let (first, second): (u64, u64);
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: readable (caller); nothing is written.
    unsafe {
        asm!("mov {}, qword ptr [{at}]", "mov {}, qword ptr [{at} + 8]", out(reg) first, lateout(reg) second,
            at = in(reg) address, options(readonly, nostack, preserves_flags));
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: as above.
    unsafe {
        asm!("ldp {}, {}, [{}]", out(reg) first, lateout(reg) second, in(reg) address,
            options(readonly, nostack, preserves_flags));
    }
    #[cfg(miri)]
    // SAFETY: as above.
    let [first, second] = unsafe { (address as *const [u64; 2]).read_unaligned() };
    [first, second]
}

/// The word at an address, aligned or not.
///
/// # Safety
/// It must be readable.
#[inline(always)]
pub(super) unsafe fn word(address: usize) -> u64 {
    let word: u64;
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: readable (caller); nothing is written.
    unsafe {
        asm!("mov {}, qword ptr [{}]", lateout(reg) word, in(reg) address,
            options(readonly, nostack, preserves_flags));
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: as above.
    unsafe {
        asm!("ldr {}, [{}]", lateout(reg) word, in(reg) address,
            options(readonly, nostack, preserves_flags));
    }
    #[cfg(miri)]
    // SAFETY: as above.
    let word = unsafe { (address as *const u64).read_unaligned() };
    word
}

/// The two words at an address in one register.
///
/// # Safety
/// They must be readable.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
pub(super) unsafe fn pair(address: usize) -> std::arch::x86_64::__m128i {
    let pair;
    // SAFETY: readable (caller); nothing is written.
    unsafe {
        asm!("movdqu {}, xmmword ptr [{}]", lateout(xmm_reg) pair, in(reg) address,
            options(readonly, nostack, preserves_flags));
    }
    pair
}
