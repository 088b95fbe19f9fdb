//! What several views draw or do alike: lists with a selection, figures in columns, bars. Knows no view.

mod table;

pub(crate) use table::{CHANGE, Table, change, draw_row};

use heapglass_profiler::profile::Figures;
use heapglass_profiler::units::{Bytes, Count};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::model::Command;
use crate::text::{fit, width};

/// A selection in a list of which a window shows.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cursor {
    pub(crate) selected: usize,
    /// First row of the window.
    pub(crate) top: usize,
}

impl Cursor {
    /// Moves by a command that moves; `false` when it does not.
    pub(crate) fn command(&mut self, command: Command, len: usize, rows: usize) -> bool {
        let page = rows.saturating_sub(1).max(1);
        self.selected = match command {
            Command::Up => self.selected.saturating_sub(1),
            Command::Down => self.selected + 1,
            Command::PageUp => self.selected.saturating_sub(page),
            Command::PageDown => self.selected.saturating_add(page),
            Command::First => 0,
            Command::Last => usize::MAX,
            _ => return false,
        };
        self.clamp(len, rows);
        true
    }

    /// Keeps the selection inside the list and the window around the selection.
    pub(crate) fn clamp(&mut self, len: usize, rows: usize) {
        self.selected = self.selected.min(len.saturating_sub(1));
        let rows = rows.max(1);
        if self.selected < self.top {
            self.top = self.selected;
        } else if self.selected >= self.top + rows {
            self.top = self.selected + 1 - rows;
        }
        self.top = self.top.min(len.saturating_sub(rows));
    }
}

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

/// Writes `text` into the first row of `area`, cut to its width. `text` must be clean.
pub(crate) fn write(buffer: &mut Buffer, area: Rect, text: &str, style: Style) {
    if !area.is_empty() {
        buffer.set_stringn(
            area.x,
            area.y,
            fit(text, area.width as usize),
            area.width as usize,
            style,
        );
    }
}

/// A bar of `part` in `whole`, `cells` wide, to an eighth of a cell.
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

/// Every figure of a row, those of reallocs where there were any.
pub(crate) fn all_figures(f: &Figures) -> Vec<String> {
    let both = |name, bytes, blocks| format!("{name} {} ({})", Bytes(bytes), Count(blocks));
    let mut items = vec![
        both("peak", f.peak_bytes, f.peak_blocks),
        both("live", f.live_bytes, f.live_blocks),
        both("total", f.total_bytes, f.total_blocks),
        both("temporary", f.temporary_bytes, f.temporary_blocks),
    ];
    if f.grows > 0 || f.shrinks > 0 {
        items.push(format!(
            "grows {}, shrinks {}",
            Count(f.grows),
            Count(f.shrinks)
        ));
        items.push(format!("copied {}", Bytes(f.copied_bytes)));
    }
    items
}

/// Writes `items` one after the other, as many a line as fit; answers how many lines that took.
pub(crate) fn flow(buffer: &mut Buffer, area: Rect, items: &[String], style: Style) -> u16 {
    let mut row = 0;
    let mut line = String::new();
    for item in items {
        if !line.is_empty() && width(&line) + 2 + width(item) > area.width as usize {
            write(buffer, slice(area, row, 1), &line, style);
            row += 1;
            line.clear();
        }
        if !line.is_empty() {
            line.push_str("  ");
        }
        line.push_str(item);
    }
    write(buffer, slice(area, row, 1), &line, style);
    row + 1
}

/// Writes a rule with `text` at its left.
pub(crate) fn rule(buffer: &mut Buffer, area: Rect, text: &str) {
    let text = format!("── {text} ");
    let rest = "─".repeat((area.width as usize).saturating_sub(width(&text)));
    write(
        buffer,
        slice(area, 0, 1),
        &format!("{text}{rest}"),
        crate::theme::heading(),
    );
}

/// Bytes with their sign: `+1.5 KiB`, `-2.0 KiB`, `0 B`.
pub(crate) fn signed(value: i128) -> String {
    let size = Bytes(u64::try_from(value.unsigned_abs()).unwrap_or(u64::MAX));
    match value {
        0 => size.to_string(),
        1.. => format!("+{size}"),
        _ => format!("-{size}"),
    }
}

pub(crate) fn bytes(value: u64) -> String {
    Bytes(value).to_string()
}

pub(crate) fn count(value: u64) -> String {
    Count(value).to_string()
}

/// Nothing for 0: an empty cell is easier to pass over.
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
    fn the_window_follows_the_selection_and_never_leaves_the_list() {
        let mut cursor = Cursor::default();
        assert!(cursor.command(Command::Last, 100, 10));
        assert_eq!((cursor.selected, cursor.top), (99, 90));
        cursor.command(Command::PageUp, 100, 10);
        assert_eq!((cursor.selected, cursor.top), (90, 90));
        cursor.clamp(5, 10);
        assert_eq!((cursor.selected, cursor.top), (4, 0));
        cursor.clamp(0, 0);
        assert_eq!((cursor.selected, cursor.top), (0, 0));
        assert!(!cursor.command(Command::Sort, 5, 10));
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
