//! The destination and the settings of a recording that a program starts.

use std::path::Path;

/// The destination of [`start`](crate::start()). The environment sets everything else
/// (`HEAPGLASS_MODE` and others).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Options<'a> {
    /// A new file at this path. If something is at that path, it stays, and the new path gets a
    /// suffix (`NAME-PID.hg`); [`Recording::path`](crate::Recording::path) returns the actual path.
    File(&'a Path),
    /// Memory; [`Recording::finish_to_bytes`](crate::Recording::finish_to_bytes) returns the
    /// recording.
    Memory,
}

/// Facts about a program to which somebody attaches.
#[cfg(recording)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attached {
    /// The bytes that the program's allocator has in use, if it tells.
    pub in_use_bytes: Option<u64>,
    /// The maximum size of the recording in bytes; 0 = the default.
    pub max_bytes: u64,
    /// The name of the program's allocator, or an empty text.
    pub inner_name: &'static str,
    /// `true` if the allocator is libc's.
    pub is_system: bool,
}

/// Settings that the program gives a recording. `None` leaves a setting to the environment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// `true`: take samples. `false`: record every event.
    pub samples: Option<bool>,
    /// The mean number of bytes from one sample to the next.
    pub sample_bytes: Option<u64>,
    /// `true`: while samples are taken, count blocks and frees exactly.
    pub sample_counts: Option<bool>,
    /// `true`: begin with a pause.
    pub paused: Option<bool>,
}
