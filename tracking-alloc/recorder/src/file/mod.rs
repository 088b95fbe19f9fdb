//! Writing of a recording: the file (or memory), its segments and its tables. This part knows no
//! stacks and no counters.
//!
//! Everything here is cold and runs under the write lock. It never takes another heapglass lock.
//!
//! The reasons for its choices are in `docs/src/decisions/recording-file.md`.

mod backing;
mod create;
mod path;
mod place;
mod publish;
mod signature;
mod store;
mod table;

pub(crate) use backing::Backing;
pub(crate) use create::{NewFile, create_file, expand_pattern};
pub(crate) use path::{PathBytes, file_name, recording_path, set_recording_path};
pub(crate) use signature::own_header;
pub(crate) use store::{Store, growths_resumed, is_retry_due};
pub(crate) use table::Table;

/// The reason why nothing is recorded, printed as "what `value` (errno); advice".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    /// The failed operation.
    pub(crate) what: &'static str,
    /// The rejected value of an environment variable; empty if `what` names no variable.
    pub(crate) value: &'static [u8],
    /// The errno of the failed call, or 0 if there is none.
    pub(crate) errno: i32,
    /// Advice for the user; may be empty.
    pub(crate) advice: &'static str,
}

impl Refused {
    pub(crate) const fn new(what: &'static str, errno: i32) -> Self {
        Refused {
            what,
            value: b"",
            errno,
            advice: "",
        }
    }

    /// Creates the reason for an environment variable with an unusable value. `what` ends with the
    /// variable's name.
    pub(crate) const fn setting(
        what: &'static str,
        value: &'static [u8],
        advice: &'static str,
    ) -> Self {
        Refused {
            value,
            ..Refused::new(what, 0).advise(advice)
        }
    }

    /// Adds advice for the user.
    pub(crate) const fn advise(self, advice: &'static str) -> Self {
        Refused { advice, ..self }
    }

    const TOO_LONG: Refused =
        Refused::new("the path is too long", libc::ENAMETOOLONG).advise("use a shorter path");
}
