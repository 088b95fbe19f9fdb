//! Footprints: the heap that a live value retains, measured by where it lies, or estimated by
//! deepsize.

#[cfg(feature = "serde")]
mod blocks;
#[cfg(feature = "deepsize")]
mod estimate;
#[cfg(feature = "serde")]
mod exact;
#[cfg(feature = "serde")]
mod known;
#[cfg(feature = "serde")]
mod mapped;
#[cfg(feature = "serde")]
mod nodes;
#[cfg(feature = "serde")]
mod serializer;
#[cfg(feature = "serde")]
mod unfollowed;
#[cfg(feature = "serde")]
mod value;
#[cfg(feature = "serde")]
mod value_ref;

use crate::tables::{self, Measured, Part, Type};
use crate::{hook, sys};
use std::sync::atomic::Ordering::Relaxed;

#[cfg(feature = "deepsize")]
pub use estimate::footprint_estimate;
#[cfg(feature = "serde")]
pub use exact::footprint;

/// The figures of a value, without its parts: those are in the recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Footprint {
    /// Size of the value itself, bytes, without its blocks; 0 = not known, of a value behind two
    /// references.
    pub inline_bytes: u64,
    /// Heap blocks it owns, each once.
    pub blocks: u64,
    /// Requested bytes of those: what dropping the value gives back.
    pub block_bytes: u64,
    /// What the inner allocator can give for them, bytes; 0 = it does not tell (only the system's
    /// does).
    pub usable_bytes: u64,
    /// Bytes of the blocks in which values were shown; the rest is spare capacity and what
    /// containers keep for themselves.
    pub used_bytes: u64,
    /// Blocks met again in another place of the value, or borrowed by it: each time.
    pub shared_blocks: u64,
    /// Requested bytes of those, each time.
    pub shared_bytes: u64,
    /// Values whose memory leads to live blocks that nothing showed: fields that are not
    /// serialized, values that are serialized as something else. Above 0, the other figures are a
    /// lower bound.
    pub hidden_values: u64,
}

/// Writes a footprint, when something still records. What finds no room is counted as lost.
fn record<'p>(measured: &Measured<'_>, types: &mut [Type], parts: impl Iterator<Item = Part<'p>>) {
    let (Some(_inside), Some(session), Some(header)) =
        (hook::Inside::enter(), tables::current(), tables::header())
    else {
        return;
    };
    let _errno = sys::Errno::keep();
    let now_ns = hook::PEAK_CHECKS.lock().timeline.elapsed_ns();
    let mut writer = session.write.lock();
    let added = writer.add_footprint(measured, types, parts, now_ns);
    if added.is_none() {
        header.lost_records.fetch_add(1, Relaxed);
    }
}
