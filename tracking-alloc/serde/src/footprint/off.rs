//! Footprints on platforms on which nothing is recorded into a file: there are none.

use crate::Footprint;
#[cfg(feature = "deepsize")]
use crate::Profiled;
#[cfg(feature = "deepsize")]
use deepsize::DeepSizeOf;
use serde::Serialize;

/// Returns `None`: nothing is recorded on this platform.
///
/// # Panics
/// If `TrackingAlloc` is not the global allocator, with the two lines to add.
pub fn footprint<T: Serialize + ?Sized>(_label: &str, _value: &T) -> Option<Footprint> {
    heapglass_recorder::assert_observing("footprint");
    None
}

/// Returns `None`: nothing is recorded on this platform.
///
/// # Panics
/// If `TrackingAlloc` is not the global allocator, with the two lines to add.
#[cfg(feature = "deepsize")]
pub fn footprint_estimate<T: DeepSizeOf + ?Sized>(_label: &str, _value: &T) -> Option<Footprint> {
    heapglass_recorder::assert_observing("footprint_estimate");
    None
}

#[cfg(feature = "deepsize")]
impl<T: Serialize + DeepSizeOf> Profiled<T> {
    /// Returns `None`: nothing is recorded on this platform.
    ///
    /// # Panics
    /// The same as for `footprint` and `footprint_estimate`.
    pub fn footprint_estimate(&self, label: &str) -> Option<(Footprint, Footprint)> {
        let exact = footprint(label, &self.0)?;
        Some((exact, footprint_estimate(label, &self.0)?))
    }
}
