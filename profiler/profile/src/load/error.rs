//! The error of loading a profile: the file, what is wrong, and what to do.

use std::fmt;
use std::path::{Path, PathBuf};

/// An error of loading a profile: one line, which begins with the file.
#[derive(Debug)]
pub struct Error {
    path: PathBuf,
    kind: Kind,
}

#[derive(Debug)]
pub(super) enum Kind {
    Recording(tracking_alloc_recording::Error),
    Symbols(crate::symbols::Error),
    Packed(String),
    Snapshots(String),
    Merge(String),
}

impl Error {
    pub(super) fn new(path: &Path, kind: Kind) -> Self {
        let path = path.to_owned();
        Error { path, kind }
    }

    /// Creates the error of a recording that cannot be merged with others.
    pub fn unmergeable(path: &Path, why: String) -> Self {
        Error::new(path, Kind::Merge(why))
    }

    /// Returns `true` if the binary given is of another build than the one recorded, or cannot be
    /// read.
    pub fn is_binary(&self) -> bool {
        matches!(self.kind, Kind::Symbols(_))
    }

    /// Returns `true` if the file is not a recording at all.
    pub fn is_foreign(&self) -> bool {
        matches!(&self.kind, Kind::Recording(error) if error.is_foreign())
    }

    /// The recording at fault.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Recording(error) => write!(f, "{}: {error}", self.path.display()),
            Kind::Symbols(error) => error.fmt(f),
            Kind::Merge(why) => write!(f, "{}: {why}", self.path.display()),
            Kind::Packed(what) => write!(
                f,
                "{}: the packed symbols are damaged ({what}); pack the original recording again",
                self.path.display()
            ),
            Kind::Snapshots(what) => write!(
                f,
                "{}: the snapshots in it are damaged ({what}); record again",
                self.path.display()
            ),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.kind {
            Kind::Recording(error) => Some(error),
            Kind::Symbols(error) => Some(error),
            Kind::Packed(_) | Kind::Snapshots(_) | Kind::Merge(_) => None,
        }
    }
}
