//! The flamegraph: one SVG of a profile by inferno, to look at in any browser and to share: by
//! stack, field, type or arena. Width is the measure. Of a snapshot it shows who holds the heap.
//! The root is at the top, as in the page and in the terminal UI: a reader starts there, and a deep
//! stack grows out of sight at its end.
//!
//! inferno lays out, draws and brings the script (click to zoom, Ctrl-F to search); this module
//! chooses the frames (`prune`), their colours ([`palette`]) and their texts (`captions`, put in by
//! `relabel`). This module must never hide: what is too narrow or too deep to draw stays in the
//! width of its caller and is counted in the subtitle. This module must never let a recorded name
//! through unescaped, or refer to anything outside the file.
//!
//! ```
//! use heapglass_profiler::flamegraph::write_svg;
//! use heapglass_profiler::question::Question;
//! use heapglass_profiler::table::By;
//!
//! # let profile = heapglass_fixture::real("shop-profiled");
//! let question = Question {
//!     by: By::Type,
//!     ..Question::default()
//! };
//! let mut svg = Vec::new();
//! let drawn = write_svg(&profile, &question, &mut svg)?;
//! assert_eq!(drawn.total, profile.totals().peak_bytes);
//! assert!(svg.starts_with(b"<?xml"));
//! # Ok::<(), std::io::Error>(())
//! ```

mod captions;
mod draw;
mod holders;
mod legend;
pub mod palette;
mod prune;
mod relabel;

use std::io::{self, Write};

use crate::calltree::{CallTree, CallTreeOptions, Levels, NodeId};
use crate::invalid::invalid;
use crate::profile::{Measure, Profile};
use crate::question::{Form, Kind, Question, Tree, check, tree};
use crate::table::By;

pub(crate) use captions::{Names, names, shorten, to_the_byte, without_round};
pub(crate) use draw::{Picture, write_empty};
pub(crate) use holders::HolderTree;
pub(crate) use legend::{PLACE, entries as legend_entries, squares};
pub(crate) use prune::{MAX_DEPTH, Widths, prune};
pub(crate) use relabel::Caption;
pub use relabel::escape;

/// Returns `true` if there is a picture by arena of that measure.
pub fn is_of_arenas(measure: Measure) -> bool {
    check(Kind::Counters, Form::Tree, By::Arena, measure).is_ok()
}

/// Returns the measure of a picture by arena, of all arenas or of one (index into
/// [`Profile::arenas`]): the wanted one if there is a picture of it, else the bytes that the arenas
/// hold, or what they allocated if they hold nothing.
pub fn measure_of_arenas(profile: &Profile, only: Option<usize>, wanted: Measure) -> Measure {
    if is_of_arenas(wanted) {
        return wanted;
    }
    let mut arenas = profile.arenas().iter().enumerate();
    let holds = arenas.any(|(index, arena)| {
        only.is_none_or(|only| only == index) && arena.figures.allocated_bytes > 0
    });
    if holds { Measure::Live } else { Measure::Total }
}

/// The totals of a picture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PictureTotals {
    /// The width of the whole picture, in units of the measure.
    pub total: u64,
    /// Frames drawn, the root left out.
    pub frames: usize,
    /// Frames too narrow or too deep to draw; their callers hold their width.
    pub elided: usize,
}

/// Writes the flamegraph that answers a question: widths stand for its measure. A measure of which
/// there is nothing gives a picture that says so.
///
/// # Errors
/// Returns the errors of `out` (a broken pipe keeps its kind); `InvalidData` when the figures add
/// up to more than 64 bits, which only a damaged recording does; `InvalidInput` if the question
/// [has no answer](crate::question::RULES).
pub fn write_svg(
    profile: &Profile,
    question: &Question<'_>,
    out: impl Write,
) -> io::Result<PictureTotals> {
    match tree(profile, question).map_err(invalid)? {
        Tree::Counted(tree, options) => {
            write_counted(profile, &tree, (&options, question.shape.upwards), out)
        }
        Tree::Holders(at, rows) => {
            let drawn = (question.measure, question.shape.upwards);
            holders::write(profile, rows, at, drawn, out)
        }
    }
}

fn write_counted(
    profile: &Profile,
    tree: &CallTree,
    (options, upwards): (&CallTreeOptions, bool),
    out: impl Write,
) -> io::Result<PictureTotals> {
    let root = tree.total(NodeId::ROOT);
    let title = captions::title(profile, options, root);
    let total = options.measure.of(root);
    if total == 0 {
        return write_empty(&title, &captions::nothing(profile, options), out);
    }
    let widths = (tree, options.measure);
    let pruned = prune(&widths)?;
    let picture = Picture {
        title,
        subtitle: captions::subtitle(profile, options, upwards, &pruned),
        count_name: captions::what(profile, options),
        upwards,
        legend: (options.levels != Levels::Stack).then(legend::svg),
    };
    let color = |id: NodeId| palette::of_node(tree, id, profile);
    let caption = |id: NodeId| captions::frame(tree, id, profile, options, total);
    picture.draw(&widths, &pruned, color, caption, out)
}
