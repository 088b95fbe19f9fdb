//! Building blocks shared by the views: lists and trees with a selection, tables, charts, details.
//! Imports no view.

mod area;
pub(crate) mod chart;
mod lines;
mod list;
mod matches;
mod search;
mod table;
mod tree;

pub(crate) use area::{below, columns, last_columns, right_of, slice, split, with_details};
pub(crate) use lines::{Lines, all_figures, amount, interval};
pub(crate) use list::{Cursor, List};
pub(crate) use matches::{Matches, SearchNode};
pub(crate) use search::Search;
pub(crate) use table::{Sort, Table, change, draw_row, rows_in};
pub(crate) use tree::{Shape, Tree, TreeRow};

use heapglass_profiler::profile::Measure;
use heapglass_profiler::table::By;
use heapglass_profiler::units::{Bytes, counted};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::text::fit;

/// Writes `text` into the first row of `area`, truncated to its width. `text` must be escaped.
pub(crate) fn write(buffer: &mut Buffer, area: Rect, text: &str, style: Style) {
    if !area.is_empty() {
        let cells = area.width as usize;
        buffer.set_stringn(area.x, area.y, fit(text, cells), cells, style);
    }
}

/// Returns a bar of `part` in `whole`, `cells` wide, in eighths of a cell.
pub(crate) fn bar(part: u64, whole: u64, cells: usize) -> String {
    const EIGHTHS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    if whole == 0 {
        return String::new();
    }
    let eighths = (u128::from(part.min(whole)) * cells as u128 * 8 / u128::from(whole)) as usize;
    let mut text = "█".repeat(eighths / 8);
    if !eighths.is_multiple_of(8) {
        text.extend(EIGHTHS.get(eighths % 8));
    } else if eighths == 0 && part > 0 {
        text.push('▏');
    }
    text
}

/// Returns a chart of values in one line, a cell for each, by the largest of them. A value above 0
/// never disappears.
pub(crate) fn spark(values: &[u64]) -> String {
    const STEPS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = values.iter().copied().max().unwrap_or(0).max(1);
    let step = |value: &u64| {
        let step = (u128::from(*value) * 8).div_ceil(u128::from(most)) as usize;
        STEPS.get(step).copied().unwrap_or('█')
    };
    values.iter().map(step).collect()
}

/// Formats bytes with their sign: `+1.5 KiB`, `-2.0 KiB`, `0 B`.
pub(crate) fn signed(value: i64) -> String {
    Measure::Total.difference(value.into())
}

/// Returns the name of what a row of a grouping is. Several sites that read the same are one row.
pub(crate) fn noun(by: By) -> &'static str {
    match by {
        By::Site => "row",
        _ => by.name(),
    }
}

pub(crate) fn bytes(value: u64) -> String {
    Bytes(value).to_string()
}

/// Formats a number of values with their own size: `3 values, 72 B inline`.
pub(crate) fn values_inline(values: u64, bytes: u64) -> String {
    format!("{}, {} inline", counted(values, "value"), Bytes(bytes))
}

/// Formats a number, or returns an empty string for 0.
pub(crate) fn some(value: u64, spell: impl Fn(u64) -> String) -> String {
    if value == 0 {
        String::new()
    } else {
        spell(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_of_one_line_shows_something_for_anything() {
        assert_eq!(spark(&[0, 1, 500, 1000, 0]), " ▁▄█ ");
        assert_eq!(spark(&[u64::MAX, 0]), "█ ");
        assert_eq!(spark(&[]), "");
        assert_eq!(spark(&[0]), " ");
    }

    #[test]
    fn a_bar_shows_something_for_anything_and_never_more_than_all() {
        assert_eq!(bar(0, 100, 10), "");
        assert_eq!(bar(1, 1_000_000, 10), "▏");
        assert_eq!(bar(100, 100, 10), "██████████");
        assert_eq!(bar(200, 100, 10), "██████████");
        assert_eq!(bar(1, 2, 3), "█▌");
        assert_eq!(bar(1, 0, 3), "");
    }
}
