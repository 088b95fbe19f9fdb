//! The error of reading a recording: one line that says what is wrong and what to do next.

use std::fmt;
use std::io;

/// The reason why a recording could not be read. The message does not name the file, because the
/// caller knows it.
#[derive(Debug)]
pub struct Error(pub(super) Kind);

#[derive(Debug)]
pub(super) enum Kind {
    Io(io::Error),
    Empty,
    Foreign,
    /// A folder, or something else that is not a regular file.
    NoFile {
        is_folder: bool,
    },
    Truncated {
        needed: u64,
        found: u64,
    },
    Version {
        found: u32,
    },
    Damaged(String),
    NoMemory,
}

impl Error {
    /// Returns `true` if the file could not be read at all (missing, no permission).
    pub fn is_io(&self) -> bool {
        matches!(self.0, Kind::Io(_))
    }

    /// Returns `true` if the file is not a recording.
    pub fn is_foreign(&self) -> bool {
        matches!(self.0, Kind::Foreign | Kind::NoFile { .. } | Kind::Empty)
    }

    /// Returns `true` if the recording has another layout version than this reader.
    pub fn is_version(&self) -> bool {
        matches!(self.0, Kind::Version { .. })
    }

    /// Returns `true` if the recording is truncated or was altered.
    pub fn is_damaged(&self) -> bool {
        matches!(self.0, Kind::Truncated { .. } | Kind::Damaged(_))
    }

    pub(super) fn truncated(needed: u64, found: u64) -> Self {
        Error(Kind::Truncated { needed, found })
    }

    pub(crate) fn damaged(what: impl Into<String>) -> Self {
        Error(Kind::Damaged(what.into()))
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Error(Kind::Io(error))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Io(error) => write!(f, "cannot read the file: {error}"),
            Kind::Empty => f.write_str(
                "the file is empty: the program ended before its recording began; record again",
            ),
            Kind::Foreign => f.write_str(
                "not a heapglass recording; pass the .hg file that a recorded program wrote",
            ),
            Kind::NoFile { is_folder: true } => {
                f.write_str("this is a folder; pass a .hg file in it")
            }
            Kind::NoFile { is_folder: false } => {
                f.write_str("not a regular file; pass the .hg file that a recorded program wrote")
            }
            Kind::Truncated { needed, found } => write!(
                f,
                "truncated: the file has {found} bytes, and the recording needs {needed}; \
                 copy the complete file again"
            ),
            Kind::Version { found } => {
                // The number of a release does not tell: layouts change between two of them.
                let what_to_do = if *found > crate::VERSION {
                    "a later build wrote it; update heapglass, or record again with the tracking-alloc of \
                     this heapglass"
                } else {
                    "an earlier build wrote it; record again with the tracking-alloc of this heapglass, \
                     or read it with the heapglass of that build"
                };
                write!(
                    f,
                    "written in layout version {found}, and this heapglass reads version {}; \
                     {what_to_do}",
                    crate::VERSION,
                )
            }
            Kind::Damaged(what) => {
                write!(f, "damaged: {what}; copy the file again, or record again")
            }
            Kind::NoMemory => f.write_str(
                "not enough memory to read the recording; close other programs, or read it on a \
                 machine with more memory",
            ),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0 {
            Kind::Io(error) => Some(error),
            _ => None,
        }
    }
}
