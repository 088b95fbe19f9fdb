//! The picture for readers whose browser runs no scripts: the largest frames, as part of the page:
//! an SVG without scripts and style sheets.

use std::fmt::Write as _;

use crate::calltree::NodeId;
use crate::flamegraph::{Caption, Widths, escape, palette};

/// Narrower frames are not drawn, as a part of the whole.
const NARROWEST: f64 = 1.0 / 500.0;

/// Maximum number of frames. Those nearest to the root are drawn.
const MOST_FRAMES: usize = 600;

const WIDTH: f64 = 1_200.0;
const ROW: usize = 20;
/// Width of a character of the font.
const CHAR: f64 = 7.3;

/// Returns the elements of the picture.
pub(super) fn picture(
    tree: &impl Widths,
    color: impl Fn(NodeId) -> palette::Rgb,
    caption: impl Fn(NodeId) -> Caption,
) -> String {
    let whole = tree.width(NodeId::ROOT);
    let mut frames = String::new();
    let mut rows = 1;
    // Frames of one row, each with its place as a part of the whole.
    let mut row = vec![(NodeId::ROOT, 0.0)];
    let mut drawn = 0;
    let part = |id: NodeId| tree.width(id) as f64 / whole.max(1) as f64;
    for depth in 0.. {
        let mut next = Vec::new();
        for (id, x) in &row {
            drawn += 1;
            rows = depth + 1;
            let Caption { title, label } = caption(*id);
            let color = palette::hex(color(*id));
            let width = part(*id) * WIDTH;
            let most = (width / CHAR) as usize;
            let label: String = match label.chars().count() {
                _ if most < 3 => String::new(),
                chars if chars <= most => label,
                _ => label.chars().take(most - 2).chain("..".chars()).collect(),
            };
            let (left, top) = (x * WIDTH, depth * ROW);
            // Infallible: writing to a String.
            let _ = writeln!(
                frames,
                "<g><title>{}</title><rect x=\"{left:.1}\" y=\"{top}\" width=\"{width:.1}\" height=\"{}\" fill=\"{color}\"/><text x=\"{:.1}\" y=\"{}\">{}</text></g>",
                escape(&title),
                ROW - 1,
                left + 3.0,
                top + 14,
                escape(&label)
            );
            let mut x = *x;
            for child in tree.children(*id) {
                if part(*child) >= NARROWEST {
                    next.push((*child, x));
                }
                x += part(*child);
            }
        }
        if next.is_empty() || drawn + next.len() > MOST_FRAMES {
            break;
        }
        row = next;
    }
    let height = rows * ROW;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"100%\" font-family=\"monospace\" font-size=\"12\" role=\"img\">\n{frames}</svg>"
    )
}
