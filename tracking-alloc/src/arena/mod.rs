//! Arenas: what lies inside the chunks that a global allocator sees as single blocks.
//!
//! - [`Arena`] is the one contract: bumpalo's and bump-scope's arenas keep it (features `bumpalo`,
//!   `bump-scope`), and so may yours. [`Reset`] is for those that can be emptied.
//! - [`Tracked`] names an arena and counts exactly what becomes of its chunks' bytes:
//!   [`ArenaStats`].
//! - `#[derive(ArenaDeserialize)]` (feature `derive`, part of the other two) deserializes into an
//!   arena, through each level, from any serde format: `ArenaSeed`.
//!
//! # What the figures mean
//!
//! At every moment, `allocated_bytes = used_bytes + padding_bytes + abandoned_bytes +
//! bypassed_bytes + unused_tail_bytes`. `allocated_bytes` is defined as by bumpalo: the usable
//! bytes of chunks. Of those, pieces that went through the handle use `used_bytes`; the rest is
//! lost to alignment, abandoned by growth, used without the handle, or not used yet.
//!
//! # In a recording
//!
//! Instances of one name are one arena, whichever threads made them; what was allocated is recorded
//! by phase, field and type. Exact when the program ends in order (leaked arenas too); when it is
//! killed, each arena that is alive then may be behind by what it allocated since its last update:
//! at most 64 KiB. `pause` does not pause arenas. The history of an arena keeps its first 4,096
//! events, and after that new maxima only. 1,023 names are kept apart (so give an arena a name that
//! says what it is for, not which one it is); arenas of further names are instances of "(other)".
//!
//! A value that owns something outside of the arena and is moved in by [`Arena::alloc`] of a handle
//! is never dropped. Its type is recorded, and with the feature `serde` (part of `derive`,
//! `bumpalo` and `bump-scope`) the sites of the blocks that the value itself points to, not of what
//! those point to in turn. What is moved in without the handle (`bump.alloc(string)`) cannot be
//! seen.
//!
//! # What it costs
//!
//! Two compares and two additions for a piece allocated, in plain cells, when nothing records.
//!
//! Nothing in here allocates through the global allocator, but for the arena's own chunks.

mod accounting;
#[cfg(feature = "allocator-api2")]
mod allocator_api;
#[cfg(feature = "bump-scope")]
mod bump_scope;
#[cfg(feature = "bumpalo")]
mod bumpalo;
mod counters;
#[cfg(feature = "derive")]
mod deserialize;
#[cfg(feature = "derive")]
mod growing;
mod record;
mod stats;
mod tracked;
mod traits;

#[cfg(feature = "derive")]
pub use deserialize::{ArenaDeserialize, ArenaSeed, map_as_pairs};
#[cfg(feature = "derive")]
pub use growing::{FromGrowing, Growing};
#[cfg(recording)]
pub(crate) use record::{forget, settle};
pub use stats::ArenaStats;
pub use tracked::Tracked;
#[cfg(feature = "derive")]
pub use tracking_alloc_derive::ArenaDeserialize;
pub use traits::{AllocError, Arena, Chunks, PieceResult, Reset};

/// What derived code is made of. Not for use by hand: it changes without notice.
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
