//! `dlopen` and `dlclose`, of which the recorder hears.

use crate::slots;
use libc::{c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering::*};

static DLOPEN: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
static DLCLOSE: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

type Dlopen = unsafe extern "C" fn(*const c_char, c_int) -> *mut c_void;
type Dlclose = unsafe extern "C" fn(*mut c_void) -> c_int;

/// Finds the functions of libc.
#[cold]
pub(crate) fn prepare() {
    if DLOPEN.load(Acquire).is_null() {
        DLCLOSE.store(crate::next(c"dlclose"), Release);
        DLOPEN.store(crate::next(c"dlopen"), Release);
    }
}

/// Jumps to libc's function, which finds its caller by the return address: the caller's own paths
/// for libraries and its namespace apply. A library with scopes of its own (`RTLD_DEEPBIND`), or
/// any library if the loader prefers another `malloc`, is first loaded from here, so that its calls
/// can be directed to this library.
#[cfg(target_arch = "x86_64")]
#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn dlopen() {
    std::arch::naked_asm!(
        "push rdi", "push rsi", "sub rsp, 8",
        "call {open}",
        "add rsp, 8", "pop rsi", "pop rdi",
        "test rax, rax",
        "je 2f",
        "ret",
        "2:",
        "jmp qword ptr [rip + {dlopen}]",
        dlopen = sym DLOPEN,
        open = sym open,
    )
}

/// Does the same as on x86-64.
#[cfg(target_arch = "aarch64")]
#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn dlopen() {
    std::arch::naked_asm!(
        "stp x29, x30, [sp, #-32]!",
        "stp x0, x1, [sp, #16]",
        "bl {open}",
        "cbz x0, 1f",
        "ldp x29, x30, [sp], #32",
        "ret",
        "1:",
        "ldp x0, x1, [sp, #16]",
        "ldp x29, x30, [sp], #32",
        "adrp x16, {dlopen}",
        "ldr x16, [x16, :lo12:{dlopen}]",
        "br x16",
        dlopen = sym DLOPEN,
        open = sym open,
    )
}

/// Loads a library whose calls must be directed to this one. Returns null for all others, and if it
/// is not found: libc then looks for it in the place of the caller.
unsafe extern "C" fn open(file: *const c_char, flags: c_int) -> *mut c_void {
    prepare();
    heapglass_recorder::code_changes();
    let directs_calls = slots::directs_calls();
    if file.is_null() || !directs_calls && flags & libc::RTLD_DEEPBIND == 0 {
        return null_mut();
    }
    // SAFETY: the pointer leads to this function. The caller's promises are passed on.
    unsafe {
        let dlopen: Dlopen = std::mem::transmute(DLOPEN.load(Acquire));
        let library = dlopen(file, flags);
        if !library.is_null() {
            slots::direct_calls();
        }
        library
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dlclose(library: *mut c_void) -> c_int {
    prepare();
    // SAFETY: the pointer leads to this function. The caller's promises are passed on.
    let answer = unsafe {
        let dlclose: Dlclose = std::mem::transmute(DLCLOSE.load(Acquire));
        dlclose(library)
    };
    heapglass_recorder::code_changes();
    answer
}
