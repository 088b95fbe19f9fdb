//! Parts of an area. None ever leaves the area it is a part of.

use ratatui::layout::Rect;

/// Rows `from..` of `area`, at most `rows` of them.
pub(crate) fn slice(area: Rect, from: u16, rows: u16) -> Rect {
    let from = from.min(area.height);
    Rect {
        x: area.x,
        y: area.y + from,
        width: area.width,
        height: rows.min(area.height - from),
    }
}

/// What is left of `area` below its first `rows`.
pub(crate) fn below(area: Rect, rows: u16) -> Rect {
    slice(area, rows, area.height)
}

/// A table, and `details` lines below it where there is room for both.
pub(crate) fn with_details(area: Rect, details: u16) -> [Rect; 2] {
    let details = if area.height >= 12 { details } else { 0 };
    split(area, [area.height - details, details])
}

/// Columns `from..` of `area`, at most `cells` of them.
pub(crate) fn columns(area: Rect, from: u16, cells: u16) -> Rect {
    let from = from.min(area.width);
    Rect {
        x: area.x + from,
        width: cells.min(area.width - from),
        ..area
    }
}

/// What is left of `area` at the right of its first `cells` columns.
pub(crate) fn right_of(area: Rect, cells: u16) -> Rect {
    columns(area, cells, area.width)
}

/// The last `cells` columns of `area`.
pub(crate) fn last_columns(area: Rect, cells: u16) -> Rect {
    right_of(area, area.width.saturating_sub(cells))
}

/// Parts of `area` with those heights, one below the other.
pub(crate) fn split<const N: usize>(area: Rect, heights: [u16; N]) -> [Rect; N] {
    let mut from = 0_u16;
    heights.map(|height| {
        let part = slice(area, from, height);
        from = from.saturating_add(height);
        part
    })
}
