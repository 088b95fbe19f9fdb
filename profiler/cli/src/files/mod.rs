//! Files the command touches: what it writes, where recordings go, which recordings there are.
//!
//! Must never truncate a file, replace one before its successor is whole, or give two recordings one path.

pub(crate) mod header;
pub(crate) mod output;
pub(crate) mod place;
pub(crate) mod recent;
pub(crate) mod search;
pub(crate) mod spool;

use std::io::{self, ErrorKind};
use std::time::{Duration, SystemTime};

/// The first of some attempts that does not meet what is there already.
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

/// How long after the Unix epoch; 0 before it.
pub(crate) fn since_epoch(time: SystemTime) -> Duration {
    time.duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
}
