//! Recording in a WebAssembly module (`wasm32` without threads): scopes and counters in memory, no
//! stacks.
//!
//! Nothing starts by itself: there is no environment. The module starts it, and hands out the bytes
//! of the recording, which `heapglass` opens like any other file:
//!
//! ```ignore
//! tracking_alloc::wasm::start("my-module")?;
//! // ... phases, Profiled<T> ...
//! let bytes = tracking_alloc::wasm::recording()?;   // the host writes them to my-module.hg
//! ```
//! What is there: every event, counted in the phase or field it happened in; the exact peak;
//! [`stats`](crate::stats) and [`measure`](crate::measure); pages of linear memory and how often it
//! grew ([`memory`]). What is not: stacks (a scope is a site), the timeline and every other time
//! (there is no clock), lifetimes, `Recorder` with its marks, `footprint`, and arenas in the
//! recording (`arena::Tracked` counts in its own handle).
//!
//! The tables of live blocks lie in pages of their own, 11 to 22 bytes a block with those outgrown,
//! so that the recorded program's heap is laid out as without them; the tables of scopes, a few
//! hundred bytes each, lie in that heap, uncounted.

pub(crate) mod hook;
mod pages;
pub(crate) mod scope_records;

use crate::{Error, probe, state};

/// Linear memory, in pages of 64 KiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Memory {
    /// All of it, without what the recording took for itself: static data and stack, the heap, and
    /// what else holds pages.
    ///
    /// The recording's own pages lie between the program's, so an allocator that wants neighbouring
    /// ones may need one more for each piece that the recording took: 1 in 4,126 of one benchmark,
    /// 0 of 2,641 in another.
    pub pages: u64,
    /// How often it grew since the recording began, as seen at allocator calls; the recording's own
    /// grows not counted.
    ///
    /// An allocator grows it at most once a call. Grows by other means count once between two
    /// calls.
    pub grows: u64,
    /// What the recording took for itself since it began.
    pub own_pages: u64,
}

/// Begins to record; `program` is what the recording is called.
///
/// # Errors
/// When `TrackingAlloc` is not the global allocator, when something is recorded already, or without
/// memory for the first tables (128 KiB).
pub fn start(program: &str) -> Result<(), Error> {
    probe::require()?;
    hook::start(program)?;
    state::change(state::RECORD, 0);
    Ok(())
}

/// What was recorded so far, as the bytes of a finished recording. Recording goes on.
///
/// The buffer is allocated outside the counted figures, and the pages it takes count as the
/// recording's own. They are the program's to use once the buffer is dropped: so take a recording
/// at the end.
///
/// # Errors
/// When nothing is recorded: [`start`] was not called.
pub fn recording() -> Result<Vec<u8>, Error> {
    hook::recording().ok_or_else(not_started)
}

/// Linear memory so far.
///
/// # Errors
/// When nothing is recorded: [`start`] was not called.
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
