//! Loads by the machine, not by the language: of words that may be no variable's, such as padding,
//! or a stack's where a frame was before, and that another thread may change meanwhile. They may be
//! any number here, which is no undefined behaviour, nor an error to AddressSanitizer, which would
//! end the program.

/// The word at an address, aligned or not.
///
/// # Safety
/// It must be readable.
#[inline(always)]
pub unsafe fn word_at(address: usize) -> usize {
    let word: usize;
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: readable (caller); nothing is written.
    unsafe {
        std::arch::asm!("mov {}, qword ptr [{}]", lateout(reg) word, in(reg) address,
            options(readonly, nostack, preserves_flags));
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: as above.
    unsafe {
        std::arch::asm!("ldr {}, [{}]", lateout(reg) word, in(reg) address,
            options(readonly, nostack, preserves_flags));
    }
    #[cfg(miri)]
    {
        let _ = address;
        word = 0;
    }
    word
}

/// The aligned words of a value, in order.
///
/// # Safety
/// All bytes of the value must be readable as long as the words are read.
pub unsafe fn words(start: usize, bytes: usize) -> impl Iterator<Item = usize> {
    const WORD: usize = size_of::<usize>();
    let first = start.next_multiple_of(WORD);
    let end = (start + bytes) / WORD * WORD;
    (first..end.max(first)).step_by(WORD).map(|address| {
        // SAFETY: inside the value (caller).
        unsafe { word_at(address) }
    })
}

/// The two words at an address, aligned or not, in one register.
///
/// # Safety
/// They must be readable.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
pub(crate) unsafe fn pair_at(address: usize) -> std::arch::x86_64::__m128i {
    let pair;
    // SAFETY: readable (caller); nothing is written.
    unsafe {
        std::arch::asm!("movdqu {}, xmmword ptr [{}]", lateout(xmm_reg) pair, in(reg) address,
            options(readonly, nostack, preserves_flags));
    }
    pair
}
