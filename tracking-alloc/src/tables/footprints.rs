//! The tables of footprints: nodes first, then the footprint that counts them.

use super::Writer;
use std::sync::atomic::Ordering::*;
use tracking_alloc_recording::{FootprintNodeValue, FootprintValue};

/// A measured value, without its parts.
pub(crate) struct Measured<'m> {
    pub(crate) label: &'m str,
    pub(crate) type_name: &'static str,
    /// See [`tracking_alloc_recording::footprint_kind`].
    pub(crate) kind: u32,
    pub(crate) live_bytes: u64,
    pub(crate) folded: u64,
    /// Above 0, the figures are a lower bound.
    pub(crate) hidden_values: u64,
}

/// A type in it.
#[derive(Clone, Copy)]
pub(crate) struct Type {
    pub(crate) name: &'static str,
    /// Size of a value, bytes; 0 = not known.
    #[cfg(feature = "serde")]
    pub(crate) bytes: usize,
    /// Its name in the recording, once it is there.
    pub(crate) string: u32,
}

/// One place in it.
pub(crate) struct Part<'m> {
    pub(crate) name: &'m [u8],
    /// Which of the types.
    pub(crate) type_index: Option<u32>,
    /// All but the strings.
    pub(crate) node: FootprintNodeValue,
}

impl Writer {
    /// Adds a footprint. `None` when there is no room.
    pub(crate) fn add_footprint<'p>(
        &mut self,
        measured: &Measured<'_>,
        types: &mut [Type],
        parts: impl Iterator<Item = Part<'p>>,
        now_ns: u64,
    ) -> Option<()> {
        let header = self.store.header();
        let label = self.known_string(measured.label.as_bytes());
        let type_name = self.known_string(measured.type_name.as_bytes());
        for known in &mut *types {
            known.string = self.known_string(known.name.as_bytes());
        }
        let (mut first_node, mut nodes) = (None, 0);
        for part in parts {
            let name = match part.name {
                b"" => 0,
                name => self.known_string(name),
            };
            let known = part.type_index.and_then(|index| types.get(index as usize));
            let node = FootprintNodeValue {
                name,
                type_name: known.map_or(0, |known| known.string),
                ..part.node
            };
            let (index, _) = self.footprint_nodes.add(&mut self.store, node)?;
            let index = u64::from(index);
            first_node.get_or_insert(index);
            nodes += 1;
            header.footprint_nodes_len.store(index + 1, Release);
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
        let (index, _) = self.footprints.add(&mut self.store, footprint)?;
        header.footprints_len.store(index + 1, Release);
        Some(())
    }
}
