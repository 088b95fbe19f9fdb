//! Stands for the unwinder that std refers to. Nothing unwinds here: a panic ends the process. With
//! these functions, programs do not load `libgcc_s` only because of this library.
//!
//! They are hidden. The program's own unwinder is used for everything outside this library.

macro_rules! missing {
    ($($name:literal),*) => {
        std::arch::global_asm!(
            ".text",
            $(concat!(".globl ", $name), concat!(".hidden ", $name),
              concat!(".type ", $name, ", %function"), concat!($name, ":"),)*
            // _URC_END_OF_STACK: a backtrace ends where it begins.
            #[cfg(target_arch = "x86_64")]
            "mov eax, 5",
            #[cfg(target_arch = "aarch64")]
            "mov x0, #5",
            "ret",
        );
    };
}

missing!(
    "_Unwind_Backtrace",
    "_Unwind_DeleteException",
    "_Unwind_FindEnclosingFunction",
    "_Unwind_GetCFA",
    "_Unwind_GetDataRelBase",
    "_Unwind_GetIP",
    "_Unwind_GetIPInfo",
    "_Unwind_GetLanguageSpecificData",
    "_Unwind_GetRegionStart",
    "_Unwind_GetTextRelBase",
    "_Unwind_RaiseException",
    "_Unwind_Resume",
    "_Unwind_SetGR",
    "_Unwind_SetIP"
);
