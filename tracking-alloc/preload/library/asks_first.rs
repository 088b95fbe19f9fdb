//! Functions that jump to another one unless a function of this library has done the work.

/// Defines a function that calls another one with its two arguments, returns what that returns, and
/// jumps to libc's function with the same arguments if it is null. libc finds its caller by the
/// return address.
macro_rules! asks_first {
    ($(#[$attribute:meta])* $visibility:vis fn $name:ident { $asked:ident, else $other:path }) => {
        $(#[$attribute])*
        #[cfg(target_arch = "x86_64")]
        #[unsafe(naked)]
        $visibility unsafe extern "C" fn $name() {
            std::arch::naked_asm!(
                // The stack is walked through here.
                ".cfi_startproc",
                "push rdi", ".cfi_adjust_cfa_offset 8",
                "push rsi", ".cfi_adjust_cfa_offset 8",
                "sub rsp, 8", ".cfi_adjust_cfa_offset 8",
                "call {asked}",
                "add rsp, 8", ".cfi_adjust_cfa_offset -8",
                "pop rsi", ".cfi_adjust_cfa_offset -8",
                "pop rdi", ".cfi_adjust_cfa_offset -8",
                "test rax, rax",
                "je 2f",
                "ret",
                "2:",
                "jmp qword ptr [rip + {other}]",
                ".cfi_endproc",
                asked = sym $asked,
                other = sym $other,
            )
        }

        $(#[$attribute])*
        #[cfg(target_arch = "aarch64")]
        #[unsafe(naked)]
        $visibility unsafe extern "C" fn $name() {
            std::arch::naked_asm!(
                "stp x29, x30, [sp, #-32]!",
                "stp x0, x1, [sp, #16]",
                "bl {asked}",
                "cbz x0, 1f",
                "ldp x29, x30, [sp], #32",
                "ret",
                "1:",
                "ldp x0, x1, [sp, #16]",
                "ldp x29, x30, [sp], #32",
                "adrp x16, {other}",
                "ldr x16, [x16, :lo12:{other}]",
                "br x16",
                asked = sym $asked,
                other = sym $other,
            )
        }
    };
}

pub(crate) use asks_first;
