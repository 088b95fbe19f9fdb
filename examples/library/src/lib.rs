//! A library that allocates through its own recorder.
//!
//! Nothing here may register a thread-local destructor: with one, the library would stay loaded as
//! long as its threads.

use std::ffi::{CStr, OsStr, c_char};
use std::hint::black_box;
use std::os::unix::ffi::OsStrExt;
use tracking_alloc::{Recorder, TrackingAlloc};

#[global_allocator]
static ALLOC: TrackingAlloc = TrackingAlloc::system();

/// Begins a recording. Returns `false` if it is refused.
///
/// # Safety
/// `path` must be NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn library_record(path: *const c_char) -> bool {
    // SAFETY: the caller guarantees this.
    let path = OsStr::from_bytes(unsafe { CStr::from_ptr(path) }.to_bytes());
    Recorder::start(path).map(std::mem::forget).is_ok()
}

/// Allocates blocks of 1 to `bytes` bytes in the phase `work`. The last block stays allocated.
#[unsafe(no_mangle)]
pub extern "C" fn library_work(bytes: usize) {
    // If the environment requests a recording, it begins at the first allocation, which is outside
    // the phase.
    drop(black_box(vec![1u8; 1]));
    let _work = tracking_alloc::phase("work");
    for bytes in 1..bytes {
        drop(black_box(vec![1u8; bytes]));
    }
    std::mem::forget(black_box(vec![1u8; bytes]));
}

/// Finishes the recording. Returns `false` if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn library_finish() -> bool {
    Recorder::current().is_some_and(|recorder| recorder.finish().is_ok())
}
