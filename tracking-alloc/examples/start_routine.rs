//! Calls a function that C also starts as a thread (`tests/built/unwinders.rs`).

use std::ffi::c_void;
use std::hint::black_box;
use std::ptr::{null, null_mut};

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

fn main() {
    // SAFETY: the routine takes null, and the thread is joined. It runs as a thread first: what the
    // recorder learns about it there does not hold for the calls below.
    unsafe {
        let mut thread: libc::pthread_t = std::mem::zeroed();
        assert_eq!(
            libc::pthread_create(&mut thread, null(), routine, null_mut()),
            0
        );
        assert_eq!(libc::pthread_join(thread, null_mut()), 0);
    }
    one_caller();
    other_caller();
}

#[inline(never)]
extern "C" fn routine(argument: *mut c_void) -> *mut c_void {
    black_box(Box::new(1u64));
    black_box(argument)
}

#[inline(never)]
fn one_caller() {
    black_box(routine(black_box(null_mut())));
}

#[inline(never)]
fn other_caller() {
    black_box(routine(black_box(null_mut())));
    black_box(1);
}
