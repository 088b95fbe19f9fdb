//! Recording in a WebAssembly module (`wasm32` without threads).
//!
//! There is no environment, so nothing starts automatically. The module starts the recording and
//! returns its bytes, which `heapglass` opens like any other recording:
//!
//! ```ignore
//! tracking_alloc::wasm::start("my-module")?;
//! // ... phases, Profiled<T> ...
//! let bytes = tracking_alloc::wasm::recording()?;   // the host writes them to my-module.hg
//! ```
//! A recording contains every event, counted in its phase or field, the exact peak, and the pages
//! and grows of linear memory ([`memory`]). [`stats`](crate::stats) and [`measure`](crate::measure)
//! work too. It does not contain stacks (a scope is a site), the timeline and all other times
//! (there is no clock), or lifetimes. `Recorder` and `footprint` do not work, marks do nothing, and
//! there is no record of arenas (`arena::Tracked` counts in its own handle).
//!
//! The tables of live blocks lie in separate pages, so the layout of the program's heap stays the
//! same. They take 11 to 22 bytes per block, including outgrown tables. The tables of scopes, a few
//! hundred bytes each, lie in the program's heap and are not counted.

use crate::Error;

pub use heapglass_recorder::wasm::{Memory, memory, recording};

/// Starts recording. `program` is the name of the recording.
///
/// # Errors
/// If `TrackingAlloc` is not the global allocator, if the module is recording already, or if there
/// is no memory for the first tables (128 KiB).
pub fn start(program: &str) -> Result<(), Error> {
    heapglass_recorder::require_observing()?;
    heapglass_recorder::wasm::start(program)
}
