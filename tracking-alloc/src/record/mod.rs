//! Writing a recording: the file (or memory), its segments, its tables. Knows nothing of stacks or counters.
//!
//! Everything here is cold and runs under the write lock; it never takes another heapglass lock.

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

/// Why nothing can be recorded: what was tried, and the errno (0 = none applies).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) what: &'static str,
    pub(crate) errno: i32,
}

impl Refused {
    pub(crate) const fn new(what: &'static str, errno: i32) -> Self {
        Refused { what, errno }
    }

    const TOO_LONG: Refused = Refused::new("the path is too long", libc::ENAMETOOLONG);
}
