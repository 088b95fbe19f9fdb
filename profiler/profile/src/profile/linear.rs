//! Linear memory of a WebAssembly module.

use serde::Serialize;

/// Bytes of a page of linear memory.
pub(crate) const PAGE_BYTES: u64 = 64 << 10;

/// Linear memory at the end of the recording, in pages of 64 KiB. The names are the keys in JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LinearMemory {
    /// All of it, without what the recording took for itself: static data, stack, heap.
    pub pages: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// Number of pages when the recording began.
    pub first_pages: u64,
    /// Number of times that it grew since, without the grows of the recording itself.
    pub grows: u64,
    /// Number of pages that the recording took for itself.
    pub own_pages: u64,
}

impl LinearMemory {
    /// Bytes of [`own_pages`](Self::own_pages).
    pub fn own_bytes(&self) -> u64 {
        self.own_pages.saturating_mul(PAGE_BYTES)
    }
}
