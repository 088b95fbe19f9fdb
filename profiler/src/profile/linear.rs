//! Linear memory of a WebAssembly module.

/// Bytes of a page of linear memory.
const PAGE_BYTES: u64 = 64 << 10;

/// Linear memory at the end of the recording, in pages of 64 KiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinearMemory {
    /// All of it, without what the recording took for itself: static data, stack, heap.
    pub pages: u64,
    /// What of that there was when the recording began.
    pub first_pages: u64,
    /// How often it grew since, the recording's own grows not counted.
    pub grows: u64,
    /// What the recording took for itself.
    pub own_pages: u64,
}

impl LinearMemory {
    /// Bytes of [`pages`](Self::pages).
    pub fn bytes(&self) -> u64 {
        self.pages.saturating_mul(PAGE_BYTES)
    }

    /// Bytes of [`own_pages`](Self::own_pages).
    pub fn own_bytes(&self) -> u64 {
        self.own_pages.saturating_mul(PAGE_BYTES)
    }
}
