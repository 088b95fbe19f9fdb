//! Loads written in assembly.
//!
//! They read words that may not belong to a live variable: padding, or the place of a former stack
//! frame. Another thread may change such a word meanwhile, and its value does not matter. As
//! assembly, the loads are not undefined behavior. AddressSanitizer does not treat them as errors
//! either; it would end the program.

/// Reads the word at an address, aligned or not.
///
/// # Safety
/// The word must be readable.
#[inline(always)]
pub unsafe fn word_at(address: usize) -> usize {
    let word: usize;
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: the word is readable (guaranteed by the caller), and nothing is written.
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

/// Reads the two words at an address, aligned or not.
///
/// # Safety
/// Both words must be readable.
#[inline(always)]
pub(crate) unsafe fn two_words_at(address: usize) -> [usize; 2] {
    // PERF: the second address is part of its instruction.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: the words are readable (guaranteed by the caller), and nothing is written.
    unsafe {
        let (first, second): (usize, usize);
        std::arch::asm!("mov {}, qword ptr [{2}]", "mov {}, qword ptr [{2} + 8]",
            out(reg) first, lateout(reg) second, in(reg) address,
            options(readonly, nostack, preserves_flags));
        [first, second]
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    // SAFETY: as above.
    [address, address + size_of::<usize>()].map(|at| unsafe { word_at(at) })
}

/// Returns the aligned words of a value, in order.
///
/// # Safety
/// All bytes of the value must be readable as long as the words are read.
pub unsafe fn words(start: usize, bytes: usize) -> impl Iterator<Item = usize> {
    const WORD: usize = size_of::<usize>();
    let first = start.next_multiple_of(WORD);
    let end = (start + bytes) / WORD * WORD;
    (first..end.max(first)).step_by(WORD).map(|address| {
        // SAFETY: the word lies inside the value (guaranteed by the caller).
        unsafe { word_at(address) }
    })
}

/// Reads the two words at an address, aligned or not, into one register.
///
/// # Safety
/// Both words must be readable.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
pub(crate) unsafe fn pair_at(address: usize) -> std::arch::x86_64::__m128i {
    let pair;
    // SAFETY: the words are readable (guaranteed by the caller), and nothing is written.
    unsafe {
        std::arch::asm!("movdqu {}, xmmword ptr [{}]", lateout(xmm_reg) pair, in(reg) address,
            options(readonly, nostack, preserves_flags));
    }
    pair
}
