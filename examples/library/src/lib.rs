//! A library that allocates through a recorder of its own.
//!
//! Nothing here registers a thread-local destructor: with one, the library would stay loaded as long as its threads.

use std::ffi::{CStr, OsStr, c_char};
use std::hint::black_box;
use std::os::unix::ffi::OsStrExt;
use tracking_alloc::{Recorder, TrackingAlloc};

#[global_allocator]
static ALLOC: TrackingAlloc = TrackingAlloc::system();

/// Begins a recording. False when it is refused.
///
/// # Safety
/// `path` must be NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn library_record(path: *const c_char) -> bool {
    // SAFETY: the caller's promise.
    let path = OsStr::from_bytes(unsafe { CStr::from_ptr(path) }.to_bytes());
    Recorder::start(path).map(std::mem::forget).is_ok()
}

/// Allocates blocks of 1 to `bytes` bytes in the phase `work`; the last one is left behind.
#[unsafe(no_mangle)]
pub extern "C" fn library_work(bytes: usize) {
    // Where the environment asks for it, the recording begins at the first allocation: not in a phase.
    drop(black_box(vec![1u8; 1]));
    let _work = tracking_alloc::phase("work");
    for bytes in 1..bytes {
        drop(black_box(vec![1u8; bytes]));
    }
    std::mem::forget(black_box(vec![1u8; bytes]));
}

/// Finishes the recording. False when there is none.
#[unsafe(no_mangle)]
pub extern "C" fn library_finish() -> bool {
    Recorder::current().is_some_and(|recorder| recorder.finish().is_ok())
}
