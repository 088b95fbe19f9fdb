//! What deepsize says of a value, beside what is found.

#[cfg(feature = "serde")]
use super::footprint;
use super::{Footprint, record};
#[cfg(feature = "serde")]
use crate::Profiled;
use crate::tables::{Measured, Part, Type};
use crate::{hook, probe};
use deepsize::DeepSizeOf;
#[cfg(feature = "serde")]
use serde::Serialize;
use std::any::type_name;
use tracking_alloc_recording::{FootprintNodeValue, footprint_kind, scope_kind};

/// Writes what the crate deepsize says of a value to the recording as `label`: one figure, marked
/// as an estimate, shown beside what `footprint` found under the same label.
///
/// An estimate, since deepsize reckons from the types: at the time of writing it takes a `BTreeMap`
/// for about half of what it is, leaves out spare buckets of a `HashMap`, and the heads of
/// `Rc<str>`. `None` when nothing records.
///
/// # Panics
/// When `TrackingAlloc` is not the global allocator, with the two lines to add: never a silent
/// zero.
pub fn footprint_estimate<T: DeepSizeOf + ?Sized>(label: &str, value: &T) -> Option<Footprint> {
    probe::assert_installed("footprint_estimate");
    let live_bytes = hook::recorded_stats()?.live_bytes.max(0) as u64;
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
        #[cfg(feature = "serde")]
        bytes: inline,
        string: 0,
    };
    record(&measured, &mut [own_type], std::iter::once(root));
    Some(figures)
}

#[cfg(feature = "serde")]
impl<T: Serialize + DeepSizeOf> Profiled<T> {
    /// Measures what was just deserialized as `label`, both ways in one call: what [`footprint`]
    /// finds, exactly, and beside it what the crate deepsize says. Returns both, the exact one
    /// first; `None` when nothing records.
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
    /// As `footprint` and `footprint_estimate` do.
    pub fn footprint_estimate(&self, label: &str) -> Option<(Footprint, Footprint)> {
        let exact = footprint(label, &self.0)?;
        Some((exact, footprint_estimate(label, &self.0)?))
    }
}
