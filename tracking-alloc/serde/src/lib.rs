//! Deserialized data and live values for [tracking-alloc](https://docs.rs/tracking-alloc): the
//! fields of the data that own the heap, and the memory that a value retains.
//!
//! Programs use these items through tracking-alloc and its features `serde` and `deepsize`, which
//! document them with examples:
//!
//! - [`Profiled`] wraps a type that is deserialized, in any serde format: the recording then counts
//!   bytes by field and type.
//! - [`Budget`] fails a deserialization that allocates too much.
//! - [`footprint`] measures the heap that a live value retains, by field and type.
//!
//! # How it works
//!
//! `Profiled<T>` wraps the format's deserializer and every visitor, seed and access on the way
//! down, and keeps the field that is being read as the current [scope](heapglass_recorder::scopes)
//! of the thread. A footprint runs a value's own `Serialize` with a serializer that writes nothing
//! and looks up each address among the live blocks of the recording. Both need no derive other than
//! serde's.

#![warn(clippy::match_bool)]

#[cfg(recording)]
mod footprint;
#[cfg(not(recording))]
#[path = "footprint/off.rs"]
mod footprint;
mod footprint_figures;
mod profiled;

pub use footprint::footprint;
#[cfg(feature = "deepsize")]
pub use footprint::footprint_estimate;
pub use footprint_figures::Footprint;
pub use profiled::{Budget, Profiled, ProfiledSeed};

/// The place in the data of an arena's pieces, for the crate tracking-alloc-arena. It changes
/// without notice.
#[doc(hidden)]
pub mod arena_path {
    pub use crate::profiled::arena_path::*;
}
