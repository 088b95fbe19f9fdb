//! Arenas for [tracking-alloc](https://docs.rs/tracking-alloc): the contents of chunks that a global
//! allocator sees as single blocks.
//!
//! Programs use these items as `tracking_alloc::arena`; its features `bumpalo`, `bump-scope`,
//! `derive` and `allocator-api2` are the features of this crate.
//!
//! - [`Arena`] is the trait of all arenas. bumpalo's and bump-scope's arenas implement it (features
//!   `bumpalo`, `bump-scope`), and yours can too. [`Reset`] is for arenas that can be emptied.
//! - [`Tracked`] names an arena and counts exactly how the bytes of its chunks are used
//!   ([`ArenaStats`]).
//! - `#[derive(ArenaDeserialize)]` (feature `derive`, part of the other two) deserializes every
//!   level of a type into an arena, from any serde format. `ArenaSeed` is the entry point.
//!
//! # What the figures mean
//!
//! At every moment, `allocated_bytes = used_bytes + padding_bytes + abandoned_bytes +
//! bypassed_bytes + unused_tail_bytes`. `allocated_bytes` is the number of usable bytes in chunks,
//! as bumpalo defines it. Pieces allocated through the handle use `used_bytes` of them. The other
//! bytes are lost to alignment, abandoned by growth, used without the handle, or not used yet.
//!
//! # In a recording
//!
//! Instances with the same name are one arena, whichever threads create them. Their allocations are
//! recorded by phase, field and type. The figures are exact if the program ends normally (leaked
//! arenas included). If the program is killed, each live arena may miss its allocations since its
//! last update, at most 64 KiB. `pause` does not pause arenas. The history of an arena keeps its
//! first 4,096 events, and after that only new maxima. A recording keeps at most 1,023 names;
//! arenas with further names are instances of "(other)". So name an arena for its purpose, and do
//! not number the instances.
//!
//! A value that a handle's [`Arena::alloc`] moves into the arena is never dropped, even if it owns
//! something outside of the arena. The recording then contains its type, and the sites of the
//! blocks that the value points to directly. Values moved in without the handle
//! (`bump.alloc(string)`) are not seen.
//!
//! # Cost
//!
//! While nothing records, allocating a piece costs two comparisons and two additions in plain
//! cells.
//!
//! Nothing here allocates through the global allocator, except for the arena's own chunks.

#![warn(clippy::match_bool)]

mod accounting;
#[cfg(feature = "allocator-api2")]
mod allocator_api;
#[cfg(feature = "bump-scope")]
mod bump_scope;
#[cfg(feature = "bumpalo")]
mod bumpalo;
#[cfg(feature = "derive")]
mod deserialize;
#[cfg(feature = "derive")]
mod growing;
mod tracked;
mod traits;

#[cfg(feature = "derive")]
pub use deserialize::{ArenaDeserialize, ArenaSeed, map_as_pairs};
#[cfg(feature = "derive")]
pub use growing::{FromGrowing, Growing};
pub use heapglass_recorder::arenas::{ArenaStats, Chunks};
pub use tracked::Tracked;
#[cfg(feature = "derive")]
pub use tracking_alloc_derive::ArenaDeserialize;
pub use traits::{AllocError, Arena, PieceResult, Reset};

/// The items that derived code uses. Do not use them directly: they change without notice.
#[cfg(feature = "derive")]
#[doc(hidden)]
pub mod __private {
    pub use super::deserialize::derived::*;
    pub use super::{Arena, ArenaDeserialize};
    pub use serde::de::{
        DeserializeSeed, Deserializer, EnumAccess, Error, IgnoredAny, MapAccess, SeqAccess,
        VariantAccess, Visitor,
    };
}
