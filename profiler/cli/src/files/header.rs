//! The header of a recording. It is enough to list the recording, to name it, and to tell whether a
//! program still writes to it.
//!
//! Computes no figures. Figures come from the profile, so that they are the same everywhere.

use std::fs::File;
use std::io;
use std::path::Path;

use tracking_alloc_recording::{HEADER_BYTES, HeaderValue, MAGIC, ReadAt, Record, Writer};

/// Number of header bytes that identify the writer. The recorder writes them first.
pub(super) const SIGNED_BYTES: usize = 72;

/// Reads the header of the regular file at `path`. Returns `None` if it is not a recording.
pub(crate) fn read(path: &Path) -> Option<HeaderValue> {
    if !path.metadata().ok()?.is_file() {
        return None;
    }
    read_prefix(path, HeaderValue::SIZE).filter(|header| header.magic == MAGIC)
}

/// Reads the header of a file that has at least `least_bytes` of it, even if the file is not a
/// recording yet.
pub(super) fn read_prefix(path: &Path, least_bytes: usize) -> Option<HeaderValue> {
    prefix(&File::open(path).ok()?, least_bytes).ok()?
}

/// Reads the header of an open file, like [`read_prefix`].
///
/// # Errors
/// Returns the errors of the operating system.
pub(crate) fn prefix(file: &File, least_bytes: usize) -> io::Result<Option<HeaderValue>> {
    let mut bytes = vec![0; HEADER_BYTES as usize];
    let read = file.fill_at(&mut bytes, 0)?;
    bytes.truncate(read);
    Ok((read >= least_bytes).then(|| HeaderValue::parse(&bytes)))
}

/// Returns `true` unless the process that writes the recording is known to have ended.
pub(super) fn may_be_written(header: &HeaderValue) -> bool {
    !Writer::of(header).is_gone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_something_else_is_no_recording() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.hg");
        std::fs::write(&path, "hello").unwrap();
        assert!(read(&path).is_none());
        assert!(read(folder.path()).is_none());
    }
}
