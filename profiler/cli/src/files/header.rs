//! The header of a recording, to list it, to name it and to know whether it is still written.
//!
//! Must never compute a figure: figures come from the profile, so that they agree everywhere.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use tracking_alloc_recording::{HEADER_BYTES, HeaderValue, MAGIC, Record, Writer};

/// Bytes of the header that say whose a recording is. They are written first.
pub(super) const SIGNED_BYTES: usize = 72;

/// Reads the header of the regular file at `path`; `None` when it is no recording.
pub(crate) fn read(path: &Path) -> Option<HeaderValue> {
    if !path.metadata().ok()?.is_file() {
        return None;
    }
    read_prefix(path, HeaderValue::SIZE).filter(|header| header.magic == MAGIC)
}

/// The header of a file that has at least `least_bytes` of it, whether or not it is a recording yet.
pub(super) fn read_prefix(path: &Path, least_bytes: usize) -> Option<HeaderValue> {
    let mut bytes = Vec::with_capacity(HEADER_BYTES as usize);
    let file = File::open(path).ok()?;
    file.take(HEADER_BYTES).read_to_end(&mut bytes).ok()?;
    (bytes.len() >= least_bytes).then(|| HeaderValue::parse(&bytes))
}

/// Whether the process may live and still write: whatever is not known to have ended.
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
