//! Drawing by inferno: the lines of a pruned tree become an SVG, with our colours and texts.

use std::io::{self, Write};

use inferno::flamegraph::color::{BackgroundColor, Color, PaletteMap};
use inferno::flamegraph::{Direction, TextTruncateDirection, from_lines};

use super::PictureTotals;
use super::palette::{self, Rgb};
use super::prune::{self, PrunedTree, Widths};
use super::relabel::{Caption, DARK, escape, relabel};
use crate::calltree::NodeId;

/// Height of a frame: inferno's own where the picture is deep, more if there is space.
const FRAME_HEIGHTS: std::ops::RangeInclusive<usize> = 16..=24;

/// Frames get higher as long as all rows fit into this height.
const TARGET_HEIGHT: usize = 640;

/// The texts around the frames, and the direction of the picture.
pub(crate) struct Picture {
    pub(crate) title: String,
    pub(crate) subtitle: String,
    /// The name of the figure that widths show.
    pub(crate) count_name: &'static str,
    /// The root at the bottom, and what is inside it above.
    pub(crate) upwards: bool,
    /// The elements that replace the [place](super::PLACE) in the subtitle.
    pub(crate) legend: Option<String>,
}

impl Picture {
    /// Writes the SVG; `color` and `caption` give the colours and the texts of the nodes of `tree`.
    pub(crate) fn draw(
        self,
        tree: &impl Widths,
        pruned: &PrunedTree,
        color: impl Fn(NodeId) -> Rgb,
        caption: impl Fn(NodeId) -> Caption,
        mut out: impl Write,
    ) -> io::Result<PictureTotals> {
        let mut colors = PaletteMap::default();
        // inferno calls the root "".
        for name in ["", prune::REST] {
            colors.insert(name, inferno_color(palette::ROOT));
        }
        for &id in &pruned.kept {
            colors.insert(id.0, inferno_color(color(id)));
        }
        let mut inferno = inferno::flamegraph::Options::default();
        inferno.title = self.title;
        inferno.subtitle = Some(self.subtitle);
        inferno.text_truncate_direction = TextTruncateDirection::Right;
        inferno.name_type = "Frame:".to_owned();
        inferno.count_name = self.count_name.to_owned();
        inferno.bgcolors = Some(BackgroundColor::Flat(inferno_color(palette::BACKGROUND)));
        inferno.palette_map = Some(&mut colors);
        inferno.direction = if self.upwards {
            Direction::Straight
        } else {
            Direction::Inverted
        };
        inferno.frame_height = (TARGET_HEIGHT / (pruned.depth + 1))
            .clamp(*FRAME_HEIGHTS.start(), *FRAME_HEIGHTS.end());
        // Pruned before, where what is left out can be counted.
        inferno.min_width = 0.0;
        // Keeps the order of the lines, right to left, so that the widest frames stand left.
        // Sorting by name would tear `main` apart when `main::{{closure}}` sorts between its own
        // line and those of its callees.
        inferno.flame_chart = true;
        let lines = pruned.lines.iter().map(String::as_str);
        let mut svg = Vec::new();
        from_lines(&mut inferno, lines, &mut svg)?;
        let svg = String::from_utf8(svg).map_err(io::Error::other)?;
        relabel(&svg, tree, caption, self.legend.as_deref(), &mut out)?;
        out.flush()?;
        Ok(PictureTotals {
            total: tree.width(NodeId::ROOT),
            frames: pruned.kept.len(),
            elided: pruned.elided(),
        })
    }
}

fn inferno_color((r, g, b): Rgb) -> Color {
    Color { r, g, b }
}

/// inferno refuses to draw nothing; a program that never reallocated still deserves an answer.
pub(crate) fn write_empty(
    title: &str,
    why: &str,
    mut out: impl Write,
) -> io::Result<PictureTotals> {
    writeln!(
        out,
        r##"<?xml version="1.0" standalone="no"?>
<svg version="1.1" width="1200" height="90" viewBox="0 0 1200 90" xmlns="http://www.w3.org/2000/svg">
<style type="text/css">{DARK}</style>
<rect id="ground" width="100%" height="100%" fill="#fdfcf9"/>
<g id="frames" total_samples="0" font-family="monospace" text-anchor="middle">
<text id="title" x="50%" y="30" font-size="17">{}</text>
<text id="subtitle" x="50%" y="60" font-size="12">{}</text>
</g>
</svg>"##,
        escape(title),
        escape(why)
    )?;
    out.flush()?;
    Ok(PictureTotals::default())
}
