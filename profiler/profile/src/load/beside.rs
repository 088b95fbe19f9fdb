//! Files beside the recording of a running program: the snapshots that `heapglass run` has taken of
//! it so far, and the request for another one. At the end of the run, the snapshots become part of
//! the recording.
//!
//! Both lie in the folder of the recording itself, wherever the path that was given leads to it.

use super::error::{Error, Kind};
use crate::snapshot::Snapshot;
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The largest file of snapshots that is read.
const MOST_BYTES: u64 = 1 << 30;

/// A file beside the recording of a running program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// The snapshots so far, as the recording will hold them. Replaced as a whole.
    Snapshots,
    /// Exists while another process wants one more snapshot. The reader that is attached removes it
    /// when that is done.
    Request,
}

impl Beside {
    const ALL: [Beside; 2] = [Beside::Snapshots, Beside::Request];

    fn suffix(self) -> &'static str {
        match self {
            Beside::Snapshots => ".snapshots",
            Beside::Request => ".wanted",
        }
    }

    /// Returns the path of this file for a recording. Returns `None` if there is no such recording.
    pub fn path(self, recording: &Path) -> Option<PathBuf> {
        self.beside(&recording.canonicalize().ok()?)
    }

    /// Returns the paths of all files of a recording that may have been moved from `source`.
    pub fn all_of(source: &Path) -> impl Iterator<Item = PathBuf> {
        Beside::ALL.iter().filter_map(|one| one.beside(source))
    }

    fn beside(self, recording: &Path) -> Option<PathBuf> {
        let mut name = OsString::from(".");
        name.push(recording.file_name()?);
        name.push(self.suffix());
        Some(recording.with_file_name(name))
    }

    /// Returns `true` if a file name is that of such a file.
    pub fn is_name(name: &str) -> bool {
        name.starts_with('.') && Beside::ALL.iter().any(|one| name.ends_with(one.suffix()))
    }
}

/// Returns the snapshots that were taken so far of a running program; none if there is no file of
/// them.
///
/// # Errors
/// Returns an error if the file cannot be understood.
pub fn snapshots_so_far(recording: &Path) -> Result<Vec<Snapshot>, Error> {
    let Some(bytes) = read(recording) else {
        return Ok(Vec::new());
    };
    Snapshot::parse(&bytes).map_err(|what| Error::new(recording, Kind::Snapshots(what)))
}

/// Returns the bytes of the file of snapshots, if there is one.
pub(super) fn read(recording: &Path) -> Option<Vec<u8>> {
    let path = Beside::Snapshots.path(recording)?;
    // Checked before opening, because opening a pipe would wait for its writer.
    path.symlink_metadata().ok().filter(|file| file.is_file())?;
    let file = File::open(path).ok()?;
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
