//! What a recording is kept in: a file grown by reserved segments, or memory.

use super::PathBytes;
use crate::sys::{self, File};
use std::ptr::NonNull;
use tracking_alloc_recording::growth;

/// Grows by whole segments. There is no page of a mapping without blocks behind it: a full disk is an answer here,
/// never a signal in the target.
pub(crate) enum Backing {
    File(FileBacking),
    Memory { end: u64 },
}

/// A file known by path, device and inode; no descriptor is kept.
pub(crate) struct FileBacking {
    path: &'static PathBytes,
    device: u64,
    inode: u64,
    end: u64,
    max_bytes: u64,
    /// Everything was reserved at the start: no file call happens any more (sandboxes).
    sealed: bool,
}

/// Why a backing did not grow: a value of [`growth`] and an errno.
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
            libc::ENOENT | libc::ELOOP | libc::EACCES | libc::EPERM | libc::ENOTDIR => {
                growth::FILE_GONE
            }
            libc::ENOMEM => growth::NO_MEMORY,
            _ => growth::OTHER,
        };
        Refusal { reason, errno }
    }
}

impl Backing {
    /// A file just created, empty, at `path`.
    pub(crate) fn file(path: &'static PathBytes, status: &libc::stat, max_bytes: u64) -> Self {
        Backing::File(FileBacking {
            path,
            device: status.st_dev,
            inode: status.st_ino,
            end: 0,
            max_bytes,
            sealed: false,
        })
    }

    /// Appends `bytes` (a multiple of the segment size): the address of the mapping and its offset in the recording.
    pub(crate) fn grow(&mut self, bytes: u64) -> Result<(NonNull<u8>, u64), Refusal> {
        match self {
            Backing::File(file) => file.grow(bytes),
            Backing::Memory { end } => {
                let place = sys::map_private(bytes as usize)
                    .ok_or(Refusal::new(growth::NO_MEMORY, libc::ENOMEM))?;
                let offset = *end;
                *end += bytes;
                Ok((place, offset))
            }
        }
    }

    /// Bytes of the recording so far.
    pub(crate) fn end(&self) -> u64 {
        match self {
            Backing::File(file) => file.end,
            Backing::Memory { end } => *end,
        }
    }

    /// The file has another name now.
    pub(crate) fn renamed(&mut self, path: &'static PathBytes) {
        if let Backing::File(file) = self {
            file.path = path;
        }
    }

    /// Ends growth for good: what was reserved must do.
    pub(crate) fn seal(&mut self) {
        if let Backing::File(file) = self {
            file.sealed = true;
        }
    }
}

impl FileBacking {
    fn grow(&mut self, bytes: u64) -> Result<(NonNull<u8>, u64), Refusal> {
        let end = self.end + bytes;
        if self.sealed || end > self.max_bytes {
            return Err(Refusal::new(growth::CAP, 0));
        }
        let mut limit = libc::rlimit {
            rlim_cur: 0,
            rlim_max: 0,
        };
        // Past RLIMIT_FSIZE the kernel would answer with SIGXFSZ, which kills.
        // SAFETY: `limit` is valid to write into.
        if unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) } == 0 && end > limit.rlim_cur {
            return Err(Refusal::new(growth::FILE_SIZE_LIMIT, libc::EFBIG));
        }
        let file = File::open(self.path.as_c(), libc::O_RDWR | libc::O_NOFOLLOW, 0)
            .map_err(Refusal::from_errno)?;
        let status = file.status().map_err(Refusal::from_errno)?;
        if (status.st_dev, status.st_ino) != (self.device, self.inode) {
            return Err(Refusal::new(growth::FILE_GONE, 0));
        }
        if (status.st_size as u64) < self.end {
            return Err(Refusal::new(growth::FILE_GONE, 0));
        }
        let mapped = file.reserve(self.end, bytes).and_then(|()| {
            file.map(self.end, bytes as usize)
                .ok_or_else(sys::Errno::current)
        });
        let place = mapped.map_err(|errno| {
            file.shorten(self.end);
            Refusal::from_errno(errno)
        })?;
        let offset = self.end;
        self.end = end;
        Ok((place, offset))
    }
}
