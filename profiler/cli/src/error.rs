//! The error type of the command: one line for standard error, with an exit status.
//!
//! The line says what failed, on which file, and what to do next. There is no chain of causes.

use std::fmt;

use heapglass_profiler::units::printable;

/// The reason why a command failed.
#[derive(Debug)]
pub(crate) struct Error {
    message: String,
    /// The exit status.
    pub(crate) status: u8,
}

impl Error {
    /// Exit status of misuse and of unreadable input.
    const MISUSE: u8 = 2;
    /// Exit status if the command to run exists but cannot be executed, as in shells.
    pub(crate) const NOT_EXECUTABLE: u8 = 126;
    /// Exit status if the command to run does not exist, as in shells.
    pub(crate) const NOT_FOUND: u8 = 127;

    /// Returns an error of misuse, or of input or output that is not usable: exit status 2.
    pub(crate) fn misuse(message: impl fmt::Display) -> Self {
        Error::with_status(Error::MISUSE, message)
    }

    pub(crate) fn with_status(status: u8, message: impl fmt::Display) -> Self {
        // Messages quote paths and names from outside, so keep them on one line and free of control
        // characters.
        let message = message.to_string().replace('\n', " ");
        Error {
            message: printable(&message).into_owned(),
            status,
        }
    }

    /// Returns a function for `map_err` that puts the failed action before the cause, with exit
    /// status 2.
    pub(crate) fn wrap<E: fmt::Display>(what: impl fmt::Display) -> impl Fn(E) -> Self {
        move |cause| Error::misuse(format_args!("{what}: {cause}"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
