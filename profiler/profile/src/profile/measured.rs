//! Footprints: live values that the program had measured, node by node, with estimates beside them.
//!
//! This module must never mix the two: an exact figure was found by address among the live blocks,
//! an estimate is what a crate says. Bytes are of heap blocks alone on both sides; the value's own
//! size stands apart.

use std::collections::HashMap;

use serde::{Serialize, Serializer};

use super::scope::inside;
use super::{Footprint, FootprintNode, Profile, TypeId};
use crate::units::{Bytes, printable, signed_percent};

/// One value at one moment, summed up.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Measured {
    /// The recorded footprint without its nodes: those are [`places`](Measured::places).
    pub footprint: Footprint,
    /// Number among the footprints of the same label and kind, from 1.
    pub number: usize,
    /// Heap bytes that the value owns (in an estimate: estimated).
    pub bytes: u64,
    /// Heap blocks; 0 in an estimate.
    pub blocks: u64,
    /// The value's own size, bytes.
    pub inline_bytes: u64,
    /// Bytes that the inner allocator can give for the blocks; `None` = unknown.
    pub usable_bytes: Option<u64>,
    /// Bytes of the blocks that no value was seen in: spare capacity and what containers keep for
    /// themselves.
    pub slack_bytes: u64,
    /// Blocks met again that another value already owned, each time.
    pub shared_blocks: u64,
    /// Their bytes.
    pub shared_bytes: u64,
    /// Bytes more than in the footprint before it of the same label and kind.
    pub change_bytes: Option<i64>,
    /// The estimate of the same label that is nearest in time.
    pub estimate: Option<Estimate>,
    /// Its places, parents before children; one in an estimate.
    pub places: Vec<Place>,
}

/// An estimate held against the exact figure. The names are the keys in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Estimate {
    /// Heap bytes it says.
    pub bytes: u64,
    /// Time of the estimate, nanoseconds after the start.
    pub time_ns: u64,
    /// Its bytes less the exact ones.
    pub difference_bytes: i64,
    /// The difference as a part of the exact bytes; `None` if those are 0.
    pub difference: Option<f64>,
}

/// A place in a measured value.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Place {
    /// The recorded node.
    pub node: FootprintNode,
    /// The place around it; the first has none.
    pub parent: Option<usize>,
    /// From the root: `Fleet.vessels[].name`.
    pub path: String,
    /// Its last step.
    pub step: String,
    /// Bytes of its blocks and of those of the places inside it.
    pub with_inner_bytes: u64,
}

/// A measured value of a type, with what deepsize estimates of it. The names are the keys in JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Estimated {
    /// The label it was measured under, as recorded.
    #[serde(rename = "footprint")]
    pub label: String,
    /// Heap bytes that were found.
    pub bytes: u64,
    /// The estimate of the same label nearest in time; in JSON its bytes alone.
    #[serde(rename = "estimate_bytes", serialize_with = "bytes")]
    pub estimate: Estimate,
}

fn bytes<S: Serializer>(estimate: &Estimate, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(estimate.bytes)
}

impl Estimated {
    /// For people: `footprint fleet: 5.2 KiB exactly, 4.9 KiB by deepsize's estimate (-5.8 %)`.
    pub fn text(&self) -> String {
        let difference = self.estimate.difference;
        let difference =
            difference.map_or_else(String::new, |part| format!(" ({})", signed_percent(part)));
        format!(
            "footprint {}: {} exactly, {} by deepsize's estimate{difference}",
            printable(&self.label),
            Bytes(self.bytes),
            Bytes(self.estimate.bytes),
        )
    }
}

impl Profile {
    /// The newest value of a type that was measured and estimated.
    pub fn estimated(&self, of: TypeId) -> Option<Estimated> {
        let of_type = |measured: &&Measured| measured.footprint.value_type == Some(of);
        let mut newest = self.measured().iter().rev().filter(of_type);
        newest.find_map(|measured| {
            Some(Estimated {
                label: measured.footprint.label.clone(),
                bytes: measured.bytes,
                estimate: measured.estimate?,
            })
        })
    }
}

/// All footprints of a profile, oldest first.
pub(super) fn measured(profile: &Profile) -> Vec<Measured> {
    let mut all: Vec<Measured> = profile
        .footprints
        .iter()
        .map(|footprint| sum_up(profile, footprint))
        .collect();
    all.sort_by_key(|measured| measured.footprint.time_ns);
    let mut newest: HashMap<(String, bool), usize> = HashMap::new();
    for index in 0..all.len() {
        let footprint = &all[index].footprint;
        let before = newest.insert((footprint.label.clone(), footprint.estimate), index);
        if let Some(before) = before {
            all[index].number = all[before].number + 1;
            all[index].change_bytes = Some(signed(all[index].bytes, all[before].bytes));
        }
    }
    compare(&mut all);
    all
}

/// Puts each estimate beside the exact footprint of its label that is nearest in time; an exact one
/// takes the nearest of those.
fn compare(all: &mut [Measured]) {
    // By time, as `all` is.
    let mut exact_of: HashMap<String, Vec<usize>> = HashMap::new();
    for (index, measured) in all.iter().enumerate() {
        if !measured.footprint.estimate {
            let label = measured.footprint.label.clone();
            exact_of.entry(label).or_default().push(index);
        }
    }
    for index in 0..all.len() {
        let estimate = &all[index].footprint;
        let Some(exact) = exact_of.get(&estimate.label).filter(|_| estimate.estimate) else {
            continue;
        };
        let time_of = |index: usize| all[index].footprint.time_ns;
        let apart = |index: usize| time_of(index).abs_diff(estimate.time_ns);
        let later = exact.partition_point(|&index| time_of(index) < estimate.time_ns);
        let beside = [later.checked_sub(1), Some(later)];
        let beside = beside.into_iter().flatten().filter_map(|at| exact.get(at));
        let Some(&nearest) = beside.min_by_key(|&&index| apart(index)) else {
            continue;
        };
        let closer = all[nearest]
            .estimate
            .is_none_or(|known| apart(nearest) < known.time_ns.abs_diff(time_of(nearest)));
        if closer {
            let (bytes, exact_bytes) = (all[index].bytes, all[nearest].bytes);
            let difference_bytes = signed(bytes, exact_bytes);
            all[nearest].estimate = Some(Estimate {
                bytes,
                time_ns: estimate.time_ns,
                difference_bytes,
                difference: (exact_bytes > 0).then(|| difference_bytes as f64 / exact_bytes as f64),
            });
        }
    }
}

/// `a - b`, saturating.
fn signed(a: u64, b: u64) -> i64 {
    let difference = i128::from(a) - i128::from(b);
    difference.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

fn sum_up(profile: &Profile, footprint: &Footprint) -> Measured {
    let nodes = &footprint.nodes;
    let sum =
        |figure: fn(&FootprintNode) -> u64| nodes.iter().map(figure).fold(0, u64::saturating_add);
    let tells_usable =
        |node: &FootprintNode| node.figures.blocks == 0 || node.figures.usable_bytes > 0;
    let usable_bytes = sum(|node| node.figures.usable_bytes);
    let places = places(profile, footprint);
    Measured {
        footprint: Footprint {
            nodes: Vec::new(),
            label: footprint.label.clone(),
            ..*footprint
        },
        number: 1,
        bytes: sum(|node| node.figures.block_bytes),
        blocks: sum(|node| node.figures.blocks),
        inline_bytes: nodes.first().map_or(0, |node| node.figures.inline_bytes),
        usable_bytes: (usable_bytes > 0 && nodes.iter().all(tells_usable)).then_some(usable_bytes),
        slack_bytes: sum(FootprintNode::slack_bytes),
        shared_blocks: sum(|node| node.figures.shared_blocks),
        shared_bytes: sum(|node| node.figures.shared_bytes),
        change_bytes: None,
        estimate: None,
        places,
    }
}

fn places(profile: &Profile, footprint: &Footprint) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::with_capacity(footprint.nodes.len());
    for (index, node) in footprint.nodes.iter().enumerate() {
        // Parents come before children; what only a damaged recording has hangs at the first.
        let parent = match node.parent as usize {
            _ if index == 0 => None,
            parent if parent < index => Some(parent),
            _ => Some(0),
        };
        let type_name = profile
            .named_type(node.value_type)
            .map(|name| name.short.as_str());
        let step = node.kind.step(&node.name, type_name);
        let path = inside(parent.map_or("", |parent| &places[parent].path), &step);
        places.push(Place {
            node: node.clone(),
            parent,
            path,
            step,
            with_inner_bytes: node.figures.block_bytes,
        });
    }
    for index in (1..places.len()).rev() {
        let bytes = places[index].with_inner_bytes;
        if let Some(parent) = places[index].parent {
            let outer = &mut places[parent].with_inner_bytes;
            *outer = outer.saturating_add(bytes);
        }
    }
    places
}
