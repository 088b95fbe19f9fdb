//! Paths without heap memory, and the path of the recording.

use crate::sys::{Bump, FileId, file_id};
use std::fmt;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering::*};

/// The path of this process's recording, or null for a recording in memory. It is valid only while
/// this process has a session, because a forked child inherits it.
static RECORDING: AtomicPtr<PathBytes> = AtomicPtr::new(null_mut());

/// Returns the path of the recording, or `None` if it is in memory. Takes no lock, because a forked
/// child may call it too.
pub(crate) fn recording_path() -> Option<&'static PathBytes> {
    // SAFETY: null or a path, whose memory stays mapped.
    unsafe { RECORDING.load(Acquire).as_ref() }
}

/// Sets the path of the recording, or `None` if it is in memory. Returns `false` if there is no
/// memory for the path.
pub(crate) fn set_recording_path(path: Option<&PathBytes>) -> bool {
    let kept = match path {
        None => null_mut(),
        Some(path) => {
            let Some(kept) = Bump::new().take::<PathBytes>(1) else {
                return false;
            };
            // SAFETY: memory for one path, which nobody else has.
            unsafe { kept.write(*path) };
            kept.as_ptr()
        }
    };
    RECORDING.store(kept, Release);
    true
}

/// Returns the last component of a path.
pub(crate) fn file_name(path: &[u8]) -> &[u8] {
    let mut components = path.rsplit(|byte| *byte == b'/');
    components.next().unwrap_or_default()
}

/// A path for the kernel: NUL-terminated, of fixed size, without heap memory.
#[derive(Clone, Copy)]
pub(crate) struct PathBytes {
    pub(super) bytes: [u8; PathBytes::MAX],
    pub(super) len: usize,
}

impl PathBytes {
    pub(super) const MAX: usize = 4096;

    pub(crate) const fn empty() -> Self {
        PathBytes {
            bytes: [0; PathBytes::MAX],
            len: 0,
        }
    }

    /// Appends bytes. Returns `false` and changes nothing if they do not fit or contain a NUL.
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

    /// Clears the path.
    pub(super) fn clear(&mut self) {
        self.bytes[0] = 0;
        self.len = 0;
    }

    /// Copies another path into this one.
    pub(super) fn set(&mut self, path: &PathBytes) {
        self.clear();
        self.push(path.as_bytes());
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    pub(crate) fn as_c(&self) -> &std::ffi::CStr {
        std::ffi::CStr::from_bytes_until_nul(&self.bytes).unwrap_or_default()
    }

    /// Returns the last component.
    pub(crate) fn file_name(&self) -> &[u8] {
        file_name(self.as_bytes())
    }

    /// Returns everything up to and including the last slash.
    pub(crate) fn folder(&self) -> &[u8] {
        &self.as_bytes()[..self.len - self.file_name().len()]
    }

    /// Splits off the extension with its point, by the rules of `Path`.
    pub(super) fn split_extension(&self) -> (&[u8], &[u8]) {
        let name = self.file_name();
        let point = name.iter().rposition(|byte| *byte == b'.');
        let extension = match point {
            Some(point) if point > 0 => name.len() - point,
            _ => 0,
        };
        self.as_bytes().split_at(self.len - extension)
    }

    /// Removes the file with this path.
    pub(super) fn remove(&self) {
        // SAFETY: the path is NUL-terminated.
        unsafe { libc::syscall(libc::SYS_unlinkat, libc::AT_FDCWD, self.as_c().as_ptr(), 0) };
    }

    /// Returns device and inode of the entry at this path, without following a link.
    pub(super) fn id(&self) -> Option<FileId> {
        self.status().map(|status| file_id(&status))
    }

    /// Returns `true` if a folder, a device or a pipe has this path.
    pub(super) fn is_no_file(&self) -> bool {
        let kind = self.status().map(|status| status.st_mode & libc::S_IFMT);
        kind.is_some_and(|kind| kind != libc::S_IFREG && kind != libc::S_IFLNK)
    }

    fn status(&self) -> Option<libc::stat> {
        // SAFETY: all-zero bytes are a valid stat, and the path is NUL-terminated.
        unsafe {
            let mut status: libc::stat = std::mem::zeroed();
            let flags = libc::AT_SYMLINK_NOFOLLOW;
            let found = libc::fstatat(libc::AT_FDCWD, self.as_c().as_ptr(), &mut status, flags);
            (found == 0).then_some(status)
        }
    }
}

/// Appends text and numbers. Returns an error if they do not fit.
impl fmt::Write for PathBytes {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        self.push(more.as_bytes()).then_some(()).ok_or(fmt::Error)
    }
}
