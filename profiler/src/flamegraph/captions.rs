//! The texts of the picture: title, subtitle and what a frame says under the pointer.
//!
//! Must say how exact the figures are and what is missing. The last bracket of a tooltip belongs to inferno's script,
//! which takes the label of a frame from what stands before it: no round bracket may stand inside.

use super::prune::Pruned;
use super::relabel::Caption;
use super::{Options, prune};
use crate::calltree::{CallTree, Label, NodeId};
use crate::profile::{Figures, Measure, Profile};
use crate::units::{Bytes, Count, Share, printable};

/// `cities: bytes live at the peak, 6,392,832 bytes = 6.1 MiB, exact`
pub(super) fn title(profile: &Profile, measure: Measure, total: u64) -> String {
    let program = printable(&profile.process.program);
    let program = if program.is_empty() {
        "heapglass".into()
    } else {
        shorten(&program, 40)
    };
    let total = if measure.is_bytes() {
        bytes(total)
    } else {
        Count(total).to_string()
    };
    format!(
        "{program}: {}, {total}, {}",
        measure.title(),
        exactness(profile, measure)
    )
}

fn exactness(profile: &Profile, measure: Measure) -> String {
    let capture = &profile.capture;
    if capture.mode != "exact" {
        return format!("estimated in mode {}", printable(&capture.mode));
    }
    if measure == Measure::Peak && capture.peak_error_bytes > 0 {
        return format!("within {}", Bytes(capture.peak_error_bytes));
    }
    let lost = &profile.lost;
    let live_is_off = lost.untracked_blocks > 0 && matches!(measure, Measure::Peak | Measure::Live);
    if live_is_off || lost.torn > 0 {
        "not exact, see the report".to_owned()
    } else {
        "exact".to_owned()
    }
}

pub(super) fn subtitle(profile: &Profile, options: &Options, pruned: &Pruned) -> String {
    let mut parts = Vec::new();
    if options.inverted {
        parts.push("inverted: allocations first, callers below them".to_owned());
    }
    if let Some(scope) = options
        .within
        .and_then(|scope| profile.scopes.get(scope.0 as usize))
        .filter(|s| !s.name.is_empty())
    {
        parts.push(format!(
            "only in phase {}",
            shorten(&printable(&scope.name), 40)
        ));
    }
    parts.push("warm: own code, grey-blue: std, grey: native, others: a colour a crate".to_owned());
    if pruned.narrow > 0 {
        let min = if options.measure.is_bytes() {
            Bytes(pruned.min).to_string()
        } else {
            Count(pruned.min).to_string()
        };
        parts.push(format!(
            "{} frames below {min} not drawn",
            Count(pruned.narrow as u64)
        ));
    }
    if pruned.deep > 0 {
        parts.push(format!(
            "{} deeper than {} not drawn",
            Count(pruned.deep as u64),
            prune::MAX_DEPTH
        ));
    }
    if profile.lost != crate::profile::Lost::default() {
        parts.push("something was lost or cut, see the report".to_owned());
    }
    parts.join("; ")
}

/// `alloc::vec::Vec<T,A>::push (6,392,832 bytes = 6.1 MiB, 12.3 %, 1,234 blocks; itself 0 B; src/main.rs:12)`
pub(super) fn frame(
    tree: &CallTree,
    id: NodeId,
    profile: &Profile,
    measure: Measure,
    whole: u64,
) -> Caption {
    let name = tree.name(id, profile);
    let label = printable(name.trim()).into_owned();
    let (total, own) = (tree.total(id), tree.own(id));
    let value = measure.of(total);
    let mut title = format!(
        "{label} ({}, {}",
        amounts(measure, total),
        Share::of(value, whole)
    );
    if id != NodeId::ROOT && measure.of(own) != value {
        let own = measure.of(own);
        let own = if measure.is_bytes() {
            Bytes(own).to_string()
        } else {
            Count(own).to_string()
        };
        title.push_str(&format!("; itself {own}"));
    }
    if let Label::Function(_) = tree.node(id).label
        && let Some(place) = place(tree, id, profile)
    {
        title.push_str("; ");
        // A round bracket in a path would end the label early.
        title.extend(place.chars().map(|c| match c {
            '(' => '[',
            ')' => ']',
            c => c,
        }));
    }
    title.push(')');
    Caption {
        title,
        label,
        share: Share::of(value, whole).fraction(),
    }
}

/// Bytes and blocks of a measure; for grows what they copied.
fn amounts(measure: Measure, figures: &Figures) -> String {
    let with = |n: u64, blocks: u64| format!("{}, {} blocks", bytes(n), Count(blocks));
    match measure {
        Measure::Peak => with(figures.peak_bytes, figures.peak_blocks),
        Measure::Live => with(figures.live_bytes, figures.live_blocks),
        Measure::Total => with(figures.total_bytes, figures.total_blocks),
        Measure::Temporary => with(figures.temporary_bytes, figures.temporary_blocks),
        Measure::Blocks => format!(
            "{} blocks, {}",
            Count(figures.total_blocks),
            bytes(figures.total_bytes)
        ),
        Measure::Copied => format!(
            "{}, {} grows",
            bytes(figures.copied_bytes),
            Count(figures.grows)
        ),
        Measure::Grows => format!(
            "{} grows, {} copied",
            Count(figures.grows),
            bytes(figures.copied_bytes)
        ),
    }
}

fn bytes(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        _ => format!("{} bytes = {}", Count(bytes), Bytes(bytes)),
    }
}

/// File and line when all of the node is at one, else the file's first.
fn place(tree: &CallTree, id: NodeId, profile: &Profile) -> Option<String> {
    let node = tree.node(id);
    let frame = profile.frames.get(node.frame?.0 as usize)?;
    let file = printable(frame.file.as_deref()?);
    match frame.line {
        Some(line) if node.several_places => Some(format!("{file}:{line} and other lines")),
        Some(line) => Some(format!("{file}:{line}")),
        None => Some(file.into_owned()),
    }
}

/// At most `chars` characters, the end replaced by dots.
fn shorten(text: &str, chars: usize) -> String {
    if text.chars().count() <= chars {
        return text.to_owned();
    }
    text.chars()
        .take(chars.saturating_sub(2))
        .chain("..".chars())
        .collect()
}
