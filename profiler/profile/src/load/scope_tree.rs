//! Scopes and footprints of a recording, with the types of their values.

use crate::profile::{Footprint, FootprintNode, Scope, ScopeKind, TypeId};
use crate::types::Types;
use std::collections::HashMap;
use tracking_alloc_recording::{
    FootprintValue, PHASE_IS_RUNNING, Recording, ScopeValue, footprint_kind, scope_flags,
    scope_kind,
};

/// The tree of scopes; there is always the root.
pub(super) fn scopes(recording: &Recording, types: &mut Types) -> Vec<Scope> {
    let mut visits: HashMap<u32, u64> = HashMap::new();
    for visit in recording.lanes.iter().flat_map(|lane| &lane.visits) {
        let count = visits.entry(visit.scope).or_default();
        *count = count.saturating_add(visit.count);
    }
    let mut scopes: Vec<Scope> = (0u32..)
        .zip(&recording.scopes)
        .map(|(number, scope)| Scope {
            parent: scope.parent,
            kind: kind(scope.kind),
            name: recording.string(scope.name).unwrap_or_default(),
            value_type: value_type(recording, scope.type_name, types),
            value_bytes: if is_phase(scope) {
                0
            } else {
                scope.value_bytes
            },
            elapsed_ns: elapsed_ns(scope),
            recursive: scope.flags & scope_flags::RECURSIVE != 0,
            folded: scope.flags & scope_flags::FOLDED != 0,
            in_arena: scope.flags & scope_flags::IN_ARENA != 0,
            in_place: scope.flags & scope_flags::IN_PLACE != 0,
            entered: scope
                .entered
                .saturating_add(visits.get(&number).copied().unwrap_or(0)),
            input_bytes: scope.input_bytes,
            records: scope.records,
            running: running(scope),
            stayed_bytes: (scope.flags & scope_flags::STAYED_UNKNOWN == 0)
                .then_some(scope.stayed_bytes),
        })
        .collect();
    if scopes.is_empty() {
        scopes.push(Scope::default());
    }
    scopes
}

fn is_phase(scope: &ScopeValue) -> bool {
    kind(scope.kind) == ScopeKind::Phase
}

/// The number of entries of a phase that have not ended.
fn running(scope: &ScopeValue) -> u64 {
    if is_phase(scope) {
        scope.value_bytes / PHASE_IS_RUNNING
    } else {
        0
    }
}

/// The time of a phase; `None` while an entry lasts, or if the recorder had no clock.
fn elapsed_ns(scope: &ScopeValue) -> Option<u64> {
    let is_known = |&ns: &u64| ns != 0 && ns < PHASE_IS_RUNNING;
    Some(scope.value_bytes)
        .filter(is_known)
        .filter(|_| is_phase(scope))
}

/// The measured values.
pub(super) fn footprints(recording: &Recording, types: &mut Types) -> Vec<Footprint> {
    let footprint = |record: &FootprintValue| {
        let own =
            record.first_node as usize..record.first_node.saturating_add(record.nodes) as usize;
        let nodes = recording.footprint_nodes.get(own).unwrap_or_default();
        Footprint {
            label: recording.string(record.label).unwrap_or_default(),
            value_type: value_type(recording, record.type_name, types),
            time_ns: record.time_ns,
            live_bytes: record.live_bytes,
            estimate: record.kind == footprint_kind::ESTIMATE,
            nodes: nodes
                .iter()
                .map(|node| FootprintNode {
                    parent: node.parent,
                    kind: kind(node.kind),
                    name: recording.string(node.name).unwrap_or_default(),
                    value_type: value_type(recording, node.type_name, types),
                    figures: *node,
                })
                .collect(),
            folded: record.folded,
            hidden_values: record.hidden_values,
        }
    };
    recording.footprints.iter().map(footprint).collect()
}

/// The type of that name, a string of the recording.
fn value_type(recording: &Recording, name: u32, types: &mut Types) -> Option<TypeId> {
    Some(types.number(&recording.string(name)?))
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
