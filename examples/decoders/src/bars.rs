//! Pictures: stacked bars as SVG.

use crate::text::{bytes, ratio};
use std::fmt::Write as _;

/// A bar: the parts of a peak.
pub(crate) struct Bar {
    pub(crate) label: String,
    /// Bytes that the result needs, its unused capacity, and what was freed before the end.
    pub(crate) parts: [u64; 3],
}

impl Bar {
    fn total(&self) -> u64 {
        self.parts.iter().sum()
    }
}

const COLORS: [&str; 3] = ["#3b6fb6", "#e39a35", "#b9bec6"];
const LEGEND: [&str; 3] = ["the result", "unused capacity", "freed before the end"];
/// The line of what the typed value needs.
const RED: &str = "#c0392b";

const LABEL_WIDTH: u64 = 190;
const BAR_WIDTH: u64 = 460;
const WIDTH: u64 = LABEL_WIDTH + BAR_WIDTH + 150;
const LINE: u64 = 20;

/// A bar above this multiple of the typed value has another scale, in which the others are too
/// short to compare.
const SCALE_CHANGES: u64 = 3;

/// Draws the bars, the smallest first. `base` is what the typed value needs: a line.
pub(crate) fn svg(title: &str, mut bars: Vec<Bar>, base: u64) -> String {
    bars.sort_by_key(Bar::total);
    let large = bars.partition_point(|bar| bar.total() <= SCALE_CHANGES * base);
    let (small, large) = bars.split_at(large);
    let lines = 3 + bars.len() + if large.is_empty() { 0 } else { 2 };
    let height = LINE * lines as u64;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"12\" role=\"img\">\n<title>{title}</title>\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>\n\
         <text x=\"8\" y=\"15\" font-weight=\"bold\">{title}</text>\n"
    );
    legend(&mut out);
    let mut top = 2 * LINE + 4;
    panel(&mut out, small, base, top);
    if !large.is_empty() {
        top += LINE * (small.len() as u64 + 2);
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "<text x=\"{LABEL_WIDTH}\" y=\"{}\" font-style=\"italic\">more than {SCALE_CHANGES} times the value, in another scale</text>",
            top - 8
        );
        panel(&mut out, large, base, top);
    }
    out += "</svg>\n";
    out
}

fn legend(out: &mut String) {
    let y = LINE + 14;
    let mut x = LABEL_WIDTH;
    for (color, name) in COLORS.iter().zip(LEGEND) {
        let _ = writeln!(
            out,
            "<rect x=\"{x}\" y=\"{}\" width=\"11\" height=\"11\" fill=\"{color}\"/><text x=\"{}\" y=\"{y}\">{name}</text>",
            y - 10,
            x + 16
        );
        x += 25 + 7 * name.len() as u64;
    }
    let _ = writeln!(
        out,
        "<line x1=\"{x}\" x2=\"{x}\" y1=\"{}\" y2=\"{}\" stroke=\"{RED}\"/><text x=\"{}\" y=\"{y}\">what the typed value needs</text>",
        y - 11,
        y + 2,
        x + 6
    );
}

/// Draws bars of one scale.
fn panel(out: &mut String, bars: &[Bar], base: u64, top: u64) {
    let most = bars
        .iter()
        .map(Bar::total)
        .max()
        .unwrap_or(1)
        .max(base)
        .max(1);
    // Tenths of a pixel, so that the same figures give the same picture on each machine.
    let scaled = |bytes: u64| bytes * BAR_WIDTH * 10 / most;
    let px = |tenths: u64| format!("{}.{}", tenths / 10, tenths % 10);
    let mut y = top;
    for bar in bars {
        let _ = write!(
            out,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>",
            LABEL_WIDTH - 6,
            y + 12,
            bar.label
        );
        let mut from = 0;
        for (part, color) in bar.parts.iter().zip(COLORS) {
            let (start, end) = (scaled(from), scaled(from + part));
            from += part;
            if end > start {
                let _ = write!(
                    out,
                    "<rect x=\"{}\" y=\"{y}\" width=\"{}\" height=\"15\" fill=\"{color}\"/>",
                    px(LABEL_WIDTH * 10 + start),
                    px(end - start)
                );
            }
        }
        let _ = writeln!(
            out,
            "<text x=\"{}\" y=\"{}\" fill=\"#333333\">{} ({}x)</text>",
            px(LABEL_WIDTH * 10 + scaled(bar.total()) + 60),
            y + 12,
            bytes(bar.total()),
            ratio(bar.total(), base)
        );
        y += LINE;
    }
    let line = px(LABEL_WIDTH * 10 + scaled(base));
    let _ = writeln!(
        out,
        "<line x1=\"{line}\" x2=\"{line}\" y1=\"{}\" y2=\"{}\" stroke=\"{RED}\"/>",
        top - 3,
        y - 2
    );
}
