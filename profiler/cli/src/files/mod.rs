//! Files that the command touches: outputs, paths of recordings, and the lists of recordings.
//!
//! Never truncates a file, never replaces a file before its successor is complete, and never gives
//! two recordings the same path.

pub(crate) mod final_path;
pub(crate) mod header;
pub(crate) mod leftovers;
#[cfg(target_os = "linux")]
pub(crate) mod live;
pub(crate) mod output;
pub(crate) mod place;
pub(crate) mod recent;
pub(crate) mod run_folder;
pub(crate) mod search;
pub(crate) mod spool;

use std::io::{self, ErrorKind};
use std::time::{Duration, SystemTime};

/// Returns the first attempt that does not fail because something already exists.
pub(crate) fn first_free<T>(
    attempts: u32,
    make: impl FnMut(u32) -> io::Result<T>,
) -> io::Result<T> {
    let taken = |made: &io::Result<T>| {
        (made.as_ref()).is_err_and(|error| error.kind() == ErrorKind::AlreadyExists)
    };
    let mut made = (0..attempts).map(make).skip_while(taken);
    made.next().unwrap_or(Err(ErrorKind::AlreadyExists.into()))
}

/// Returns the time since the Unix epoch, or 0 for a time before it.
pub(crate) fn since_epoch(time: SystemTime) -> Duration {
    time.duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
}
