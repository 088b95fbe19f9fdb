//! Linear memory of a WebAssembly module.

use serde::Serialize;

/// Bytes of a page of linear memory.
pub(crate) const PAGE_BYTES: u64 = 64 << 10;

/// Linear memory at the end of the recording, in pages of 64 KiB. The names are the keys in JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LinearMemory {
    /// All of it, without what the recording took for itself: static data, stack, heap.
    pub pages: u64,
    /// The same in bytes.
    pub bytes: u64,
    /// What of that there was when the recording began.
    pub first_pages: u64,
    /// How often it grew since, the recording's own grows not counted.
    pub grows: u64,
    /// What the recording took for itself.
    pub own_pages: u64,
}

impl LinearMemory {
    /// Bytes of [`own_pages`](Self::own_pages).
    pub fn own_bytes(&self) -> u64 {
        self.own_pages.saturating_mul(PAGE_BYTES)
    }
}
