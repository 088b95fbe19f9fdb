//! A comparison of two recordings or of two snapshots as a flamegraph in two colours: red where the
//! second side has more, blue where it has less.
//!
//! A frame is as wide as the larger side of each path in it, so that removed frames are visible
//! too. The picture must never hide bytes: a frame too narrow to draw stays in the width of its
//! caller and is counted.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::held::HeldDiff;
use super::merged::{MatchedPaths, MergedTree};
use super::{Diff, median_recording, palette};
use crate::calltree::{CallTree, CallTreeOptions, Levels, NodeId};
use crate::flamegraph::{
    Caption, PLACE, Picture, PictureTotals, prune, shorten, squares, to_the_byte, without_round,
    write_empty,
};
use crate::invalid::invalid;
use crate::profile::{Frames, Measure};
use crate::question::{Form, Kind, check, levels};
use crate::table::By;
use crate::units::{Count, printable};

pub(super) fn write_counted(diff: &Diff<'_>, out: impl Write) -> io::Result<PictureTotals> {
    let measure = diff.options.measure;
    let levels = levels(diff.options.by);
    if levels == Levels::Arena {
        let answer = check(Kind::Counters, Form::Tree, By::Arena, measure);
        answer.map_err(invalid)?;
    }
    let none = || invalid("a side without recordings");
    let base = median_recording(&diff.base, measure).ok_or_else(none)?;
    let new = median_recording(&diff.new, measure).ok_or_else(none)?;
    let options = CallTreeOptions {
        levels,
        measure,
        frames: Frames::Folded,
        ..CallTreeOptions::default()
    };
    let trees = [base, new].map(|one| CallTree::build(one.profile, &options));
    let sides = [(&trees[0], base.profile), (&trees[1], new.profile)];
    let merged = MatchedPaths::new(sides).by(measure);
    let names = [base.name, new.name].map(short_name);
    let mut note = "";
    if diff.base.len() > 1 || diff.new.len() > 1 {
        note = "; of each side the recording with the median total";
    }
    let title = measure.title_in(diff.naming_state());
    draw(&merged, names, measure, title, note, out)
}

pub(super) fn write_held(diff: &HeldDiff<'_>, out: impl Write) -> io::Result<PictureTotals> {
    let merged = MergedTree::of_holders(diff.sides, diff.by, diff.measure).map_err(invalid)?;
    let names = diff
        .sides
        .map(|side| format!("{} {}", short_name(side.name), shorten(&side.at.name(), 24)));
    let mut note = "";
    if !diff.warnings.is_empty() {
        note = "; bounded or lost: see the text";
    }
    draw(
        &merged,
        names,
        Measure::Live,
        diff.measure.title(),
        note,
        out,
    )
}

/// Draws two sides: `measure` says how figures are spelled, `title_of_measure` what they are.
fn draw(
    merged: &MergedTree,
    names: [String; 2],
    measure: Measure,
    title_of_measure: &'static str,
    note: &str,
    out: impl Write,
) -> io::Result<PictureTotals> {
    let root = merged.node(NodeId::ROOT);
    let title = format!(
        "{} -> {}: {title_of_measure}, {} -> {}",
        names[0],
        names[1],
        measure.amount(root.totals[0]),
        measure.amount(root.totals[1])
    );
    if root.totals == [0, 0] {
        let why = format!("nothing to draw: neither side holds {title_of_measure}");
        return write_empty(&title, &why, out);
    }
    let pruned = prune(merged)?;
    let differences = pruned.kept.iter().map(|&id| merged.node(id).difference());
    let most = differences.map(i128::unsigned_abs).max().unwrap_or(0);
    let mut subtitle = format!("{PLACE}; a frame is as wide as the larger side");
    if pruned.elided() > 0 {
        let elided = Count(pruned.elided() as u64);
        // Infallible: writing to a String.
        let _ = write!(subtitle, "; too small to draw: {elided}");
    }
    subtitle.push_str(note);
    let picture = Picture {
        title,
        subtitle,
        count_name: title_of_measure,
        upwards: false,
        legend: Some(squares([("more", palette::MORE), ("less", palette::LESS)])),
    };
    let color = |id: NodeId| palette::of_difference(merged.node(id).difference(), most);
    let caption = |id: NodeId| caption(merged, id, measure);
    picture.draw(merged, &pruned, color, caption, out)
}

/// `Vec::push +1.8 MiB (12.3 MiB -> 14.1 MiB; alloc::vec::Vec<T,A>::push)`: the last bracket
/// belongs to inferno's script, so no other round one stands in it.
fn caption(merged: &MergedTree, id: NodeId, measure: Measure) -> Caption {
    let node = merged.node(id);
    let name = printable(merged.name(id).trim());
    let label = if name.contains('(') {
        name.clone()
    } else {
        printable(merged.short(id).trim())
    };
    let [base, new] = node.totals;
    let sized = format!("{label} {}", measure.difference(node.difference()));
    let mut title = format!(
        "{sized} ({} -> {}",
        exact(measure, base),
        exact(measure, new)
    );
    if label != name {
        // Infallible: writing to a String.
        let _ = write!(title, "; {}", without_round(&name));
    }
    title.push(')');
    Caption {
        title,
        label: sized,
    }
}

/// To the byte: `12,345,678 bytes = 11.8 MiB`.
fn exact(measure: Measure, value: u64) -> String {
    if measure.is_bytes() && value >= 1024 {
        to_the_byte(value)
    } else {
        measure.amount(value)
    }
}

/// Returns the end of a path.
pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Returns the end of a path, short enough for a title.
fn short_name(path: &str) -> String {
    shorten(&printable(file_name(path)), 40)
}
