//! Functions that divide an area. No part ever exceeds its area.

use ratatui::layout::Rect;

/// Returns up to `rows` rows of `area`, starting at row `from`.
pub(crate) fn slice(area: Rect, from: u16, rows: u16) -> Rect {
    let from = from.min(area.height);
    Rect {
        x: area.x,
        y: area.y + from,
        width: area.width,
        height: rows.min(area.height - from),
    }
}

/// Returns `area` without its first `rows` rows.
pub(crate) fn below(area: Rect, rows: u16) -> Rect {
    slice(area, rows, area.height)
}

/// Returns the areas of a table and of `details` lines below it, if both fit.
pub(crate) fn with_details(area: Rect, details: u16) -> [Rect; 2] {
    let details = if area.height >= 12 { details } else { 0 };
    split(area, [area.height - details, details])
}

/// Returns up to `cells` columns of `area`, starting at column `from`.
pub(crate) fn columns(area: Rect, from: u16, cells: u16) -> Rect {
    let from = from.min(area.width);
    Rect {
        x: area.x + from,
        width: cells.min(area.width - from),
        ..area
    }
}

/// Returns `area` without its first `cells` columns.
pub(crate) fn right_of(area: Rect, cells: u16) -> Rect {
    columns(area, cells, area.width)
}

/// Returns the last `cells` columns of `area`.
pub(crate) fn last_columns(area: Rect, cells: u16) -> Rect {
    right_of(area, area.width.saturating_sub(cells))
}

/// Divides `area` into parts of these heights, from top to bottom.
pub(crate) fn split<const N: usize>(area: Rect, heights: [u16; N]) -> [Rect; N] {
    let mut from = 0_u16;
    heights.map(|height| {
        let part = slice(area, from, height);
        from = from.saturating_add(height);
        part
    })
}
