//! The recorder's interface for a program in C: `pool.c` reports its own blocks.

use heapglass_recorder::{allocated, freed, mark, scopes};
use std::ffi::{CStr, c_char};

#[unsafe(no_mangle)]
extern "C" fn heap_allocated(block: *mut u8, bytes: usize) {
    allocated(block, bytes);
}

#[unsafe(no_mangle)]
extern "C" fn heap_freed(block: *mut u8) {
    freed(block, None);
}

/// Enters a phase. Returns the scope to return to.
#[unsafe(no_mangle)]
unsafe extern "C" fn heap_enter(name: *const c_char) -> u32 {
    let before = scopes::current();
    // SAFETY: the caller passes a string.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
    scopes::set(scopes::enter(before, &name).unwrap_or(before));
    before
}

#[unsafe(no_mangle)]
extern "C" fn heap_leave(before: u32) {
    scopes::set(before);
    mark("left");
}
