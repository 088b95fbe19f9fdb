//! The only error of symbolization: a file that the user named (`--binary`) cannot be used. A
//! missing file is never an error, but a sentence in
//! [`SymbolSource::Missing`](crate::profile::SymbolSource).

use std::fmt;
use std::path::Path;

/// An error of [`resolve`](super::resolve). It is always about the file given as
/// [`SymbolOptions::binary`](super::SymbolOptions): misuse, exit status 2 in the command.
#[derive(Debug)]
pub(crate) struct Error(String);

impl Error {
    pub(super) fn unreadable(path: &Path, reason: &str) -> Error {
        let path = path.display();
        Error(format!(
            "cannot read symbols from {path}: {reason}; pass --binary with the binary that ran"
        ))
    }

    pub(super) fn mismatch(path: &Path, recorded: &str, found: &str) -> Error {
        let path = path.display();
        Error(format!(
            "{path} is not the binary that was recorded ({found}, the recording has {recorded}); \
             pass --binary with the binary that ran, or omit --binary"
        ))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}
