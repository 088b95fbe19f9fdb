//! The tables of footprints: nodes first, then the footprint that counts them.

use super::Writer;
use std::sync::atomic::Ordering::*;
use tracking_alloc_recording::{self as recording, FootprintNodeValue};

/// A measured value, without its parts.
pub(crate) struct Measured<'m> {
    pub(crate) label: &'m str,
    pub(crate) type_name: &'static str,
    /// See [`recording::footprint_kind`].
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
            let (index, place) = self
                .footprint_nodes
                .push::<recording::FootprintNode>(&mut self.store)?;
            // SAFETY: a zeroed record just handed out, mapped until the process ends.
            let node = unsafe { place.as_ref() };
            let known = part.type_index.and_then(|index| types.get(index as usize));
            let value = &part.node;
            node.parent.store(value.parent, Relaxed);
            node.kind.store(value.kind, Relaxed);
            node.name.store(name, Relaxed);
            node.type_name
                .store(known.map_or(0, |known| known.string), Relaxed);
            node.count.store(value.count, Relaxed);
            node.inline_bytes.store(value.inline_bytes, Relaxed);
            node.blocks.store(value.blocks, Relaxed);
            node.block_bytes.store(value.block_bytes, Relaxed);
            node.usable_bytes.store(value.usable_bytes, Relaxed);
            node.used_bytes.store(value.used_bytes, Relaxed);
            node.shared_blocks.store(value.shared_blocks, Relaxed);
            node.shared_bytes.store(value.shared_bytes, Relaxed);
            first_node.get_or_insert(index);
            nodes += 1;
            header.footprint_nodes_len.store(index + 1, Release);
        }
        let (index, place) = self
            .footprints
            .push::<recording::Footprint>(&mut self.store)?;
        // SAFETY: as above.
        let footprint = unsafe { place.as_ref() };
        footprint.label.store(label, Relaxed);
        footprint.type_name.store(type_name, Relaxed);
        footprint.kind.store(measured.kind, Relaxed);
        footprint.time_ns.store(now_ns, Relaxed);
        footprint.live_bytes.store(measured.live_bytes, Relaxed);
        footprint.first_node.store(first_node.unwrap_or(0), Relaxed);
        footprint.nodes.store(nodes, Relaxed);
        footprint.folded.store(measured.folded, Relaxed);
        footprint
            .hidden_values
            .store(measured.hidden_values, Relaxed);
        header.footprints_len.store(index as u32 + 1, Release);
        Some(())
    }
}
