//! JSON of speedscope: one sampled profile for each measure, one sample for each stack that has any
//! of it.

use std::collections::HashMap;
use std::io::{self, Write};

use serde::{Serialize, Serializer};

use super::{ReportOptions, tree, with_notes, write_line};
use crate::calltree::{CallTree, NodeId};
use crate::pprof::names;
use crate::profile::{Label, Measure, Profile};
use crate::table::program_name;
use heapglass_profile::internal::Interned;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct File<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    exporter: &'static str,
    name: String,
    active_profile_index: usize,
    shared: Shared<'a>,
    profiles: Vec<Sampled<'a>>,
}

#[derive(Serialize)]
struct Shared<'a> {
    frames: &'a [FrameJson],
}

#[derive(Serialize)]
struct FrameJson {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Sampled<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'static str,
    unit: &'static str,
    start_value: u64,
    end_value: u64,
    samples: Samples<'a>,
    weights: Vec<u64>,
}

/// The frames of each stack, outermost first; put together as they are written.
struct Samples<'a> {
    tree: &'a CallTree,
    /// The frame of each node.
    frames: &'a [u32],
    ends: Vec<NodeId>,
}

impl Serialize for Samples<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let frame = |id: NodeId| self.frames[id.0 as usize];
        let stack =
            |&end: &NodeId| -> Vec<u32> { self.tree.path(end).into_iter().map(frame).collect() };
        serializer.collect_seq(self.ends.iter().map(stack))
    }
}

pub(super) fn write(
    profile: &Profile,
    options: &ReportOptions<'_>,
    out: impl Write,
) -> io::Result<()> {
    let tree = tree(profile, options);
    let mut labels = Interned::new();
    // The root is no frame: nothing asks for its number.
    let below = tree
        .ids()
        .skip(1)
        .map(|id| labels.number(tree.node(id).label));
    let numbers: Vec<u32> = std::iter::once(0).chain(below).collect();
    let places = places(profile, &tree);
    let frame = |label: &Label| {
        let (file, line) = places.get(label).cloned().unwrap_or_default();
        let name = names::name(profile, *label);
        FrameJson { name, file, line }
    };
    let frames: Vec<FrameJson> = labels.values.iter().map(frame).collect();
    // The measure that was asked for is shown first. Others of which there is nothing would be
    // empty pictures.
    let others = Measure::COUNTED
        .into_iter()
        .filter(|&measure| measure != options.measure && measure.of(tree.total(NodeId::ROOT)) > 0);
    let measures = [options.measure].into_iter().chain(others);
    let file = File {
        schema: "https://www.speedscope.app/file-format-schema.json",
        exporter: concat!("heapglass ", env!("CARGO_PKG_VERSION")),
        name: with_notes(profile, &format!("{}.", program_name(profile))),
        active_profile_index: 0,
        shared: Shared { frames: &frames },
        profiles: measures
            .map(|measure| Sampled {
                name: measure.title_in(profile.process().state),
                ..sampled(&tree, measure, &numbers)
            })
            .collect(),
    };
    write_line(&file, out)
}

/// The stacks that have any of a measure, in the order of the tree.
fn sampled<'a>(tree: &'a CallTree, measure: Measure, frames: &'a [u32]) -> Sampled<'a> {
    let own = |id: NodeId| measure.of(tree.own(id));
    let ends: Vec<NodeId> = tree.preorder().filter(|&id| own(id) > 0).collect();
    let weights: Vec<u64> = ends.iter().map(|&id| own(id)).collect();
    Sampled {
        kind: "sampled",
        name: measure.title(),
        unit: if measure.is_bytes() { "bytes" } else { "none" },
        start_value: 0,
        end_value: weights.iter().copied().fold(0, u64::saturating_add),
        samples: Samples { tree, frames, ends },
        weights,
    }
}

/// The source of each function: its file, and its line where it was met at one only.
fn places(profile: &Profile, tree: &CallTree) -> HashMap<Label, (Option<String>, Option<u32>)> {
    let mut places = HashMap::new();
    for id in tree.ids() {
        let node = tree.node(id);
        if let Label::Function(_) = node.label
            && let Some(frame) = node.frame
            && let Some(frame) = profile.frames().get(frame.0 as usize)
        {
            let line = frame.line.filter(|_| !node.several_places);
            places
                .entry(node.label)
                .and_modify(|(_, known): &mut (_, Option<u32>)| {
                    *known = known.filter(|known| Some(*known) == line);
                })
                .or_insert_with(|| (names::file(frame), line));
        }
    }
    places
}
