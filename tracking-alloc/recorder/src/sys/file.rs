//! Files by raw system calls: no cancellation points, no locks, descriptors closed before anything
//! else happens.

use std::ffi::CStr;

/// An open descriptor, closed on drop. Never kept beyond one operation: a daemon that closes all
/// descriptors would otherwise hand our number to a file of its own.
pub(crate) struct File(libc::c_int);

/// The result of a system call, or its errno.
pub(crate) fn answer(value: libc::c_long) -> Result<libc::c_long, i32> {
    if value < 0 {
        Err(super::Errno::current())
    } else {
        Ok(value)
    }
}

/// Device and inode.
pub(crate) type FileId = (u64, u64);

pub(crate) fn file_id(status: &libc::stat) -> FileId {
    (status.st_dev, status.st_ino)
}

/// A call that is made again when a signal interrupted it.
fn patiently(call: impl Fn() -> libc::c_long) -> Result<libc::c_long, i32> {
    const TRIES: u32 = 10_000;
    let mut last = Err(libc::EINTR);
    for _ in 0..TRIES {
        last = answer(call());
        if last != Err(libc::EINTR) {
            break;
        }
    }
    last
}

impl File {
    /// Opens `path` with `flags` (close-on-exec added). The error is an errno.
    pub(crate) fn open(path: &CStr, flags: libc::c_int, mode: libc::c_uint) -> Result<File, i32> {
        // SAFETY: `path` is NUL-terminated.
        let open = || unsafe {
            libc::syscall(
                libc::SYS_openat,
                libc::AT_FDCWD,
                path.as_ptr(),
                flags | libc::O_CLOEXEC,
                mode,
            )
        };
        patiently(open).map(|number| File(number as libc::c_int))
    }

    /// Reads at `offset`; returns the bytes read.
    pub(crate) fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, i32> {
        // SAFETY: the buffer is valid for its length.
        let read = unsafe {
            libc::syscall(
                libc::SYS_pread64,
                self.0,
                buffer.as_mut_ptr(),
                buffer.len(),
                offset as libc::off_t,
            )
        };
        answer(read).map(|bytes| bytes as usize)
    }

    /// Writes all of `bytes` at `offset`.
    pub(crate) fn write_at(&self, bytes: &[u8], offset: u64) -> Result<(), i32> {
        let mut done = 0;
        while done < bytes.len() {
            // SAFETY: the rest of the slice is valid for its length.
            let written = answer(unsafe {
                libc::syscall(
                    libc::SYS_pwrite64,
                    self.0,
                    bytes.as_ptr().add(done),
                    bytes.len() - done,
                    (offset + done as u64) as libc::off_t,
                )
            })?;
            if written == 0 {
                return Err(libc::EIO);
            }
            done += written as usize;
        }
        Ok(())
    }

    /// Reserves the blocks of `offset .. offset + bytes`, making the file that long. The raw call:
    /// no emulation by writing.
    pub(crate) fn reserve(&self, offset: u64, bytes: u64) -> Result<(), i32> {
        // SAFETY: plain numbers.
        let reserve = || unsafe {
            libc::syscall(
                libc::SYS_fallocate,
                self.0,
                0,
                offset as libc::off_t,
                bytes as libc::off_t,
            )
        };
        patiently(reserve).map(drop)
    }

    /// Gives back what lies beyond `bytes`: a refused reservation may have made the file longer,
    /// and holds blocks. Never makes it longer, and tells nobody when it cannot.
    pub(crate) fn shorten(&self, bytes: u64) {
        if self
            .status()
            .is_ok_and(|status| status.st_size as u64 > bytes)
        {
            // SAFETY: plain numbers.
            let shorten =
                || unsafe { libc::syscall(libc::SYS_ftruncate, self.0, bytes as libc::off_t) };
            let _ = patiently(shorten);
        }
    }

    /// Size, device, inode, mode, owner, modification time.
    pub(crate) fn status(&self) -> Result<libc::stat, i32> {
        // SAFETY: all-zero bytes are a stat; the kernel fills it. fstat is not a cancellation point
        // and takes no lock.
        unsafe {
            let mut status: libc::stat = std::mem::zeroed();
            if libc::fstat(self.0, &mut status) != 0 {
                return Err(super::Errno::current());
            }
            Ok(status)
        }
    }

    /// The file system's type number.
    pub(crate) fn file_system(&self) -> i64 {
        // SAFETY: as for `status`.
        unsafe {
            let mut status: libc::statfs = std::mem::zeroed();
            match libc::fstatfs(self.0, &mut status) {
                0 => status.f_type as i64,
                _ => 0,
            }
        }
    }

    /// Maps `offset .. offset + bytes` shared, to read and write.
    pub(crate) fn map(&self, offset: u64, bytes: usize) -> Option<std::ptr::NonNull<u8>> {
        // SAFETY: a mapping at an address of the kernel's choice; its blocks were reserved before
        // (no SIGBUS).
        let place = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                self.0,
                offset as libc::off_t,
            )
        };
        std::ptr::NonNull::new(place.cast()).filter(|_| place != libc::MAP_FAILED)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _errno = super::Errno::keep();
        // SAFETY: the descriptor is ours and used no more.
        unsafe { libc::syscall(libc::SYS_close, self.0) };
    }
}

/// Reads a small file whole into `buffer`; returns what fitted.
pub(crate) fn read_whole<'a>(path: &CStr, buffer: &'a mut [u8]) -> Result<&'a [u8], i32> {
    let file = File::open(path, libc::O_RDONLY, 0)?;
    let mut length = 0;
    while length < buffer.len() {
        match file.read_at(&mut buffer[length..], length as u64)? {
            0 => break,
            read => length += read,
        }
    }
    Ok(&buffer[..length])
}
