//! The library that heapglass preloads into programs that do not link tracking-alloc.
//!
//! It exports `malloc`, `free` and their relatives. Each function forwards to the allocator behind
//! this library and reports the event to the recorder. No header is added to a block, and no size
//! changes, so the program allocates as without the library.
//!
//! | module | for |
//! |---|---|
//! | `inner` | the allocator behind this library |
//! | `exported` | the functions that programs call instead of the allocator's |
//! | `begin`, `constructor` | the start of a recording, before the program's own code runs |
//! | `environment`, `exec` | which other programs get this library |
//! | `slots` | calls that do not reach this library by themselves |
//! | `attach` | a recording in a program that runs already |
//! | `linked`, `redirected` | allocators that a Rust program contains under other names |
//! | `operators` | C++'s `operator new` of an allocator that has its own |
//! | `asks_first` | functions that jump to the one that they are called instead of |
//! | `loading`, `images` | code that is loaded and unloaded, and all that is loaded |
//!
//! Nothing here allocates, and nothing uses a lock or a thread-local variable of std.
//!
//! The reasons for its choices are in `docs/src/decisions/preload.md`.
#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

mod asks_first;
mod attach;
mod begin;
mod by_pointer;
mod constructor;
mod environment;
mod exec;
mod exported;
mod images;
mod inner;
mod linked;
mod loading;
#[cfg(target_arch = "x86_64")]
mod operators;
#[cfg(not(target_arch = "x86_64"))]
#[path = "no_operators.rs"]
mod operators;
mod redirected;
mod slots;
#[cfg(panic = "abort")]
mod unwinder;

/// Keeps `errno`, which belongs to the program.
struct Errno(i32);

impl Errno {
    fn keep() -> Errno {
        Errno(errno())
    }
}

impl Drop for Errno {
    fn drop(&mut self) {
        set_errno(self.0);
    }
}

fn errno() -> i32 {
    // SAFETY: the address is this thread's errno.
    unsafe { *libc::__errno_location() }
}

fn set_errno(value: i32) {
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = value }
}

/// Returns the next definition of a function, in the libraries behind this one. Call it only for
/// functions that exist: the loader allocates to describe an error.
fn next(name: &std::ffi::CStr) -> *mut libc::c_void {
    // SAFETY: the name is a string. The loader finds this library by the address of this call.
    unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) }
}
