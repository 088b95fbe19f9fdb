//! The storage of a recording: a file that grows by reserved segments, or memory.

use super::recording_path;
use crate::sys::{self, File, FileId};
use std::ptr::NonNull;
use tracking_alloc_recording::growth;

/// Storage that grows by whole segments. Every page of a mapping has disk blocks, so a full disk is
/// an error here and never a signal in the target.
pub(crate) enum Backing {
    /// The file with this identity at [`recording_path`], up to a maximum size. No descriptor is
    /// kept.
    File {
        id: FileId,
        max_bytes: u64,
    },
    Memory,
}

/// The reason why storage did not grow: a value of [`growth`] and an errno.
pub(crate) struct Refusal {
    pub(crate) reason: u32,
    pub(crate) errno: i32,
}

impl Refusal {
    pub(crate) fn new(reason: u32, errno: i32) -> Self {
        Refusal { reason, errno }
    }

    pub(crate) fn from_errno(errno: i32) -> Self {
        let reason = match errno {
            libc::ENOSPC | libc::EDQUOT => growth::DISK_FULL,
            libc::EFBIG => growth::FILE_SIZE_LIMIT,
            libc::EACCES | libc::EPERM => growth::NO_ACCESS,
            libc::ENOENT | libc::ELOOP | libc::ENOTDIR => growth::FILE_GONE,
            libc::ENOMEM => growth::NO_MEMORY,
            _ => growth::OTHER,
        };
        Refusal { reason, errno }
    }
}

impl Backing {
    /// Appends `bytes` (a multiple of the segment size) to a recording that is `end` bytes long.
    /// Returns the address of the mapping.
    pub(crate) fn grow(&self, end: u64, bytes: u64) -> Result<NonNull<u8>, Refusal> {
        match *self {
            Backing::File { id, max_bytes } if end + bytes <= max_bytes => {
                grow_file(id, end, bytes)
            }
            Backing::File { .. } => Err(Refusal::new(growth::CAP, 0)),
            Backing::Memory => sys::map_private(bytes as usize)
                .ok_or(Refusal::new(growth::NO_MEMORY, libc::ENOMEM)),
        }
    }
}

fn grow_file(id: FileId, end: u64, bytes: u64) -> Result<NonNull<u8>, Refusal> {
    // Beyond RLIMIT_FSIZE the kernel would send SIGXFSZ, which kills the program.
    if sys::limit(libc::RLIMIT_FSIZE).is_some_and(|limit| end + bytes > limit) {
        return Err(Refusal::new(growth::FILE_SIZE_LIMIT, libc::EFBIG));
    }
    let gone = Refusal::new(growth::FILE_GONE, 0);
    let Some(path) = recording_path() else {
        return Err(gone);
    };
    let file =
        File::open(path.as_c(), libc::O_RDWR | libc::O_NOFOLLOW, 0).map_err(Refusal::from_errno)?;
    let status = file.status().map_err(Refusal::from_errno)?;
    if sys::file_id(&status) != id || (status.st_size as u64) < end {
        return Err(gone);
    }
    let mapped = file.reserve(end, bytes).and_then(|()| {
        let mapped = file.map(end, bytes as usize);
        mapped.ok_or_else(sys::Errno::current)
    });
    mapped.map_err(|errno| {
        file.shorten(end);
        Refusal::from_errno(errno)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_may_no_longer_be_opened_is_told_from_one_that_is_gone() {
        let reason = |errno| Refusal::from_errno(errno).reason;
        assert_eq!(reason(libc::EACCES), growth::NO_ACCESS);
        assert_eq!(reason(libc::EPERM), growth::NO_ACCESS);
        assert_eq!(reason(libc::ENOENT), growth::FILE_GONE);
    }
}
