//! Start and end of a module's recording.

use super::hook;
use crate::{Error, state};

/// Linear memory, in pages of 64 KiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Memory {
    /// All pages except those of the recording: static data, stack, heap and everything else.
    ///
    /// The recording's pages lie between the program's. An allocator that needs neighboring pages
    /// may therefore need one more for each piece that the recording took: 1 in 4,126 in one
    /// benchmark, 0 in 2,641 in another.
    pub pages: u64,
    /// Number of times linear memory grew since the recording began, as seen at allocator calls,
    /// except for the recording's own grows.
    ///
    /// An allocator grows it at most once per call. All other grows between two calls count as
    /// one.
    pub grows: u64,
    /// Pages that the recording has taken for itself since it began.
    pub own_pages: u64,
}

/// Starts recording. `program` is the name of the recording.
///
/// # Errors
/// If the module is recording already, or if there is no memory for the first tables (128 KiB).
pub fn start(program: &str) -> Result<(), Error> {
    hook::start(program)?;
    state::change(state::RECORD, 0);
    Ok(())
}

/// Returns everything recorded so far, as the bytes of a finished recording. Recording continues.
///
/// The buffer is not part of the counted figures, and its pages count as the recording's own. After
/// the buffer is dropped, the program can use those pages, so take the recording at the end.
///
/// # Errors
/// If nothing is recorded, because [`start`] was not called.
pub fn recording() -> Result<Vec<u8>, Error> {
    hook::recording().ok_or_else(not_started)
}

/// Returns the figures of linear memory so far.
///
/// # Errors
/// If nothing is recorded, because [`start`] was not called.
pub fn memory() -> Result<Memory, Error> {
    let linear = hook::linear().ok_or_else(not_started)?;
    Ok(Memory {
        pages: linear.pages - linear.own,
        grows: linear.grows,
        own_pages: linear.own,
    })
}

fn not_started() -> Error {
    Error::new("nothing is recorded: call tracking_alloc::wasm::start first".to_owned())
}
