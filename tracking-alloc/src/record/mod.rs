//! Writing a recording: the file (or memory), its segments, its tables. Knows nothing of stacks or counters.
//!
//! Everything here is cold and runs under the write lock; it never takes another heapglass lock.

mod backing;
mod place;
mod pointer;
mod store;
mod table;

pub(crate) use backing::Backing;
pub(crate) use place::{Live, Refused, expand_pattern, open_live};
pub(crate) use store::Store;
pub(crate) use table::Table;

/// A path as the kernel takes it: NUL-terminated, of fixed size, in no heap.
#[derive(Clone, Copy)]
pub(crate) struct PathBytes {
    bytes: [u8; PathBytes::MAX],
    len: usize,
}

impl PathBytes {
    const MAX: usize = 4096;

    pub(crate) const fn empty() -> Self {
        PathBytes {
            bytes: [0; PathBytes::MAX],
            len: 0,
        }
    }

    /// Appends bytes; false (and unchanged) when they do not fit or hold a NUL.
    pub(crate) fn push(&mut self, more: &[u8]) -> bool {
        let end = self.len + more.len();
        if end >= PathBytes::MAX || more.contains(&0) {
            return false;
        }
        self.bytes[self.len..end].copy_from_slice(more);
        self.len = end;
        true
    }

    pub(crate) fn push_number(&mut self, mut number: u64) -> bool {
        let mut digits = [0u8; 20];
        let mut start = digits.len();
        loop {
            start -= 1;
            digits[start] = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                return self.push(&digits[start..]);
            }
        }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    pub(crate) fn as_c(&self) -> &std::ffi::CStr {
        std::ffi::CStr::from_bytes_until_nul(&self.bytes).unwrap_or_default()
    }

    /// The last component.
    pub(crate) fn file_name(&self) -> &[u8] {
        self.as_bytes()
            .rsplit(|byte| *byte == b'/')
            .next()
            .unwrap_or_default()
    }

    /// Everything up to and with the last slash.
    pub(crate) fn folder(&self) -> &[u8] {
        let end = self
            .as_bytes()
            .iter()
            .rposition(|byte| *byte == b'/')
            .map_or(0, |slash| slash + 1);
        &self.as_bytes()[..end]
    }
}
