//! The tables of footprints: nodes first, then the footprint that counts them.

use super::Writer;
use tracking_alloc_recording::{FootprintNodeValue, FootprintValue};

/// A measured value as a whole.
#[derive(Clone, Copy, Debug)]
pub struct Measured<'m> {
    /// The label that the program gave it.
    pub label: &'m str,
    /// The full name of the value's type.
    pub type_name: &'static str,
    /// See [`tracking_alloc_recording::footprint_kind`].
    pub kind: u32,
    /// The live bytes of the recording at that moment.
    pub live_bytes: u64,
    /// Number of places that did not fit and are counted at the enclosing place.
    pub folded: u64,
    /// Number of values that could not be followed. If it is above 0, the figures are a lower
    /// bound.
    pub hidden_values: u64,
}

/// A type in the value.
#[derive(Clone, Copy, Debug)]
pub struct Type {
    /// The full name.
    pub name: &'static str,
    /// The size of a value in bytes, or 0 if it is not known.
    pub bytes: usize,
    /// The reference of its name in the recording, once written.
    pub string: u32,
}

/// One place in the value.
#[derive(Clone, Copy, Debug)]
pub struct Part<'m> {
    /// The name of its step. It is empty for steps without a name.
    pub name: &'m [u8],
    /// The index of its type.
    pub type_index: Option<u32>,
    /// The record without its strings.
    pub node: FootprintNodeValue,
}

impl Writer {
    /// Adds a footprint. Returns `None` if there is no room.
    pub(crate) fn add_footprint<'p>(
        &mut self,
        measured: &Measured<'_>,
        types: &mut [Type],
        parts: impl Iterator<Item = Part<'p>>,
        now_ns: u64,
    ) -> Option<()> {
        let label = self.string(measured.label.as_bytes());
        let type_name = self.string(measured.type_name.as_bytes());
        for known in &mut *types {
            known.string = self.string(known.name.as_bytes());
        }
        let (mut first_node, mut nodes) = (None, 0);
        for part in parts {
            let known = part.type_index.and_then(|index| types.get(index as usize));
            let node = FootprintNodeValue {
                name: self.name(part.name),
                type_name: known.map_or(0, |known| known.string),
                ..part.node
            };
            let (index, _) = self.add(node)?;
            first_node.get_or_insert(u64::from(index));
            nodes += 1;
        }
        let footprint = FootprintValue {
            label,
            type_name,
            kind: measured.kind,
            time_ns: now_ns,
            live_bytes: measured.live_bytes,
            first_node: first_node.unwrap_or(0),
            nodes,
            folded: measured.folded,
            hidden_values: measured.hidden_values,
            ..FootprintValue::default()
        };
        self.add(footprint).map(drop)
    }
}
