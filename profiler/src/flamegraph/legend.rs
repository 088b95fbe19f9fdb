//! The legend of pictures by field and type: a square of each colour and what it stands for, in front of the subtitle.
//!
//! Words only, no recorded names.

use std::fmt::Write as _;

use super::palette::{self, Rgb};
use crate::profile::TypeKind;

/// Stands in the subtitle where the legend goes.
pub(crate) const PLACE: &str = "[legend]";

fn entries() -> [(&'static str, Rgb); 8] {
    let kind = |kind| palette::of_kind(Some(kind));
    [
        ("text", kind(TypeKind::Text)),
        ("sequence", kind(TypeKind::Sequence)),
        ("map", kind(TypeKind::Map)),
        ("box", kind(TypeKind::Pointer)),
        ("shared", kind(TypeKind::Shared)),
        ("dyn", kind(TypeKind::Dynamic)),
        ("other", kind(TypeKind::Other)),
        ("serde's buffer", palette::MARK),
    ]
}

/// Characters it takes up.
pub(super) fn chars() -> usize {
    let chars = entries().map(|(name, _)| name.chars().count() + 3);
    chars.iter().sum()
}

/// As elements of a `<text>`.
pub(super) fn svg() -> String {
    squares(entries())
}

/// A square of each colour and what it stands for, as elements of a `<text>`.
pub(crate) fn squares<const N: usize>(entries: [(&str, Rgb); N]) -> String {
    let mut svg = String::new();
    for (name, (r, g, b)) in entries {
        // Infallible: writing to a String.
        let _ = write!(
            svg,
            "<tspan fill=\"#{r:02x}{g:02x}{b:02x}\" stroke=\"#666\" stroke-width=\"0.5\">\u{25a0}</tspan> {name} "
        );
    }
    svg.truncate(svg.trim_end().len());
    svg
}
