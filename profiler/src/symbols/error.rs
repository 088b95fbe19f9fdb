//! The one error of symbolization: what the user asked for by name (`--binary`) and cannot be had. Files that are
//! merely missing are never errors: they are sentences in [`SymbolSource::Missing`](crate::profile::SymbolSource).

use std::fmt;
use std::path::Path;

/// Why [`resolve`](super::resolve) refused. Always about the file given as [`Options::binary`](super::Options):
/// misuse, exit status 2 in the command.
#[derive(Debug)]
pub struct Error {
    is_mismatch: bool,
    text: String,
}

impl Error {
    pub(super) fn unreadable(path: &Path, reason: &str) -> Error {
        let path = path.display();
        Error {
            is_mismatch: false,
            text: format!(
                "cannot read symbols from {path}: {reason}; pass --binary with the binary that ran"
            ),
        }
    }

    pub(super) fn mismatch(path: &Path, recorded: &str, found: &str) -> Error {
        let path = path.display();
        Error {
            is_mismatch: true,
            text: format!(
                "{path} is not the binary that was recorded ({found}, the recording has {recorded}); \
                 pass --binary with the binary that ran, or leave it out"
            ),
        }
    }

    /// The binary could be read, but it is not the one that was recorded.
    pub fn is_mismatch(&self) -> bool {
        self.is_mismatch
    }

    /// The binary could not be read, or is not an executable file.
    pub fn is_unreadable(&self) -> bool {
        !self.is_mismatch
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Error {}
