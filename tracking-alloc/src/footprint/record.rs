//! Footprints on their way into the recording: nodes first, then the footprint that counts them.

use super::Footprint;
use crate::session::{self, Writer};
use crate::{hook, sys};
use std::sync::atomic::Ordering::*;
use tracking_alloc_recording as recording;

/// A measured value, without its parts.
pub(super) struct Measured<'m> {
    pub(super) label: &'m str,
    pub(super) type_name: &'static str,
    /// See [`recording::footprint_kind`].
    pub(super) kind: u32,
    pub(super) live_bytes: u64,
    pub(super) folded: u64,
    /// See [`Footprint::hidden_values`].
    pub(super) hidden_values: u64,
}

/// A type in it.
#[derive(Clone, Copy)]
pub(super) struct Type {
    pub(super) name: &'static str,
    /// Size of a value, bytes; 0 = not known.
    #[cfg(feature = "serde")]
    pub(super) bytes: usize,
    /// Its name in the recording, once it is there.
    pub(super) string: u32,
}

/// One place in it.
pub(super) struct Part<'m> {
    pub(super) parent: u32,
    /// See [`recording::scope_kind`].
    pub(super) kind: u32,
    pub(super) name: &'m [u8],
    /// Which of the types.
    pub(super) type_index: Option<u32>,
    pub(super) count: u64,
    pub(super) figures: Footprint,
}

impl Measured<'_> {
    /// Writes it, when something still records. What finds no room is counted as lost.
    pub(super) fn write<'p>(&self, types: &mut [Type], parts: impl Iterator<Item = Part<'p>>) {
        let Some(_inside) = hook::Inside::enter() else {
            return;
        };
        let (Some(session), Some(header)) = (session::current(), hook::header()) else {
            return;
        };
        let errno = sys::Errno::keep();
        let now_ns = hook::LOOKS.hold().timeline.elapsed_ns();
        let mut writer = session.write.hold();
        if writer.add_footprint(self, types, parts, now_ns).is_none() {
            header.lost_records.fetch_add(1, Relaxed);
        }
        drop(writer);
        drop(errno);
    }
}

impl Writer {
    fn add_footprint<'p>(
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
            node.parent.store(part.parent, Relaxed);
            node.kind.store(part.kind, Relaxed);
            node.name.store(name, Relaxed);
            let known = part.type_index.and_then(|index| types.get(index as usize));
            node.type_name
                .store(known.map_or(0, |known| known.string), Relaxed);
            node.count.store(part.count, Relaxed);
            node.inline_bytes.store(part.figures.inline_bytes, Relaxed);
            node.blocks.store(part.figures.blocks, Relaxed);
            node.block_bytes.store(part.figures.block_bytes, Relaxed);
            node.usable_bytes.store(part.figures.usable_bytes, Relaxed);
            node.used_bytes.store(part.figures.used_bytes, Relaxed);
            node.shared_blocks
                .store(part.figures.shared_blocks, Relaxed);
            node.shared_bytes.store(part.figures.shared_bytes, Relaxed);
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
