//! Footprints: what a live value retains, found by where it lies (exact) or told by deepsize (an estimate).

#[cfg(feature = "serde")]
mod blocks;
#[cfg(feature = "deepsize")]
mod estimate;
#[cfg(feature = "serde")]
mod exact;
#[cfg(feature = "serde")]
mod names;
#[cfg(feature = "serde")]
mod nodes;
#[cfg(feature = "serde")]
mod place;
#[cfg(feature = "serde")]
mod room;
#[cfg(feature = "serde")]
mod serializer;
#[cfg(feature = "serde")]
mod unshown;
#[cfg(feature = "serde")]
mod words;

use crate::tables::{self, Measured, Part, Type};
use crate::{hook, sys};
use std::sync::atomic::Ordering::Relaxed;

#[cfg(feature = "deepsize")]
pub use estimate::footprint_estimate;
#[cfg(feature = "serde")]
pub use exact::footprint;

/// What a value came to, without its parts: those are in the recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Footprint {
    /// Size of the value itself, bytes, without its blocks.
    pub inline_bytes: u64,
    /// Heap blocks it owns, each once.
    pub blocks: u64,
    /// Requested bytes of those: what dropping the value gives back.
    pub block_bytes: u64,
    /// What the inner allocator can give for them, bytes; 0 = it does not tell (only the system's does).
    pub usable_bytes: u64,
    /// Bytes of the blocks in which values were seen; the rest is spare capacity and what containers keep for
    /// themselves.
    pub used_bytes: u64,
    /// Blocks met again in another place of the value, or borrowed by it: each time.
    pub shared_blocks: u64,
    /// Requested bytes of those, each time.
    pub shared_bytes: u64,
    /// Values that could not be looked into though their memory leads to blocks that nothing showed: fields that are not
    /// serialized, values that are serialized as something else. Above 0, the other figures are a lower bound.
    pub hidden_values: u64,
}

/// Writes a footprint, when something still records. What finds no room is counted as lost.
fn record<'p>(measured: &Measured<'_>, types: &mut [Type], parts: impl Iterator<Item = Part<'p>>) {
    let Some(_inside) = hook::Inside::enter() else {
        return;
    };
    let (Some(session), Some(header)) = (tables::current(), tables::header()) else {
        return;
    };
    let errno = sys::Errno::keep();
    let now_ns = hook::LOOKS.hold().timeline.elapsed_ns();
    let mut writer = session.write.hold();
    let added = writer.add_footprint(measured, types, parts, now_ns);
    if added.is_none() {
        header.lost_records.fetch_add(1, Relaxed);
    }
    drop(writer);
    drop(errno);
}
