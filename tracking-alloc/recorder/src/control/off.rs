//! Control of a recording from code, on platforms on which nothing is recorded into a file: nothing
//! starts, so nothing is marked, paused or finished.

use crate::{Error, NoSnapshot, Options, Settings};
use std::convert::Infallible;
use std::path::PathBuf;

/// Starts no recording.
///
/// # Errors
/// Always: this platform is not supported.
pub fn start(options: Options<'_>) -> Result<Recording, Error> {
    start_with(options, Settings::default())
}

/// Starts no recording.
///
/// # Errors
/// Always: this platform is not supported.
pub fn start_with(_options: Options<'_>, _settings: Settings) -> Result<Recording, Error> {
    Err(Error::unsupported())
}

/// A handle to a recording of this process. There is none on this platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recording(Infallible);

impl Recording {
    /// Returns `None`.
    pub fn current() -> Option<Recording> {
        None
    }

    /// Returns the path of the recording.
    pub fn path(self) -> Option<PathBuf> {
        match self.0 {}
    }

    /// Sets a mark.
    pub fn mark(self, _name: &str) {
        match self.0 {}
    }

    /// Stops counting new blocks.
    pub fn pause(self) {
        match self.0 {}
    }

    /// Counts new blocks again.
    pub fn resume(self) {
        match self.0 {}
    }

    /// Takes samples from now on.
    ///
    /// # Errors
    /// Never: there is no recording.
    pub fn sample(self, _mean_bytes: u64) -> Result<(), Error> {
        match self.0 {}
    }

    /// Stops recording.
    ///
    /// # Errors
    /// Never: there is no recording.
    pub fn finish(self) -> Result<(), Error> {
        match self.0 {}
    }

    /// Stops a recording in memory and returns its bytes.
    ///
    /// # Errors
    /// Never: there is no recording.
    pub fn finish_to_bytes(self) -> Result<Vec<u8>, Error> {
        match self.0 {}
    }
}

/// Does nothing.
pub fn mark(_name: &str) {}

/// Takes no snapshot.
///
/// # Errors
/// Always [`NoSnapshot::Unsupported`].
pub fn snapshot(_label: &str) -> Result<(), NoSnapshot> {
    Err(NoSnapshot::Unsupported)
}
