//! Pictures: stacked bars as SVG.

use crate::text::{bytes, ratio};
use std::fmt::Write as _;

/// A bar: the parts of a peak.
pub(crate) struct Bar {
    pub(crate) label: String,
    /// Bytes that the result needs, its unused capacity, and what was freed before the end.
    pub(crate) parts: [u64; 3],
}

const COLORS: [&str; 3] = ["#3b6fb6", "#e39a35", "#b9bec6"];
const LEGEND: [&str; 3] = ["the result", "unused capacity", "freed before the end"];

const LABEL_WIDTH: u64 = 190;
const BAR_WIDTH: u64 = 460;
const LINE: u64 = 20;

/// Draws the bars, the smallest first. `base` is what the typed value needs: a line.
pub(crate) fn svg(title: &str, mut bars: Vec<Bar>, base: u64) -> String {
    let total = |bar: &Bar| bar.parts.iter().sum::<u64>();
    bars.sort_by_key(total);
    let most = bars.iter().map(total).max().unwrap_or(1).max(base).max(1);
    let (width, height) = (
        LABEL_WIDTH + BAR_WIDTH + 150,
        LINE * (bars.len() as u64 + 3),
    );
    // Tenths of a pixel, so that the same figures give the same picture on each machine.
    let scaled = |bytes: u64| bytes * BAR_WIDTH * 10 / most;
    let px = |tenths: u64| format!("{}.{}", tenths / 10, tenths % 10);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"12\" role=\"img\">\n<title>{title}</title>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n\
         <text x=\"8\" y=\"15\" font-weight=\"bold\">{title}</text>\n"
    );
    // Writing to a string cannot fail.
    let mut x = LABEL_WIDTH;
    for (color, name) in COLORS.iter().zip(LEGEND) {
        let _ = writeln!(
            out,
            "<rect x=\"{x}\" y=\"{}\" width=\"11\" height=\"11\" fill=\"{color}\"/><text x=\"{}\" y=\"{}\">{name}</text>",
            LINE + 4,
            x + 16,
            LINE + 14
        );
        x += 130;
    }
    let _ = writeln!(
        out,
        "<line x1=\"{x}\" x2=\"{x}\" y1=\"{}\" y2=\"{}\" stroke=\"#c0392b\"/><text x=\"{}\" y=\"{}\">what the typed value needs</text>",
        LINE + 3,
        LINE + 16,
        x + 6,
        LINE + 14
    );
    for (at, bar) in bars.iter().enumerate() {
        let y = LINE * (at as u64 + 2) + 4;
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
            px(LABEL_WIDTH * 10 + scaled(total(bar)) + 60),
            y + 12,
            bytes(total(bar)),
            ratio(total(bar), base)
        );
    }
    let line = px(LABEL_WIDTH * 10 + scaled(base));
    let _ = writeln!(
        out,
        "<line x1=\"{line}\" x2=\"{line}\" y1=\"{}\" y2=\"{}\" stroke=\"#c0392b\"/>\n</svg>",
        LINE * 2,
        LINE * (bars.len() as u64 + 2) + 4
    );
    out
}
