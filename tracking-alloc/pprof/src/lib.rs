//! Live heap profiles of a program, made inside it, for its own router. Use it through
//! `tracking-alloc` with the feature `pprof`.
//!
//! [`pprof`] reads the recording of this very process and returns it in the format of pprof, with
//! the names of functions inside, which most servers of profiles do not look up. `heapglass serve`
//! does the same from outside, and needs no change of the program.
//!
//! # What a dump costs
//!
//! A dump is made on the calling thread alone, and takes from milliseconds to seconds, most of it
//! for names. Call it where blocking is allowed (`tokio::task::spawn_blocking`). There is one dump
//! at a time: whoever asks within a second of its start, also while it still runs, gets the same
//! bytes.
//!
//! The allocations of a dump are not counted, apart from the bytes that it returns. What it reads
//! of debug information is freed at its end. The names that it found are kept for the next dump if
//! they are few enough.
//!
//! # Licences
//!
//! With the feature `flamegraph`, the program contains inferno, whose licence is CDDL-1.0: it
//! applies to changes of inferno's own files. Without it there is no such code.
#![forbid(unsafe_code)]
#![warn(clippy::match_bool)]

#[cfg(recording)]
mod dump;

use std::fmt;

/// A profile in the format of pprof, compressed with gzip.
///
/// Its sample types are those of Go (`alloc_objects`, `alloc_space`, `inuse_objects`,
/// `inuse_space`), bytes at the peak (`peak_space`) and bytes of short-lived blocks
/// (`temporary_space`). It has function names, files and lines, the mappings with their build-ids,
/// and the phase as a label.
#[derive(Clone, PartialEq, Eq)]
pub struct Profile {
    /// The body of a response.
    pub bytes: Vec<u8>,
}

impl Profile {
    /// The Content-Type of a response. Grafana Alloy accepts no other one.
    pub const CONTENT_TYPE: &'static str = "application/octet-stream";
}

impl fmt::Debug for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Profile")
            .field("bytes", &self.bytes.len())
            .finish()
    }
}

/// The reason why there is no profile.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// Nothing records. A router answers with status 503.
    NotRecording,
    /// The recording of this process cannot be read.
    Unreadable(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NotRecording => f.write_str(
                "nothing records: run the program under `heapglass run`, set HEAPGLASS_OUT, or start a Recorder",
            ),
            Error::Unreadable(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Error {}

/// Returns the profile of this process so far.
///
/// Blocks while it is made; see the [front page](crate).
///
/// # Errors
/// If nothing records, if the recording is in memory, or if its file cannot be read any more.
pub fn pprof() -> Result<Profile, Error> {
    #[cfg(recording)]
    return dump::bytes(dump::Kind::Pprof).map(|bytes| Profile { bytes });
    #[cfg(not(recording))]
    Err(Error::NotRecording)
}

/// Returns a flamegraph of the bytes that are live now, as an SVG (`image/svg+xml`) with a script
/// for zoom and search.
///
/// Blocks while it is made; see the [front page](crate).
///
/// # Errors
/// The same as for [`pprof`].
#[cfg(feature = "flamegraph")]
pub fn flamegraph() -> Result<String, Error> {
    #[cfg(recording)]
    return dump::bytes(dump::Kind::Flamegraph).map(|bytes| {
        // A picture is text.
        String::from_utf8(bytes).unwrap_or_default()
    });
    #[cfg(not(recording))]
    Err(Error::NotRecording)
}
