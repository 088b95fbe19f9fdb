//! The one error of symbolization: what the user asked for by name (`--binary`) and cannot be had. Files that are
//! merely missing are never errors: they are sentences in [`SymbolSource::Missing`](crate::profile::SymbolSource).

use std::fmt;
use std::path::{Path, PathBuf};

/// Why [`resolve`](super::resolve) refused. Always about the file given as [`Options::binary`](super::Options):
/// misuse, exit status 2 in the command.
#[derive(Debug)]
pub struct Error {
    path: PathBuf,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Unreadable(String),
    Mismatch { recorded: String, found: String },
}

impl Error {
    pub(super) fn unreadable(path: &Path, reason: String) -> Error {
        Error {
            path: path.to_path_buf(),
            kind: Kind::Unreadable(reason),
        }
    }

    pub(super) fn mismatch(path: &Path, recorded: String, found: String) -> Error {
        Error {
            path: path.to_path_buf(),
            kind: Kind::Mismatch { recorded, found },
        }
    }

    /// The binary could be read, but it is not the one that was recorded.
    pub fn is_mismatch(&self) -> bool {
        matches!(self.kind, Kind::Mismatch { .. })
    }

    /// The binary could not be read, or is not an executable file.
    pub fn is_unreadable(&self) -> bool {
        matches!(self.kind, Kind::Unreadable(_))
    }

    /// The file it is about.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.kind {
            Kind::Unreadable(reason) => {
                write!(
                    f,
                    "cannot read symbols from {path}: {reason}; pass --binary with the binary that ran"
                )
            }
            Kind::Mismatch { recorded, found } => write!(
                f,
                "{path} is not the binary that was recorded ({found}, the recording has {recorded}); \
                 pass --binary with the binary that ran, or leave it out"
            ),
        }
    }
}

impl std::error::Error for Error {}
