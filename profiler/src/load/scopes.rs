//! Scopes and footprints of a recording, with the types of their values.

use crate::profile::{Footprint, FootprintNode, Scope, ScopeKind};
use crate::types::Types;
use std::collections::HashMap;
use tracking_alloc_recording::{Recording, footprint_kind, scope_flags, scope_kind};

/// Recordings of this layout do not tell what phases retained.
const LAYOUT_WITHOUT_RETAINED: u32 = 1;

/// The tree of scopes; there is always the root.
pub(super) fn scopes(recording: &Recording, types: &mut Types) -> Vec<Scope> {
    let mut visits: HashMap<u32, u64> = HashMap::new();
    for visit in recording.lanes.iter().flat_map(|lane| &lane.visits) {
        let count = visits.entry(visit.scope).or_default();
        *count = count.saturating_add(visit.count);
    }
    let tells_retained = recording.header.version != LAYOUT_WITHOUT_RETAINED;
    let mut scopes: Vec<Scope> = (0u32..)
        .zip(&recording.scopes)
        .map(|(number, scope)| Scope {
            parent: scope.parent,
            kind: kind(scope.kind),
            name: recording.string(scope.name).unwrap_or_default(),
            value_type: recording
                .string(scope.type_name)
                .map(|name| types.number(&name)),
            value_bytes: scope.value_bytes,
            recursive: scope.flags & scope_flags::RECURSIVE != 0,
            folded: scope.flags & scope_flags::FOLDED != 0,
            in_arena: scope.flags & scope_flags::IN_ARENA != 0,
            entered: scope
                .entered
                .saturating_add(visits.get(&number).copied().unwrap_or(0)),
            input_bytes: scope.input_bytes,
            records: scope.records,
            retained_bytes: (tells_retained && scope.flags & scope_flags::RETAINED_UNKNOWN == 0)
                .then_some(scope.retained_bytes),
        })
        .collect();
    if scopes.is_empty() {
        scopes.push(Scope::default());
    }
    scopes
}

/// The measured values.
pub(super) fn footprints(recording: &Recording, types: &mut Types) -> Vec<Footprint> {
    let footprint = |record: &tracking_alloc_recording::FootprintValue| {
        let own =
            record.first_node as usize..record.first_node.saturating_add(record.nodes) as usize;
        let nodes = recording.footprint_nodes.get(own).unwrap_or_default();
        let node = |node: &tracking_alloc_recording::FootprintNodeValue, types: &mut Types| {
            FootprintNode {
                parent: node.parent,
                kind: kind(node.kind),
                name: recording.string(node.name).unwrap_or_default(),
                value_type: recording
                    .string(node.type_name)
                    .map(|name| types.number(&name)),
                count: node.count,
                inline_bytes: node.inline_bytes,
                blocks: node.blocks,
                block_bytes: node.block_bytes,
                usable_bytes: node.usable_bytes,
                used_bytes: node.used_bytes,
                shared_blocks: node.shared_blocks,
                shared_bytes: node.shared_bytes,
            }
        };
        Footprint {
            label: recording.string(record.label).unwrap_or_default(),
            value_type: recording
                .string(record.type_name)
                .map(|name| types.number(&name)),
            time_ns: record.time_ns,
            live_bytes: record.live_bytes,
            estimate: record.kind == footprint_kind::ESTIMATE,
            nodes: nodes.iter().map(|record| node(record, types)).collect(),
            folded: record.folded,
            hidden_values: record.hidden_values,
        }
    };
    recording.footprints.iter().map(footprint).collect()
}

fn kind(kind: u32) -> ScopeKind {
    match kind {
        scope_kind::ROOT => ScopeKind::Root,
        scope_kind::FIELD => ScopeKind::Field,
        scope_kind::ELEMENT => ScopeKind::Element,
        scope_kind::KEY => ScopeKind::Key,
        scope_kind::VALUE => ScopeKind::Value,
        scope_kind::VARIANT => ScopeKind::Variant,
        scope_kind::INDEX => ScopeKind::Index,
        scope_kind::BUFFERED => ScopeKind::Buffered,
        scope_kind::FROM_BUFFER => ScopeKind::FromBuffer,
        scope_kind::OTHER => ScopeKind::Other,
        _ => ScopeKind::Phase,
    }
}
