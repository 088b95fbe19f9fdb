//! Footprints as JSON: exact ones with their places and the estimate beside them, estimates as what they are.

use serde::Serialize;

use crate::profile::{Measured, Place, Profile};

#[derive(Serialize)]
pub(super) struct FootprintJson {
    label: String,
    #[serde(rename = "type")]
    type_key: Option<String>,
    full_name: Option<String>,
    /// False = an estimate.
    exact: bool,
    time_ns: u64,
    /// Which of its label and kind, from 1.
    number: usize,
    /// Live bytes of the whole process then.
    live_bytes: u64,
    /// Of heap blocks.
    bytes: u64,
    inline_bytes: u64,
    /// More than in the one before it.
    change_bytes: Option<i64>,
    #[serde(flatten)]
    found: Option<Found>,
}

/// What only an exact footprint tells.
#[derive(Serialize)]
struct Found {
    blocks: u64,
    /// Null when the inner allocator does not tell.
    usable_bytes: Option<u64>,
    slack_bytes: u64,
    shared_blocks: u64,
    shared_bytes: u64,
    /// Places that found no room of their own and were counted at their parent.
    folded: u64,
    /// Values that could not be looked into; above 0, the figures are a lower bound.
    hidden_values: u64,
    estimate: Option<EstimateJson>,
    nodes: Vec<NodeJson>,
}

#[derive(Serialize)]
struct EstimateJson {
    bytes: u64,
    time_ns: u64,
    difference_bytes: i64,
    /// Of the exact bytes: 0.12 = 12 % more.
    difference: Option<f64>,
}

#[derive(Serialize)]
struct NodeJson {
    path: String,
    #[serde(rename = "type")]
    type_key: Option<String>,
    full_name: Option<String>,
    values: u64,
    inline_bytes: u64,
    blocks: u64,
    bytes: u64,
    with_inner_bytes: u64,
    usable_bytes: Option<u64>,
    used_bytes: u64,
    slack_bytes: u64,
    shared_blocks: u64,
    shared_bytes: u64,
}

pub(super) fn footprint(profile: &Profile, measured: &Measured) -> FootprintJson {
    let footprint = &measured.footprint;
    let name = profile.named_type(footprint.value_type);
    let found = || Found {
        blocks: measured.blocks,
        usable_bytes: measured.usable_bytes,
        slack_bytes: measured.slack_bytes,
        shared_blocks: measured.shared_blocks,
        shared_bytes: measured.shared_bytes,
        folded: footprint.folded,
        hidden_values: footprint.hidden_values,
        estimate: measured.estimate.map(|estimate| EstimateJson {
            bytes: estimate.bytes,
            time_ns: estimate.time_ns,
            difference_bytes: estimate.difference_bytes,
            difference: estimate.difference,
        }),
        nodes: measured
            .places
            .iter()
            .map(|place| node(profile, place))
            .collect(),
    };
    FootprintJson {
        label: footprint.label.clone(),
        type_key: name.map(|name| name.short.clone()),
        full_name: name.map(|name| name.full.clone()),
        exact: !footprint.estimate,
        time_ns: footprint.time_ns,
        number: measured.number,
        live_bytes: footprint.live_bytes,
        bytes: measured.bytes,
        inline_bytes: measured.inline_bytes,
        change_bytes: measured.change_bytes,
        found: (!footprint.estimate).then(found),
    }
}

fn node(profile: &Profile, place: &Place) -> NodeJson {
    let node = &place.node;
    let name = profile.named_type(node.value_type);
    NodeJson {
        path: place.path.clone(),
        type_key: name.map(|name| name.short.clone()),
        full_name: name.map(|name| name.full.clone()),
        values: node.count,
        inline_bytes: node.inline_bytes,
        blocks: node.blocks,
        bytes: node.block_bytes,
        with_inner_bytes: place.with_inner_bytes,
        usable_bytes: Some(node.usable_bytes).filter(|&bytes| bytes > 0),
        used_bytes: node.used_bytes,
        slack_bytes: place.slack_bytes,
        shared_blocks: node.shared_blocks,
        shared_bytes: node.shared_bytes,
    }
}
