//! The agreement with heapglass-preload, so that no block is counted twice: its library records no
//! program that contains this allocator, and this allocator records in no program that the library
//! already records.

/// Puts an ELF note into each program with this allocator. The library looks for it when the
/// program starts.
pub(crate) fn leave_note() {
    #[cfg(all(recording, not(miri)))]
    // SAFETY: this adds no instruction.
    unsafe {
        std::arch::asm!(
            ".pushsection .note.heapglass, \"a\", %note",
            ".p2align 2",
            ".long 10, 4, 1",
            ".asciz \"heapglass\"",
            ".p2align 2",
            ".long 1",
            ".popsection",
            options(nomem, nostack, preserves_flags)
        );
    }
}

/// Returns `true` if the library records this process. That is so if this allocator is in a library
/// that a program without it has loaded.
pub(crate) fn records() -> bool {
    #[cfg(all(recording, not(miri)))]
    {
        let address: *const ();
        #[cfg(target_arch = "x86_64")]
        // SAFETY: this loads the address of a function, or null if no loaded library has it.
        unsafe {
            std::arch::asm!(
                ".weak heapglass_preload_records",
                "mov {}, qword ptr [rip + heapglass_preload_records@GOTPCREL]",
                out(reg) address,
                options(pure, readonly, nostack, preserves_flags)
            );
        }
        #[cfg(target_arch = "aarch64")]
        // SAFETY: as above.
        unsafe {
            std::arch::asm!(
                ".weak heapglass_preload_records",
                "adrp {0}, :got:heapglass_preload_records",
                "ldr {0}, [{0}, :got_lo12:heapglass_preload_records]",
                out(reg) address,
                options(pure, readonly, nostack, preserves_flags)
            );
        }
        // SAFETY: the library's function has this type. It only reads the state of its recorder.
        unsafe {
            let function: Option<unsafe extern "C" fn() -> i32> = std::mem::transmute(address);
            function.is_some_and(|function| function() != 0)
        }
    }
    #[cfg(not(all(recording, not(miri))))]
    false
}
