//! A library that records itself unless the program that loads it is recorded. For the tests.

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

fn allocate(bytes: i32) -> *mut libc::c_void {
    drop(std::hint::black_box(vec![
        0_u8;
        bytes.unsigned_abs() as usize
    ]));
    // SAFETY: no preconditions. The caller frees the block.
    unsafe { libc::malloc(1) }
}

/// Allocates and frees in Rust, and returns a block of C.
#[unsafe(no_mangle)]
pub extern "C" fn allocate_one(bytes: i32) -> *mut libc::c_void {
    allocate(bytes)
}

/// Does the same.
#[unsafe(no_mangle)]
pub extern "C" fn allocate_two(bytes: i32) -> *mut libc::c_void {
    allocate(bytes)
}
