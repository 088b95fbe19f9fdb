//! The settings of a recording of a running program, and the answer of the program.

use std::path::Path;
use std::time::Duration;

/// The settings of a recording.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    /// The library that records.
    pub library: &'a Path,
    /// The path of the recording, for the program. If there is a file, the recording gets a suffix.
    pub recording: &'a [u8],
    /// `true`: take samples. `false`: record every event.
    pub samples: bool,
    /// The mean number of bytes from one sample to the next; 0 = the default.
    pub sample_bytes: u64,
    /// The maximum size of the recording; 0 = the default.
    pub max_bytes: u64,
    /// Attach even if the program has a filter of system calls that may kill it.
    pub is_forced: bool,
}

/// The answer of the library in the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// 0 if it was done.
    pub code: i32,
    /// The path of the recording if it was done, otherwise the reason.
    pub text: String,
    /// The thread that made the calls.
    pub thread: u32,
    /// The time for which that thread was stopped.
    pub pause: Duration,
}
