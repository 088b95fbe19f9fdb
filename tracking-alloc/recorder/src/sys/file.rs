//! Files by raw system calls. They are not cancellation points and take no locks, and descriptors
//! are closed at once.

use std::ffi::CStr;

/// An open descriptor, closed on drop. It is never kept beyond one operation. If a daemon closed
/// all descriptors, it could otherwise give our number to a file of its own.
pub(crate) struct File(libc::c_int);

/// Converts the result of a system call. The error is an errno.
pub(crate) fn answer(value: libc::c_long) -> Result<libc::c_long, i32> {
    if value < 0 {
        Err(super::Errno::current())
    } else {
        Ok(value)
    }
}

/// The device and inode of a file.
pub(crate) type FileId = (u64, u64);

pub(crate) fn file_id(status: &libc::stat) -> FileId {
    (status.st_dev, status.st_ino)
}

/// Repeats a call that a signal interrupted.
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
    /// Opens `path` with `flags` and close-on-exec. The error is an errno.
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

    /// Reads at `offset`. Returns the number of bytes read.
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

    /// Reserves the blocks of `offset .. offset + bytes` and makes the file that long. This is the
    /// raw system call, which does not fall back to writing.
    pub(crate) fn reserve(&self, offset: u64, bytes: u64) -> Result<(), i32> {
        // SAFETY: the arguments are plain numbers.
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

    /// Frees the file's blocks beyond `bytes`. A failed reservation may have made the file longer,
    /// and the file then holds blocks. This never makes the file longer, and it ignores errors.
    pub(crate) fn shorten(&self, bytes: u64) {
        if self
            .status()
            .is_ok_and(|status| status.st_size as u64 > bytes)
        {
            // SAFETY: the arguments are plain numbers.
            let shorten =
                || unsafe { libc::syscall(libc::SYS_ftruncate, self.0, bytes as libc::off_t) };
            let _ = patiently(shorten);
        }
    }

    /// Returns size, device, inode, mode, owner and modification time.
    pub(crate) fn status(&self) -> Result<libc::stat, i32> {
        // SAFETY: all-zero bytes are a valid stat, and the kernel fills it. fstat is not a
        // cancellation point and takes no lock.
        unsafe {
            let mut status: libc::stat = std::mem::zeroed();
            if libc::fstat(self.0, &mut status) != 0 {
                return Err(super::Errno::current());
            }
            Ok(status)
        }
    }

    /// Returns the type number of the file system.
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

    /// Maps `offset .. offset + bytes` shared, for reading and writing.
    pub(crate) fn map(&self, offset: u64, bytes: usize) -> Option<std::ptr::NonNull<u8>> {
        // SAFETY: the kernel chooses the address of the mapping. The blocks were reserved before,
        // so there is no SIGBUS.
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
        // SAFETY: the descriptor is ours and is not used again.
        unsafe { libc::syscall(libc::SYS_close, self.0) };
    }
}

/// Reads a small file into `buffer`. Returns the part that fits.
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
