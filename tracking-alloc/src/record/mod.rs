//! Writing a recording: the file (or memory), its segments, its tables. Knows nothing of stacks or counters.
//!
//! Everything here is cold and runs under the write lock; it never takes another heapglass lock.

mod backing;
mod occupant;
mod place;
mod pointer;
mod publish;
mod signature;
mod store;
mod table;

pub(crate) use backing::Backing;
pub(crate) use place::{Live, expand_pattern, open_live};
pub(crate) use store::{Store, growths_resumed, is_retry_due};
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
        self.bytes[end] = 0;
        self.len = end;
        true
    }

    pub(crate) fn push_number(&mut self, number: u64) -> bool {
        self.push(decimal(number, &mut [0; 20]))
    }

    /// Makes it empty.
    fn clear(&mut self) {
        self.bytes[0] = 0;
        self.len = 0;
    }

    /// Makes it a copy of `path`.
    fn set(&mut self, path: &PathBytes) {
        self.clear();
        self.push(path.as_bytes());
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

    /// Everything up to the extension, and the extension with its point, as `Path` tells them apart.
    fn split_extension(&self) -> (&[u8], &[u8]) {
        let name = self.file_name();
        let point = name.iter().rposition(|byte| *byte == b'.');
        let extension = match point {
            Some(point) if point > 0 => name.len() - point,
            _ => 0,
        };
        self.as_bytes().split_at(self.len - extension)
    }

    /// Removes the file of this name.
    fn remove(&self) {
        // SAFETY: the path is NUL-terminated.
        unsafe { libc::syscall(libc::SYS_unlinkat, libc::AT_FDCWD, self.as_c().as_ptr(), 0) };
    }

    /// What has this name, itself and not what a link leads to.
    fn status(&self) -> Option<libc::stat> {
        // SAFETY: all-zero bytes are a stat; the path is NUL-terminated.
        unsafe {
            let mut status: libc::stat = std::mem::zeroed();
            let flags = libc::AT_SYMLINK_NOFOLLOW;
            let found = libc::fstatat(libc::AT_FDCWD, self.as_c().as_ptr(), &mut status, flags);
            (found == 0).then_some(status)
        }
    }

    /// Whether anything has this name.
    fn exists(&self) -> bool {
        self.status().is_some()
    }
}

/// A number in decimal digits.
fn decimal(mut number: u64, digits: &mut [u8; 20]) -> &[u8] {
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return &digits[start..];
        }
    }
}

/// Why no file could be made: what was tried, and the errno (0 = none applies).
pub(crate) struct Refused {
    pub(crate) what: &'static str,
    pub(crate) errno: i32,
}

impl Refused {
    fn too_long() -> Self {
        Refused {
            what: "the path is too long",
            errno: libc::ENAMETOOLONG,
        }
    }
}
