//! A glance at a recording: its header only, to list it, to name it and to know whether it is still written.
//!
//! Must never compute a figure: figures come from the profile, so that they agree everywhere.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use tracking_alloc_recording::{
    HEADER_BYTES, HeaderValue, MAGIC, Record, Recording, Writer, state,
};

/// What the header says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peek {
    pub(crate) header: HeaderValue,
}

/// Reads the header of the regular file at `path`; `None` when it is no recording.
pub(crate) fn peek(path: &Path) -> Option<Peek> {
    if !path.metadata().ok()?.is_file() {
        return None;
    }
    let header = header(path, HeaderValue::SIZE)?;
    (header.magic == MAGIC).then_some(Peek { header })
}

/// The header of a file that has at least so many bytes of it, whether or not it is a recording yet.
pub(super) fn header(path: &Path, least: usize) -> Option<HeaderValue> {
    let mut bytes = Vec::with_capacity(HEADER_BYTES as usize);
    let file = File::open(path).ok()?;
    file.take(HEADER_BYTES).read_to_end(&mut bytes).ok()?;
    (bytes.len() >= least).then(|| HeaderValue::parse(&bytes))
}

impl Peek {
    /// Whether the file only says where the recording is.
    pub(crate) fn is_pointer(self) -> bool {
        self.header.state == state::ELSEWHERE
    }

    /// What is known of the process that writes it.
    pub(crate) fn writer(self) -> Writer {
        Writer::of(&self.header)
    }

    /// Whether its process may live and still write: whatever is not known to have ended.
    pub(crate) fn may_be_written(self) -> bool {
        !self.writer().is_gone(&self.header)
    }

    /// Whether it is of the same process as another.
    pub(crate) fn is_of_one_writer(self, other: Peek) -> bool {
        let identity = |header: HeaderValue| {
            (
                header.pid,
                header.start_ticks,
                header.boot_id,
                header.pid_namespace,
            )
        };
        identity(self.header) == identity(other.header)
    }
}

/// Where the recording lies that the file at `path` points to.
pub(crate) fn pointed_at(path: &Path) -> Option<PathBuf> {
    match Recording::open(path) {
        Err(error) => error.live_path().map(PathBuf::from),
        Ok(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_something_else_is_no_recording() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.hg");
        std::fs::write(&path, "hello").unwrap();
        assert!(peek(&path).is_none());
        assert!(peek(folder.path()).is_none());
    }
}
