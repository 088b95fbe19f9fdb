//! The texts of the picture: title, subtitle and what a frame says under the pointer.
//!
//! This module must say how exact the figures are and what is missing. The last bracket of a
//! tooltip belongs to inferno's script, which takes the label of a frame from what stands before
//! it: no round bracket may stand inside.

use super::prune::PrunedTree;
use super::relabel::Caption;
use super::{CallTreeOptions, Levels, legend, prune};
use crate::calltree::{CallTree, NodeId};
use crate::profile::arenas::{HOW_TO_NAME, imbalance};
use crate::profile::{Figures, Label, Losses, Measure, Profile, State};
use crate::units::{Bytes, Count, counted, printable};

/// `cities: bytes live at the peak, 6,392,832 bytes = 6.1 MiB, exact`
pub(super) fn title(profile: &Profile, options: &CallTreeOptions, total: &Figures) -> String {
    let measure = options.measure;
    let program = match printable(&profile.process().program) {
        program if program.is_empty() => "heapglass".to_owned(),
        program => shorten(&program, 40),
    };
    let total = if measure.is_bytes() {
        to_the_byte(measure.of(total))
    } else if options.within.is_some() {
        measure.text(total)
    } else {
        profile.number(measure.key()).to_string()
    };
    let (what, exactness) = (what(profile, options), exactness(profile, options));
    format!("{program}: {what}, {total}, {exactness}")
}

/// Returns the name of the figure that widths show.
pub(super) fn what(profile: &Profile, options: &CallTreeOptions) -> &'static str {
    match (options.levels, options.measure, profile.process().state) {
        (Levels::Arena, Measure::Live, State::Running) => "allocated_bytes of arenas, live now",
        (Levels::Arena, Measure::Live, _) => "allocated_bytes of arenas, live at exit",
        (Levels::Arena, ..) => "bytes used inside arenas",
        (_, measure, state) => measure.title_in(state),
    }
}

/// Returns the text of an empty picture.
pub(super) fn nothing(profile: &Profile, options: &CallTreeOptions) -> String {
    if options.levels == Levels::Arena && profile.arenas().is_empty() {
        return HOW_TO_NAME.join(" ");
    }
    format!(
        "nothing to draw: the recording holds no {}",
        what(profile, options)
    )
}

fn exactness(profile: &Profile, options: &CallTreeOptions) -> String {
    let capture = profile.capture();
    let measure = options.measure;
    if options.levels == Levels::Arena {
        // Arenas count every piece, in every mode.
        let mut arenas = profile.arenas().iter();
        let broken = arenas.any(|arena| imbalance(arena).is_some());
        return exact(!broken && profile.lost().records == 0);
    }
    if !profile.process().state.is_recorded() {
        return "found in memory, not recorded".to_owned();
    }
    if !capture.is_exact() {
        return format!("estimated in mode {}", printable(&capture.mode));
    }
    if measure == Measure::Peak && capture.peak_error_bytes > 0 {
        return format!("within {}", Bytes(capture.peak_error_bytes));
    }
    let lost = profile.lost();
    let live_is_off = lost.untracked_blocks > 0 && matches!(measure, Measure::Peak | Measure::Live);
    exact(!live_is_off && lost.torn == 0 && lost.damaged == 0)
}

fn exact(is_exact: bool) -> String {
    if is_exact {
        "exact".to_owned()
    } else {
        "not exact, see the report".to_owned()
    }
}

/// Wider than this and the subtitle leaves a picture of 1,200 pixels.
pub(super) const SUBTITLE_CHARS: usize = 160;

pub(super) fn subtitle(
    profile: &Profile,
    options: &CallTreeOptions,
    upwards: bool,
    pruned: &PrunedTree,
) -> String {
    // The least important last: what does not fit is left out, never a loss.
    let mut parts = Vec::new();
    if *profile.lost() != Losses::default() {
        parts.push("something was lost or cut, see the report".to_owned());
    }
    if options.levels == Levels::Field && profile.fields().is_empty() {
        parts.push("no fields: no Profiled<T> was read".to_owned());
    }
    if profile.totals().samples().is_some() && !options.measure.is_bytes() {
        parts.push(
            "widths are estimates without bounds, because small blocks may be missing".to_owned(),
        );
    }
    if pruned.narrow > 0 {
        let min = options.measure.amount(pruned.min);
        let narrow = Count(pruned.narrow as u64);
        parts.push(format!("frames below {min} not drawn: {narrow}"));
    }
    if pruned.deep > 0 {
        let deep = Count(pruned.deep as u64);
        parts.push(format!("deeper than {}: {deep}", prune::MAX_DEPTH));
    }
    let scope = options.within;
    let scope = scope.and_then(|scope| profile.scopes().get(scope.0 as usize));
    if let Some(scope) = scope.filter(|scope| !scope.name.is_empty()) {
        let name = shorten(&printable(&scope.name), 30);
        parts.push(format!("only phase {name}"));
    }
    let (outer, colors) = match options.levels {
        Levels::Stack => (
            "callers",
            "own code warm, std grey-blue, native grey, dependencies a colour each",
        ),
        Levels::Field => ("outermost", "fields, then the type of their blocks"),
        Levels::Type => ("outermost", "types, then fields, then functions"),
        Levels::Arena => ("outermost", "inside blocks that are counted already"),
    };
    if options.inverted {
        let side = if upwards { "above" } else { "below" };
        parts.push(format!("{outer} {side}"));
    }
    parts.push(colors.to_owned());
    let has_legend = options.levels != Levels::Stack;
    let room = SUBTITLE_CHARS.saturating_sub(if has_legend { legend::chars() } else { 0 });
    let chars =
        |parts: &[String]| -> usize { parts.iter().map(|part| part.chars().count() + 2).sum() };
    while parts.len() > 1 && chars(&parts) > room {
        parts.pop();
    }
    if has_legend {
        parts.insert(0, legend::PLACE.to_owned());
    }
    parts.join("; ")
}

/// The names of a node, as recorded except that they are printable.
pub(crate) struct Names {
    /// The name for narrow cells.
    pub(crate) label: String,
    /// The whole name.
    pub(crate) name: String,
    /// File and line of a function.
    pub(crate) place: Option<String>,
}

/// Returns the names of a node.
pub(crate) fn names(tree: &CallTree, id: NodeId, profile: &Profile) -> Names {
    let place = match tree.node(id).label {
        Label::Function(_) | Label::Call(_) => place(tree, id, profile),
        _ => None,
    };
    Names {
        label: printable_name(&tree.short_name(id, profile)),
        name: printable_name(&tree.name(id, profile)),
        place,
    }
}

/// `Vec::push 6.1 MiB (6,392,832 bytes = 6.1 MiB, 1,234 blocks, 12.3 %; itself 0 B;
/// alloc::vec::Vec<T,A>::push; vec.rs:12)`
pub(super) fn frame(
    tree: &CallTree,
    id: NodeId,
    profile: &Profile,
    options: &CallTreeOptions,
    whole: u64,
) -> Caption {
    let measure = options.measure;
    let Names { label, name, place } = names(tree, id, profile);
    // The bracket that holds the figures may hold no other one, or the script would cut the label
    // there.
    let label = if options.levels == Levels::Stack && name.contains('(') {
        name.clone()
    } else {
        label
    };
    let (total, own) = (tree.total(id), measure.of(tree.own(id)));
    let value = measure.of(total);
    // Lower bounds have no shares.
    let share = measure.share(total, whole);
    let share = share.map_or_else(|| "-".to_owned(), |share| share.to_string());
    let sized = format!("{label} {}", measure.text(total));
    let mut title = vec![format!("{sized} ({}, {share}", amounts(measure, total))];
    if id != NodeId::ROOT && own != value && own > 0 {
        title.push(format!("itself {}", measure.text(tree.own(id))));
    }
    if label != name {
        title.push(without_round(&name));
    }
    let node = tree.node(id);
    if node.frames > 1 {
        let frames = counted(u64::from(node.frames), "frame");
        title.push(format!("stands for {frames}"));
    }
    if node.recursion > 1 {
        title.push(format!("recursion up to {} deep", node.recursion));
    }
    title.extend(place.map(|place| without_round(&place)));
    Caption {
        title: format!("{})", title.join("; ")),
        label: sized,
    }
}

/// Square brackets for round ones.
pub(crate) fn without_round(text: &str) -> String {
    text.replace('(', "[").replace(')', "]")
}

fn printable_name(name: &str) -> String {
    printable(name.trim()).into_owned()
}

/// Bytes and blocks of a measure; for grows what they copied.
fn amounts(measure: Measure, figures: &Figures) -> String {
    let copied = || to_the_byte(figures.copied_bytes);
    let grows = || figures.number("grows").of("grow");
    let blocks = || measure.blocks(figures).0.of("block");
    match measure {
        Measure::Peak | Measure::Live | Measure::Total | Measure::Temporary => {
            let bytes = to_the_byte(measure.of(figures));
            format!("{bytes}, {}", blocks())
        }
        Measure::Blocks => {
            let bytes = to_the_byte(figures.total_bytes);
            format!("{}, {bytes}", blocks())
        }
        Measure::Copied => format!("{}, {}", copied(), grows()),
        Measure::Grows => format!("{}, {} copied", grows(), copied()),
        // Frames of stacks have no such figure: see `holders`.
        Measure::Retained | Measure::Unused => String::new(),
    }
}

/// `6,392,832 bytes = 6.1 MiB`.
pub(crate) fn to_the_byte(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        _ => format!("{} bytes = {}", Count(bytes), Bytes(bytes)),
    }
}

/// File and line when all of the node is at one, else the file's first.
fn place(tree: &CallTree, id: NodeId, profile: &Profile) -> Option<String> {
    let node = tree.node(id);
    // A picture is for sharing: where the user keeps crates is nobody's business.
    let source = profile.source_of(node.frame?)?;
    let source = printable(&source);
    Some(if node.several_places {
        format!("{source} and other lines")
    } else {
        source.into_owned()
    })
}

/// At most `chars` characters, the end replaced by dots.
pub(crate) fn shorten(text: &str, chars: usize) -> String {
    if text.chars().count() <= chars {
        return text.to_owned();
    }
    let kept = text.chars().take(chars.saturating_sub(2));
    kept.chain("..".chars()).collect()
}
