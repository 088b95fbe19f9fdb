//! The flamegraph: one SVG of a profile by inferno, to look at in any browser and to share: by
//! stack, field, type or arena. Width is the measure. [`write_holders_svg`] draws a snapshot.
//!
//! inferno lays out, draws and brings the script (click to zoom, Ctrl-F to search); this module
//! chooses the frames (`prune`), their colours ([`palette`]) and their texts (`captions`, put in by
//! `relabel`). This module must never hide: what is too narrow or too deep to draw stays in the
//! width of its caller and is counted in the subtitle. This module must never let a recorded name
//! through unescaped, or refer to anything outside the file.
//!
//! ```
//! use heapglass_profiler::calltree::{CallTreeOptions, Levels};
//! use heapglass_profiler::flamegraph::write_svg;
//!
//! # let profile = heapglass_fixture::real("shop-profiled");
//! let options = CallTreeOptions {
//!     levels: Levels::Type,
//!     ..CallTreeOptions::default()
//! };
//! let mut svg = Vec::new();
//! let drawn = write_svg(&profile, &options, &mut svg)?;
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
use crate::profile::{Measure, Profile};

pub(crate) use captions::{Names, names, shorten, to_the_byte, without_round};
pub(crate) use draw::{Picture, write_empty};
pub(crate) use holders::HolderTree;
pub use holders::write_holders_svg;
pub(crate) use legend::{PLACE, entries as legend_entries, squares};
pub(crate) use prune::{MAX_DEPTH, Widths, prune};
pub(crate) use relabel::Caption;
pub use relabel::escape;

/// Returns `true` if there is a picture by arena of that measure: of the bytes allocated in total,
/// and of the live bytes.
pub fn is_of_arenas(measure: Measure) -> bool {
    matches!(measure, Measure::Live | Measure::Total)
}

/// Explains why there is no picture by arena of other measures.
pub const NOT_OF_ARENAS: &str = "arenas have only two measures: bytes used in total (--measure total) \
    and live bytes (--measure live)";

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

/// Writes the flamegraph of `profile`: widths stand for the measure of `options`. A measure of
/// which there is nothing gives a picture that says so.
///
/// # Errors
/// Returns the errors of `out` (a broken pipe keeps its kind); `InvalidData` when the figures add
/// up to more than 64 bits, which only a damaged recording does; `InvalidInput` by arena and a
/// measure that is not of [arenas](is_of_arenas).
pub fn write_svg(
    profile: &Profile,
    options: &CallTreeOptions,
    out: impl Write,
) -> io::Result<PictureTotals> {
    if options.levels == Levels::Arena && !is_of_arenas(options.measure) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, NOT_OF_ARENAS));
    }
    let tree = CallTree::sorted(profile, options);
    let total = options.measure.of(tree.total(NodeId::ROOT));
    let title = captions::title(profile, options, total);
    if total == 0 {
        return write_empty(&title, &captions::nothing(profile, options), out);
    }
    let widths = (&tree, options.measure);
    let pruned = prune(&widths)?;
    let picture = Picture {
        title,
        subtitle: captions::subtitle(profile, options, &pruned),
        count_name: captions::what(profile, options),
        inverted: options.inverted,
        legend: (options.levels != Levels::Stack).then(legend::svg),
    };
    let color = |id: NodeId| palette::of_node(&tree, id, profile);
    let caption = |id: NodeId| captions::frame(&tree, id, profile, options, total);
    picture.draw(&widths, &pruned, color, caption, out)
}
