//! Linear memory: its size, and pages for ourselves.

use std::arch::wasm32::{memory_grow, memory_size};
use std::ptr::with_exposed_provenance_mut;

const PAGE: usize = 64 << 10;

/// Returns the number of all pages.
#[inline(always)]
pub(super) fn now() -> u64 {
    memory_size::<0>() as u64
}

/// Takes zeroed words that are never freed and that nobody else uses. Returns them with the number
/// of pages taken, or `None` if there are no more pages.
pub(super) fn take(words: usize) -> Option<(&'static mut [u64], u64)> {
    let pages = words.checked_mul(size_of::<u64>())?.div_ceil(PAGE);
    let first = memory_grow::<0>(pages);
    if first == usize::MAX {
        return None;
    }
    let place = with_exposed_provenance_mut::<u64>(first.checked_mul(PAGE)?);
    // SAFETY: these pages did not exist before, so nobody else knows them. They are zeroed, aligned
    // to 64 KiB and hold that many words, and linear memory never shrinks.
    Some((
        unsafe { std::slice::from_raw_parts_mut(place, words) },
        pages as u64,
    ))
}
