//! The estimate of deepsize for a value, in addition to the measurement.

use super::footprint;
use crate::Footprint;
use crate::Profiled;
use deepsize::DeepSizeOf;
use heapglass_recorder::footprints::{self, Measured, Part, Type};
use serde::Serialize;
use std::any::type_name;
use tracking_alloc_recording::{FootprintNodeValue, footprint_kind, scope_kind};

/// Writes the estimate of the crate deepsize for a value to the recording as `label`. It is one
/// figure, marked as an estimate, which reports show next to the measurement of `footprint` with
/// the same label.
///
/// deepsize estimates from types. At the time of writing it counts about half of a `BTreeMap`, and
/// neither the spare buckets of a `HashMap` nor the headers of `Rc<str>`. Returns `None` if nothing
/// records.
///
/// # Panics
/// If `TrackingAlloc` is not the global allocator, with the two lines to add. It never returns
/// zeros instead.
pub fn footprint_estimate<T: DeepSizeOf + ?Sized>(label: &str, value: &T) -> Option<Footprint> {
    heapglass_recorder::assert_observing("footprint_estimate");
    let live_bytes = footprints::live_bytes()?;
    let (inline, whole) = (size_of_val(value), value.deep_size_of());
    let figures = Footprint {
        inline_bytes: inline as u64,
        block_bytes: whole.saturating_sub(inline) as u64,
        ..Footprint::default()
    };
    let name = type_name::<T>();
    let measured = Measured {
        label,
        type_name: name,
        kind: footprint_kind::ESTIMATE,
        live_bytes,
        folded: 0,
        hidden_values: 0,
    };
    let root = Part {
        name: b"",
        type_index: Some(0),
        node: FootprintNodeValue {
            kind: scope_kind::ROOT,
            count: 1,
            inline_bytes: figures.inline_bytes,
            block_bytes: figures.block_bytes,
            ..FootprintNodeValue::default()
        },
    };
    let own_type = Type {
        name,
        bytes: inline,
        string: 0,
    };
    footprints::record(&measured, &mut [own_type], std::iter::once(root));
    Some(figures)
}

impl<T: Serialize + DeepSizeOf> Profiled<T> {
    /// Measures the deserialized value as `label`, in both ways: exactly with [`footprint`], and
    /// with the estimate of the crate deepsize. Returns both, the exact figures first; `None` if
    /// nothing records.
    ///
    /// ```
    /// # #[global_allocator] static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();
    /// let names = serde_json::from_str::<tracking_alloc::Profiled<Vec<String>>>(r#"["Ada"]"#)?;
    /// names.footprint_estimate("names");
    /// # assert_eq!(names.0, ["Ada"]);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    ///
    /// # Panics
    /// The same as for `footprint` and `footprint_estimate`.
    pub fn footprint_estimate(&self, label: &str) -> Option<(Footprint, Footprint)> {
        let exact = footprint(label, &self.0)?;
        Some((exact, footprint_estimate(label, &self.0)?))
    }
}
