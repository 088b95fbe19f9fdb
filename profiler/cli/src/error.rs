//! The one error of the command: a line for standard error and the exit status that goes with it.
//!
//! Must never carry a stack of causes for people to dig in: the line says what was being done, to which file, and
//! what to do next.

use std::fmt;

use heapglass_profiler::units::printable;

/// Why a command could not do its work.
#[derive(Debug)]
pub(crate) struct Error {
    message: String,
    /// The exit status that says it.
    pub(crate) status: u8,
}

impl Error {
    /// Exit status of misuse and of unreadable input.
    const MISUSE: u8 = 2;
    /// Exit status when the command to run exists and cannot be executed, as shells have it.
    pub(crate) const NOT_EXECUTABLE: u8 = 126;
    /// Exit status when there is no such command, as shells have it.
    pub(crate) const NOT_FOUND: u8 = 127;

    /// Misuse, or input or output that cannot be had: exit status 2.
    pub(crate) fn misuse(message: impl fmt::Display) -> Self {
        Error::with_status(Error::MISUSE, message)
    }

    pub(crate) fn with_status(status: u8, message: impl fmt::Display) -> Self {
        // Messages quote paths and names from outside: one line, no control characters.
        let message = message.to_string().replace('\n', " ");
        Error {
            message: printable(&message).into_owned(),
            status,
        }
    }

    /// For `map_err`: what was being done, then the cause, with exit status 2.
    pub(crate) fn wrap<E: fmt::Display>(what: impl fmt::Display) -> impl Fn(E) -> Self {
        move |cause| Error::misuse(format_args!("{what}: {cause}"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
