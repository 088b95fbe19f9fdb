//! The error for a question that has no answer.

use std::io;

/// Returns an error of kind `InvalidInput` with this reason.
pub(crate) fn invalid(why: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why.into())
}
