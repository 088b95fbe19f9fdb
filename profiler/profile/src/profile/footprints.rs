//! Footprints: live values that the program asked to have measured.

use super::{ScopeKind, TypeId};

pub use tracking_alloc_recording::FootprintNodeValue;

/// A live value at one moment.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Footprint {
    /// The label that the program gave it. Several footprints of one label make a series.
    pub label: String,
    /// Its type.
    pub value_type: Option<TypeId>,
    /// Nanoseconds after the start.
    pub time_ns: u64,
    /// Live bytes of the whole process then.
    pub live_bytes: u64,
    /// `true` for an estimate of the crate deepsize: one node, with `block_bytes` alone.
    pub estimate: bool,
    /// The value and what is inside it; the first is the value itself, parents come before
    /// children.
    pub nodes: Vec<FootprintNode>,
    /// Number of places that did not fit and were counted at their parent.
    pub folded: u64,
    /// Values that could not be looked into; above 0, the figures are a lower bound.
    pub hidden_values: u64,
}

/// All values at one path of a footprint. Every figure is of these values alone, without what is
/// inside them.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct FootprintNode {
    /// Index of the node around it; the first is its own parent.
    pub parent: u32,
    /// The kind of place.
    pub kind: ScopeKind,
    /// Its name, where it has one.
    pub name: String,
    /// The type of its values.
    pub value_type: Option<TypeId>,
    /// The figures of the recording. Its string numbers have no meaning here.
    pub figures: FootprintNodeValue,
}

impl FootprintNode {
    /// Bytes of its blocks that no value was seen in: slack, and containers' own.
    pub fn slack_bytes(&self) -> u64 {
        self.figures
            .block_bytes
            .saturating_sub(self.figures.used_bytes)
    }
}
