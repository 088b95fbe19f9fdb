//! Memory that is never freed, so that references to it stay valid for the rest of the process.
//!
//! It comes from the system's allocator, never from the hooked one.

#[cfg(recording)]
pub use crate::sys::map_private as map;

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicPtr, Ordering::*};

/// A leaked value that any thread may set and read, or none. All-zero bytes mean none.
#[derive(Debug)]
pub struct Link<T: 'static>(AtomicPtr<T>);

impl<T: Sync> Link<T> {
    /// Creates an empty link.
    pub const fn new() -> Self {
        Link(AtomicPtr::new(null_mut()))
    }

    /// Returns the value, if there is one.
    #[inline(always)]
    pub fn get(&self) -> Option<&'static T> {
        // SAFETY: null or a value that is never given back.
        unsafe { self.0.load(Acquire).as_ref() }
    }

    /// Sets or removes the value.
    #[inline(always)]
    pub fn set(&self, value: impl Into<Option<&'static T>>) {
        self.0.store(pointer(value.into()), Release);
    }

    /// Sets the value if there is none; else returns the present value.
    pub fn set_first(&self, value: &'static T) -> Option<&'static T> {
        match self
            .0
            .compare_exchange(null_mut(), pointer(Some(value)), AcqRel, Acquire)
        {
            Ok(_) => None,
            Err(_) => self.get(),
        }
    }
}

impl<T: Sync> Default for Link<T> {
    fn default() -> Self {
        Link::new()
    }
}

fn pointer<T>(value: Option<&'static T>) -> *mut T {
    value.map_or(null_mut(), |value| std::ptr::from_ref(value).cast_mut())
}

/// Returns zeroed memory for `count` values; `None` if memory ran out.
pub fn zeroed<T>(count: usize) -> Option<NonNull<T>> {
    let layout = Layout::array::<T>(count).ok()?;
    if layout.size() == 0 {
        return None;
    }
    // SAFETY: the layout is not empty.
    NonNull::new(unsafe { System.alloc_zeroed(layout) }.cast())
}

/// Leaks a value. Returns `None` if memory ran out.
pub fn leak<T>(value: T) -> Option<&'static T> {
    let place = zeroed::<T>(1)?;
    // SAFETY: memory for one `T`, just taken, reached by nobody else, never given back.
    unsafe {
        place.write(value);
        Some(place.as_ref())
    }
}

/// Leaks a copy of a text.
pub fn leak_str(text: &str) -> Option<&'static str> {
    if text.is_empty() {
        return Some("");
    }
    let place = zeroed::<u8>(text.len())?;
    // SAFETY: memory for that many bytes, just taken; a copy of UTF-8 is UTF-8.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), place.as_ptr(), text.len());
        Some(std::str::from_utf8_unchecked(std::slice::from_raw_parts(
            place.as_ptr(),
            text.len(),
        )))
    }
}
