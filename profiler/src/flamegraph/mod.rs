//! The flamegraph: one SVG of a profile by inferno, to look at in any browser and to share: by stack, field, type or
//! arena.
//! Width is the measure.
//!
//! inferno lays out, draws and brings the script (click to zoom, Ctrl-F to search); this module chooses the frames
//! (`prune`), their colours ([`palette`]) and their texts (`captions`, put in by `relabel` while inferno writes).
//! Must never hide: what is too narrow or too deep to draw stays in the width of its caller and is counted in the
//! subtitle. Must never let a recorded name through unescaped, or refer to anything outside the file.

mod captions;
mod legend;
pub mod palette;
mod prune;
mod relabel;
#[cfg(test)]
mod tests;

use std::io::{self, Write};

use inferno::flamegraph::color::{BackgroundColor, Color, PaletteMap};
use inferno::flamegraph::{Direction, TextTruncateDirection, from_lines};

pub use crate::calltree::By;
use crate::calltree::{self, CallTree, NodeId};
use crate::profile::{Frames, Measure, Profile, ScopeId};

/// What to draw.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// What the frames are.
    pub by: By,
    /// The measure that widths stand for.
    pub measure: Measure,
    /// Allocations at the top, their callers below.
    pub inverted: bool,
    /// Which frames of a stack are drawn.
    pub frames: Frames,
    /// Show phases as the outermost frames.
    pub scopes: bool,
    /// Only this phase or field and what lies inside it.
    pub within: Option<ScopeId>,
    /// By arena: only this one, an index into [`Profile::arenas`].
    pub arena: Option<usize>,
}

/// Whether there is a picture by arena of that measure: of what was ever handed out, and of what is live.
pub fn is_of_arenas(measure: Measure) -> bool {
    matches!(measure, Measure::Live | Measure::Total)
}

/// Why there is no picture by arena of other measures.
pub const NOT_OF_ARENAS: &str = "inside arenas there are bytes handed out (--measure total) and live ones (--measure \
    live); no other measure is kept for them";

/// What was drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drawn {
    /// The width of the whole picture, in units of the measure.
    pub total: u64,
    /// Frames drawn, the root left out.
    pub frames: usize,
    /// Frames too narrow or too deep to draw; their callers hold their width.
    pub elided: usize,
}

/// Writes the flamegraph of `profile`. A measure of which there is nothing gives a picture that says so.
///
/// # Errors
/// What `out` returned (a broken pipe keeps its kind); `InvalidData` when the figures add up to more than 64 bits,
/// which only a damaged recording does; `InvalidInput` by arena and a measure that is not of [arenas](is_of_arenas).
pub fn write_svg(profile: &Profile, options: &Options, mut out: impl Write) -> io::Result<Drawn> {
    if options.by == By::Arena && !is_of_arenas(options.measure) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, NOT_OF_ARENAS));
    }
    let mut tree = CallTree::build(
        profile,
        &calltree::Options {
            by: options.by,
            arena: options.arena,
            measure: options.measure,
            inverted: options.inverted,
            frames: options.frames,
            scopes: options.scopes,
            within: options.within,
        },
    );
    tree.sort(options.measure);
    let total = options.measure.of(tree.total(NodeId::ROOT));
    if total == 0 {
        write_empty(profile, options, &mut out)?;
        return Ok(Drawn {
            total,
            frames: 0,
            elided: 0,
        });
    }
    let pruned = prune::prune(&tree, options.measure)?;
    let mut colors = PaletteMap::default();
    // inferno calls the root "".
    colors.insert("", color(palette::ROOT));
    colors.insert(prune::REST, color(palette::ROOT));
    for &id in &pruned.kept {
        colors.insert(id.0, color(palette::of_node(&tree, id, profile)));
    }
    let drawn = Drawn {
        total,
        frames: pruned.kept.len(),
        elided: pruned.elided(),
    };
    let mut inferno = inferno::flamegraph::Options::default();
    inferno.title = captions::title(profile, options, total);
    inferno.subtitle = Some(captions::subtitle(profile, options, &pruned));
    inferno.text_truncate_direction = TextTruncateDirection::Right;
    inferno.name_type = "Frame:".to_owned();
    inferno.count_name = captions::what(options).to_owned();
    inferno.bgcolors = Some(BackgroundColor::Flat(Color {
        r: 0xfd,
        g: 0xfc,
        b: 0xf9,
    }));
    inferno.palette_map = Some(&mut colors);
    inferno.direction = if options.inverted {
        Direction::Inverted
    } else {
        Direction::Straight
    };
    // Pruned here, where what is left out can be counted.
    inferno.min_width = 0.0;
    // Keeps the order of the lines (reversed), so that the widest frames stand left. Sorting by name would tear
    // `main` apart when `main::{{closure}}` sorts between its own line and those of its callees.
    inferno.flame_chart = true;
    let caption = |token: &str| {
        let id = token
            .parse::<u32>()
            .ok()
            .map(NodeId)
            .filter(|id| (id.0 as usize) < tree.len())?;
        Some(captions::frame(&tree, id, profile, options, total))
    };
    let root = captions::frame(&tree, NodeId::ROOT, profile, options, total);
    let mut relabel = relabel::Relabel::new(
        &mut out,
        root,
        caption,
        (options.by != By::Stack).then(legend::svg),
    );
    from_lines(
        &mut inferno,
        pruned.lines.iter().rev().map(String::as_str),
        &mut relabel,
    )?;
    relabel.finish()?;
    out.flush()?;
    Ok(drawn)
}

fn color((r, g, b): (u8, u8, u8)) -> Color {
    Color { r, g, b }
}

/// inferno refuses to draw nothing; a program that never reallocated still deserves an answer.
fn write_empty(profile: &Profile, options: &Options, out: &mut impl Write) -> io::Result<()> {
    let title = relabel::escape(&captions::title(profile, options, 0)).into_owned();
    writeln!(
        out,
        r##"<?xml version="1.0" standalone="no"?>
<svg version="1.1" width="1200" height="90" viewBox="0 0 1200 90" xmlns="http://www.w3.org/2000/svg">
<rect width="100%" height="100%" fill="#fdfcf9"/>
<g id="frames" total_samples="0" font-family="monospace" text-anchor="middle">
<text id="title" x="50%" y="30" font-size="17">{title}</text>
<text id="subtitle" x="50%" y="60" font-size="12">{}</text>
</g>
</svg>"##,
        relabel::escape(&captions::nothing(profile, options))
    )?;
    out.flush()
}
