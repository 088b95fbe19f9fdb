//! Reading a value's memory word by word, padding included, without claiming to know what is there.

/// The word at an address.
///
/// # Safety
/// A word from `address`, which is aligned for it, must be readable.
#[inline(always)]
pub(crate) unsafe fn word_at(address: usize) -> usize {
    let word: usize;
    // NOTE: a load by the machine, not by the language: padding and what another thread changes meanwhile may be any
    // number here, which is no undefined behaviour.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: readable (caller); nothing is written.
    unsafe {
        std::arch::asm!("mov {}, qword ptr [{}]", out(reg) word, in(reg) address,
            options(readonly, nostack, preserves_flags));
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: as above.
    unsafe {
        std::arch::asm!("ldr {}, [{}]", out(reg) word, in(reg) address,
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
pub(crate) unsafe fn words(start: usize, bytes: usize) -> impl Iterator<Item = usize> {
    const WORD: usize = size_of::<usize>();
    let first = start.next_multiple_of(WORD);
    let end = (start + bytes) / WORD * WORD;
    (first..end.max(first)).step_by(WORD).map(|address| {
        // SAFETY: inside the value (caller).
        unsafe { word_at(address) }
    })
}
