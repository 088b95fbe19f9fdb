//! A program that becomes another one by `exec` gets this library again. The programs that it
//! starts in other processes do not, because the library is no longer in the environment.

use crate::environment::{self, OUT, PRELOAD};
use libc::{c_char, c_int, c_void};
use std::ffi::CStr;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering::*};

/// A list of strings that ends with null.
type Strings = *const *const c_char;

/// The process that puts the library back, or 0 if none does.
static PROCESS: AtomicU32 = AtomicU32::new(0);
/// The path of the library, a string.
static PATH: AtomicPtr<c_char> = AtomicPtr::new(null_mut());
/// The functions of libc that look for a program, or open it by its descriptor.
static EXECVPE: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
static FEXECVE: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

type Execvpe = unsafe extern "C" fn(*const c_char, Strings, Strings) -> c_int;
type Fexecve = unsafe extern "C" fn(c_int, Strings, Strings) -> c_int;

/// Prepares for this process to become another program, with the path of the library if it was
/// removed from the environment.
pub(crate) fn prepare(path: Option<&'static CStr>) {
    if let Some(path) = path {
        PATH.store(path.as_ptr().cast_mut(), Relaxed);
        // SAFETY: no preconditions.
        PROCESS.store(unsafe { libc::getpid() } as u32, Release);
    }
}

/// Finds the functions of libc. In a child of a program with threads, the loader may be locked for
/// ever, so this happens early.
pub(crate) fn find() {
    real(&EXECVPE, c"execvpe");
    real(&FEXECVE, c"fexecve");
}

/// Returns a function of libc, found at the first call.
fn real(place: &AtomicPtr<c_void>, name: &CStr) -> *mut c_void {
    if place.load(Acquire).is_null() {
        place.store(crate::next(name), Release);
    }
    place.load(Acquire)
}

/// Calls `exec` with the environment, which contains this library if the process is the recorded
/// one. A child made by fork or vfork is another process.
///
/// # Safety
/// `environment` must be a list of strings.
unsafe fn with_library(environment: Strings, exec: impl FnOnce(Strings) -> c_int) -> c_int {
    // SAFETY: no preconditions.
    let is_own = PROCESS.load(Acquire) == unsafe { libc::getpid() } as u32;
    if !is_own || environment.is_null() {
        return exec(environment);
    }
    // SAFETY: the path was stored before the process.
    let path = unsafe { CStr::from_ptr(PATH.load(Relaxed)) };
    // In another root folder, the loader would only complain about the library on the program's
    // standard error.
    // SAFETY: the path is a string.
    if unsafe { libc::access(path.as_ptr(), libc::R_OK) } != 0 {
        heapglass_recorder::exec_unreadable();
        return exec(environment);
    }
    let path = path.to_bytes();
    // SAFETY: the caller's promise is passed on.
    if !unsafe { environment::has(environment, OUT) } {
        heapglass_recorder::exec_unrecorded();
    }
    // SAFETY: the caller's promise is passed on.
    let Some(list) = (unsafe { List::new(environment, path) }) else {
        return exec(environment);
    };
    let answer = exec(list.start.cast());
    let _errno = crate::Errno::keep();
    // SAFETY: the mapping is no longer in use.
    unsafe { libc::munmap(list.start, list.bytes) };
    answer
}

/// A copy of an environment with this library, in memory of its own.
struct List {
    start: *mut c_void,
    bytes: usize,
}

impl List {
    /// # Safety
    /// `environment` must be a list of strings.
    unsafe fn new(environment: Strings, path: &[u8]) -> Option<List> {
        const WORD: usize = size_of::<*const c_char>();
        // SAFETY: the list ends with null, and each entry is a string. The mapping has room for the
        // list, one more entry, null, and one string.
        unsafe {
            let mut count = 0;
            let mut others: Option<(usize, &[u8])> = None;
            while !(*environment.add(count)).is_null() {
                let text = CStr::from_ptr(*environment.add(count)).to_bytes();
                if let Some(value) = text.strip_prefix(PRELOAD) {
                    others = Some((count, value));
                }
                count += 1;
            }
            let value = others.map_or(&b""[..], |(_, value)| value);
            if environment::contains(value, path) {
                return None;
            }
            let bytes = (count + 2) * WORD + PRELOAD.len() + path.len() + 1 + value.len() + 1;
            let access = libc::PROT_READ | libc::PROT_WRITE;
            let private = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let start = libc::mmap(null_mut(), bytes, access, private, -1, 0);
            if start == libc::MAP_FAILED {
                return None;
            }
            let list = start.cast::<*const c_char>();
            list.copy_from_nonoverlapping(environment, count);
            let mut end = list.add(count + 2).cast::<u8>();
            *list.add(others.map_or(count, |(index, _)| index)) = end.cast();
            let separator = if value.is_empty() { &b""[..] } else { b":" };
            for part in [PRELOAD, path, separator, value] {
                end.copy_from_nonoverlapping(part.as_ptr(), part.len());
                end = end.add(part.len());
            }
            Some(List { start, bytes })
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn execve(
    path: *const c_char,
    arguments: Strings,
    environment: Strings,
) -> c_int {
    // SAFETY: the caller's promises are passed on.
    unsafe {
        with_library(environment, |environment| {
            libc::syscall(libc::SYS_execve, path, arguments, environment) as c_int
        })
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn execv(path: *const c_char, arguments: Strings) -> c_int {
    // SAFETY: the caller's promises are passed on.
    unsafe { execve(path, arguments, environment::current()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn execvpe(
    file: *const c_char,
    arguments: Strings,
    environment: Strings,
) -> c_int {
    let function = real(&EXECVPE, c"execvpe");
    // SAFETY: `real` returns the function of this name, which has this type. The caller's promises
    // are passed on.
    unsafe {
        let function: Execvpe = std::mem::transmute(function);
        with_library(environment, |environment| {
            function(file, arguments, environment)
        })
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn execvp(file: *const c_char, arguments: Strings) -> c_int {
    // SAFETY: the caller's promises are passed on.
    unsafe { execvpe(file, arguments, environment::current()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fexecve(file: c_int, arguments: Strings, environment: Strings) -> c_int {
    let function = real(&FEXECVE, c"fexecve");
    // SAFETY: `real` returns the function of this name, which has this type. The caller's promises
    // are passed on.
    unsafe {
        let function: Fexecve = std::mem::transmute(function);
        with_library(environment, |environment| {
            function(file, arguments, environment)
        })
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn execveat(
    folder: c_int,
    path: *const c_char,
    arguments: Strings,
    environment: Strings,
    flags: c_int,
) -> c_int {
    // SAFETY: the caller's promises are passed on.
    unsafe {
        with_library(environment, |environment| {
            libc::syscall(
                libc::SYS_execveat,
                folder,
                path,
                arguments,
                environment,
                flags,
            ) as c_int
        })
    }
}

/// The last argument of `execle` follows the null after the program's arguments.
unsafe extern "C" fn execle_list(path: *const c_char, arguments: Strings) -> c_int {
    // SAFETY: the caller's promises are passed on.
    unsafe {
        let mut end = arguments;
        while !(*end).is_null() {
            end = end.add(1);
        }
        execve(path, arguments, *end.add(1).cast::<Strings>())
    }
}

unsafe extern "C" fn execl_list(path: *const c_char, arguments: Strings) -> c_int {
    // SAFETY: the caller's promises are passed on.
    unsafe { execve(path, arguments, environment::current()) }
}

unsafe extern "C" fn execlp_list(file: *const c_char, arguments: Strings) -> c_int {
    // SAFETY: the caller's promises are passed on.
    unsafe { execvpe(file, arguments, environment::current()) }
}

/// Defines a function with any number of arguments, which Rust cannot: it stores the arguments in
/// registers directly before those on the stack, and calls another one with the list.
macro_rules! variadic {
    ($($name:ident => $list:ident;)*) => {$(
        #[cfg(target_arch = "x86_64")]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            std::arch::naked_asm!(
                "pop r10",
                "push r9", "push r8", "push rcx", "push rdx", "push rsi",
                "mov rsi, rsp",
                "push r10",
                "call {list}",
                "pop r10",
                "add rsp, 40",
                "push r10",
                "ret",
                list = sym $list,
            )
        }

        #[cfg(target_arch = "aarch64")]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            std::arch::naked_asm!(
                "stp x29, x30, [sp, #-80]!",
                "str x1, [sp, #24]",
                "stp x2, x3, [sp, #32]",
                "stp x4, x5, [sp, #48]",
                "stp x6, x7, [sp, #64]",
                "add x1, sp, #24",
                "bl {list}",
                "ldp x29, x30, [sp], #80",
                "ret",
                list = sym $list,
            )
        }
    )*};
}

variadic! {
    execl => execl_list;
    execlp => execlp_list;
    execle => execle_list;
}
