//! Footprints: the heap that a live value retains, measured by its addresses or estimated by
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

/// The figures of a value as a whole. The recording contains its parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Footprint {
    /// Size of the value itself, bytes, without its blocks; 0 = unknown, because the value is
    /// behind two references.
    pub inline_bytes: u64,
    /// Heap blocks that the value owns, each counted once.
    pub blocks: u64,
    /// Requested bytes of those blocks, which dropping the value frees.
    pub block_bytes: u64,
    /// Usable bytes of those blocks, as reported by the inner allocator; 0 = not reported (only the
    /// system's allocator reports them).
    pub usable_bytes: u64,
    /// Bytes of those blocks in which values were seen. The rest is unused capacity and data that
    /// containers keep for themselves.
    pub used_bytes: u64,
    /// References to blocks that are also reached from another place in the value, or that it only
    /// borrows.
    pub shared_blocks: u64,
    /// Requested bytes of those blocks, counted once per reference.
    pub shared_bytes: u64,
    /// Values with pointers to live blocks that `Serialize` did not show: fields that are not
    /// serialized, or values that are serialized as something else. If this is above 0, the other
    /// figures are a lower bound.
    pub hidden_values: u64,
}

/// Writes a footprint if something still records. Parts that do not fit are counted as lost.
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
