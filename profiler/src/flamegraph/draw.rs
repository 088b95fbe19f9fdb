//! Drawing by inferno: the lines of a pruned tree become an SVG, with our colours and texts.

use std::io::{self, Write};

use inferno::flamegraph::color::{BackgroundColor, Color, PaletteMap};
use inferno::flamegraph::{Direction, TextTruncateDirection, from_lines};

use super::palette::{self, Rgb};
use super::prune::{self, PrunedTree};
use super::relabel::{self, Caption, Relabel};
use crate::calltree::NodeId;

/// What stands around the frames.
pub(crate) struct Picture {
    pub(crate) title: String,
    pub(crate) subtitle: String,
    /// What widths stand for.
    pub(crate) count_name: &'static str,
    /// Allocations at the top, their callers below.
    pub(crate) inverted: bool,
    /// What the [place](super::PLACE) in the subtitle is taken for, as elements.
    pub(crate) legend: Option<String>,
}

impl Picture {
    /// Writes the SVG; `caption` gives the texts of each of the `nodes` of the tree.
    pub(crate) fn draw(
        self,
        pruned: &PrunedTree,
        nodes: usize,
        colors: &mut PaletteMap,
        caption: impl Fn(NodeId) -> Caption,
        mut out: impl Write,
    ) -> io::Result<()> {
        let mut inferno = inferno::flamegraph::Options::default();
        inferno.title = self.title;
        inferno.subtitle = Some(self.subtitle);
        inferno.text_truncate_direction = TextTruncateDirection::Right;
        inferno.name_type = "Frame:".to_owned();
        inferno.count_name = self.count_name.to_owned();
        inferno.bgcolors = Some(BackgroundColor::Flat(color(palette::BACKGROUND)));
        inferno.palette_map = Some(colors);
        inferno.direction = match self.inverted {
            true => Direction::Inverted,
            false => Direction::Straight,
        };
        // Pruned before, where what is left out can be counted.
        inferno.min_width = 0.0;
        // Keeps the order of the lines, right to left, so that the widest frames stand left. Sorting by name would tear
        // `main` apart when `main::{{closure}}` sorts between its own line and those of its callees.
        inferno.flame_chart = true;
        let root = caption(NodeId::ROOT);
        let of_token = |token: &str| {
            let id = token.parse::<u32>().ok().map(NodeId);
            Some(caption(id.filter(|id| (id.0 as usize) < nodes)?))
        };
        let mut relabel = Relabel::new(&mut out, root, of_token, self.legend);
        let lines = pruned.lines.iter().map(String::as_str);
        from_lines(&mut inferno, lines, &mut relabel)?;
        relabel.finish()?;
        out.flush()
    }
}

/// The colours of the frames that are drawn.
pub(crate) fn colors(pruned: &PrunedTree, of_node: impl Fn(NodeId) -> Rgb) -> PaletteMap {
    let mut colors = PaletteMap::default();
    // inferno calls the root "".
    colors.insert("", color(palette::ROOT));
    colors.insert(prune::REST, color(palette::ROOT));
    for &id in &pruned.kept {
        colors.insert(id.0, color(of_node(id)));
    }
    colors
}

fn color((r, g, b): Rgb) -> Color {
    Color { r, g, b }
}

/// inferno refuses to draw nothing; a program that never reallocated still deserves an answer.
pub(crate) fn write_empty(title: &str, why: &str, out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        r##"<?xml version="1.0" standalone="no"?>
<svg version="1.1" width="1200" height="90" viewBox="0 0 1200 90" xmlns="http://www.w3.org/2000/svg">
<rect width="100%" height="100%" fill="#fdfcf9"/>
<g id="frames" total_samples="0" font-family="monospace" text-anchor="middle">
<text id="title" x="50%" y="30" font-size="17">{}</text>
<text id="subtitle" x="50%" y="60" font-size="12">{}</text>
</g>
</svg>"##,
        relabel::escape(title),
        relabel::escape(why)
    )?;
    out.flush()
}
