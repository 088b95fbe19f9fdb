//! JSON of speedscope: one sampled profile a measure, a sample for each stack that has any of it.

use std::collections::HashMap;
use std::io::{self, Write};

use serde::{Serialize, Serializer};

use super::{Options, names, tree, with_notes, write_line};
use crate::calltree::{CallTree, Label, NodeId};
use crate::profile::{Measure, Profile};
use crate::table::program_name;

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
    frames: &'a HashMap<Label, usize>,
    ends: Vec<NodeId>,
}

impl Serialize for Samples<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let frame = |id: NodeId| self.frames.get(&self.tree.node(id).label).copied();
        let stack = |&end: &NodeId| -> Vec<Option<usize>> {
            self.tree.path(end).into_iter().map(frame).collect()
        };
        serializer.collect_seq(self.ends.iter().map(stack))
    }
}

pub(super) fn write(profile: &Profile, options: &Options<'_>, out: impl Write) -> io::Result<()> {
    let mut tree = tree(profile, options);
    tree.sort(options.measure);
    let mut frames = Vec::new();
    let mut numbers: HashMap<Label, usize> = HashMap::new();
    let places = places(profile, &tree);
    for id in tree.ids().skip(1) {
        let label = tree.node(id).label;
        numbers.entry(label).or_insert_with(|| {
            let (file, line) = places.get(&label).cloned().unwrap_or_default();
            let name = names::name(profile, label);
            frames.push(FrameJson { name, file, line });
            frames.len() - 1
        });
    }
    // The measure that was asked for is shown first. Others of which there is nothing would be empty pictures.
    let others = Measure::ALL
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
            .map(|measure| sampled(&tree, measure, &numbers))
            .collect(),
    };
    write_line(&file, out)
}

/// The stacks that have any of a measure, in the order of the tree.
fn sampled<'a>(
    tree: &'a CallTree,
    measure: Measure,
    frames: &'a HashMap<Label, usize>,
) -> Sampled<'a> {
    let mut ends = Vec::new();
    let mut todo = vec![NodeId::ROOT];
    while let Some(id) = todo.pop() {
        todo.extend(tree.children(id).iter().rev());
        if measure.of(tree.own(id)) > 0 {
            ends.push(id);
        }
    }
    let weights: Vec<u64> = ends.iter().map(|&id| measure.of(tree.own(id))).collect();
    Sampled {
        kind: "sampled",
        name: measure.title(),
        unit: match measure.is_bytes() {
            true => "bytes",
            false => "none",
        },
        start_value: 0,
        end_value: weights.iter().copied().fold(0, u64::saturating_add),
        samples: Samples { tree, frames, ends },
        weights,
    }
}

/// The source of each function: its file, and its line where it was met at one only.
fn places(profile: &Profile, tree: &CallTree) -> HashMap<Label, (Option<String>, Option<u32>)> {
    let mut places: HashMap<Label, (Option<String>, Option<u32>)> = HashMap::new();
    for id in tree.ids() {
        let node = tree.node(id);
        let frame = node
            .frame
            .filter(|_| matches!(node.label, Label::Function(_)))
            .and_then(|frame| profile.frames.get(frame.0 as usize));
        let Some(frame) = frame else {
            continue;
        };
        let line = frame.line.filter(|_| !node.several_places);
        places
            .entry(node.label)
            .and_modify(|(_, known)| *known = known.filter(|known| Some(*known) == line))
            .or_insert_with(|| (names::file(frame), line));
    }
    places
}
