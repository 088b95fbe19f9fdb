//! The legend of pictures by field and type: a square of each colour and what it stands for, in
//! front of the subtitle.
//!
//! Words only, no recorded names.

use std::fmt::Write as _;

use super::palette::{self, Rgb};

/// Stands in the subtitle where the legend goes.
pub(crate) const PLACE: &str = "[legend]";

/// Returns each kind of type with its colour.
pub(crate) fn entries() -> [(&'static str, Rgb); palette::KINDS.len() + 1] {
    let mut entries = [("serde's buffer", palette::MARK); palette::KINDS.len() + 1];
    for (entry, (kind, name, _)) in entries.iter_mut().zip(palette::KINDS) {
        *entry = (name, palette::of_kind(Some(kind)));
    }
    entries
}

/// Characters it takes up.
pub(super) fn chars() -> usize {
    let chars = entries().map(|(name, _)| name.chars().count() + 3);
    chars.iter().sum()
}

/// Returns the legend as elements of a `<text>`.
pub(super) fn svg() -> String {
    squares(entries())
}

/// A square of each colour and what it stands for, as elements of a `<text>`.
pub(crate) fn squares<const N: usize>(entries: [(&str, Rgb); N]) -> String {
    let mut svg = String::new();
    for (name, rgb) in entries {
        // Infallible: writing to a String.
        let _ = write!(
            svg,
            "<tspan fill=\"{}\" stroke=\"#666\" stroke-width=\"0.5\">\u{25a0}</tspan> {name} ",
            palette::hex(rgb)
        );
    }
    svg.truncate(svg.trim_end().len());
    svg
}
