//! Sources of recordings: a file, or bytes in memory. Files are never mapped, so that a file that
//! shrinks while it is read is an error and not a signal.

use super::error::{Error, Kind};
use std::fs::File;
use std::io;
use std::path::Path;

/// Random access to the bytes of a recording.
pub trait ReadAt {
    /// Returns the length in bytes.
    ///
    /// # Errors
    /// Returns the errors of the operating system.
    fn byte_len(&self) -> io::Result<u64>;

    /// Reads into `buffer` from `offset`; returns the number of bytes read.
    ///
    /// # Errors
    /// Returns the errors of the operating system.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Fills `buffer` from `offset` with the available bytes; the rest stays unchanged. Returns the
    /// number of bytes read.
    ///
    /// # Errors
    /// Returns the errors of the operating system. Interrupted reads are retried.
    fn fill_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut done = 0;
        while done < buffer.len() {
            match self.read_at(&mut buffer[done..], offset.saturating_add(done as u64)) {
                Ok(0) => break,
                Ok(read) => done += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }
}

/// Opens a regular file for reading. Never waits for a pipe and never activates a device.
pub(super) fn open_regular(path: &Path) -> Result<File, Error> {
    let mut options = File::options();
    options.read(true);
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::fs::OpenOptionsExt;
        const O_NOCTTY: i32 = 0o400;
        const O_NONBLOCK: i32 = 0o4000;
        options.custom_flags(O_NONBLOCK | O_NOCTTY);
    }
    let file = options.open(path)?;
    // Ask the open file, because the path may refer to another file by now.
    let kind = file.metadata()?.file_type();
    if !kind.is_file() {
        let is_folder = kind.is_dir();
        return Err(Error(Kind::NoFile { is_folder }));
    }
    Ok(file)
}

impl<S: ReadAt + ?Sized> ReadAt for &S {
    fn byte_len(&self) -> io::Result<u64> {
        (**self).byte_len()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        (**self).read_at(buffer, offset)
    }
}

impl ReadAt for [u8] {
    fn byte_len(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let rest = usize::try_from(offset)
            .ok()
            .and_then(|start| self.get(start..))
            .unwrap_or_default();
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        Ok(length)
    }
}

impl ReadAt for File {
    fn byte_len(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    #[cfg(unix)]
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(self, buffer, offset)
    }

    #[cfg(windows)]
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        std::os::windows::fs::FileExt::seek_read(self, buffer, offset)
    }

    #[cfg(not(any(unix, windows)))]
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        use std::io::{Read, Seek, SeekFrom};
        let mut file = self;
        file.seek(SeekFrom::Start(offset))?;
        file.read(buffer)
    }
}
