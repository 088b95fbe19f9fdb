//! JSON of speedscope: one sampled profile a measure, a sample for each stack that has any of it.

use std::collections::HashMap;
use std::io::{self, Write};

use serde::Serialize;

use super::{Options, json_error, names, notes};
use crate::calltree::{self, CallTree, Label, NodeId};
use crate::interned::Interned;
use crate::profile::{Measure, Profile};

#[derive(Serialize)]
struct File<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    exporter: &'static str,
    name: String,
    #[serde(rename = "activeProfileIndex")]
    active_profile_index: usize,
    shared: Shared<'a>,
    profiles: Vec<Sampled>,
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
struct Sampled {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'static str,
    unit: &'static str,
    #[serde(rename = "startValue")]
    start_value: u64,
    #[serde(rename = "endValue")]
    end_value: u64,
    /// Frames, outermost first.
    samples: Vec<Vec<u32>>,
    weights: Vec<u64>,
}

pub(super) fn write(
    profile: &Profile,
    options: &Options<'_>,
    mut out: impl Write,
) -> io::Result<()> {
    let mut tree = CallTree::build(
        profile,
        &calltree::Options {
            frames: options.frames,
            ..calltree::Options::default()
        },
    );
    tree.sort(options.measure);
    let mut labels = Interned::new();
    let mut name = names::program(profile);
    for note in notes(profile) {
        name.push_str(&format!("; {note}"));
    }
    // The measure that was asked for is shown first. Others of which there is nothing would be empty pictures.
    let others = Measure::ALL
        .into_iter()
        .filter(|&measure| measure != options.measure && measure.of(tree.total(NodeId::ROOT)) > 0);
    let profiles = [options.measure]
        .into_iter()
        .chain(others)
        .map(|measure| sampled(&tree, measure, &mut labels))
        .collect();
    let places = places(profile, &tree);
    let frame = |label: &Label| {
        let (file, line) = places.get(label).cloned().unwrap_or_default();
        FrameJson {
            name: names::name(profile, *label),
            file,
            line,
        }
    };
    let frames: Vec<FrameJson> = labels.values.iter().map(frame).collect();
    let file = File {
        schema: "https://www.speedscope.app/file-format-schema.json",
        exporter: concat!("heapglass ", env!("CARGO_PKG_VERSION")),
        name,
        active_profile_index: 0,
        shared: Shared { frames: &frames },
        profiles,
    };
    serde_json::to_writer(&mut out, &file).map_err(json_error)?;
    out.write_all(b"\n")?;
    out.flush()
}

/// The stacks that have any of a measure, in the order of the tree.
fn sampled(tree: &CallTree, measure: Measure, labels: &mut Interned<Label>) -> Sampled {
    let mut samples = Vec::new();
    let mut weights = Vec::new();
    let mut todo = vec![NodeId::ROOT];
    while let Some(id) = todo.pop() {
        todo.extend(tree.children(id).iter().rev());
        let own = measure.of(tree.own(id));
        if own > 0 {
            let path = tree.path(id).into_iter();
            samples.push(path.map(|id| labels.number(tree.node(id).label)).collect());
            weights.push(own);
        }
    }
    Sampled {
        kind: "sampled",
        name: measure.title(),
        unit: match measure.is_bytes() {
            true => "bytes",
            false => "none",
        },
        start_value: 0,
        end_value: weights.iter().copied().fold(0, u64::saturating_add),
        samples,
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
