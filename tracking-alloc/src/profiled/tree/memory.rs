//! Memory of the tree: from the system's allocator, never given back.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::NonNull;

/// Keeps a value for good. `None` when there is no memory.
pub(super) fn keep<T>(value: T) -> Option<&'static T> {
    let place = many::<T>(1)?;
    // SAFETY: memory for one `T`, just taken, reached by nobody else, never given back.
    unsafe {
        place.write(value);
        Some(place.as_ref())
    }
}

/// Keeps a copy of a text for good.
pub(super) fn keep_str(text: &str) -> Option<&'static str> {
    if text.is_empty() {
        return Some("");
    }
    let place = many::<u8>(text.len())?;
    // SAFETY: memory for that many bytes, just taken; a copy of UTF-8 is UTF-8.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), place.as_ptr(), text.len());
        Some(std::str::from_utf8_unchecked(std::slice::from_raw_parts(
            place.as_ptr(),
            text.len(),
        )))
    }
}

/// Zeroed memory for `count` values.
pub(super) fn many<T>(count: usize) -> Option<NonNull<T>> {
    let layout = Layout::array::<T>(count).ok()?;
    if layout.size() == 0 {
        return None;
    }
    // SAFETY: the layout is not empty.
    NonNull::new(unsafe { System.alloc_zeroed(layout) }.cast())
}
