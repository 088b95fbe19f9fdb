//! A table: headings, a window of rows, a selection. Each column says what it is called and what stands in it, so that
//! headings and cells cannot come apart.

use std::borrow::Cow;

use heapglass_profiler::diff::{Change, Identity, RowBeside, Verdict};
use heapglass_profiler::profile::Measure;
use heapglass_profiler::report::By;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::{Cursor, bar, slice, write};
use crate::model::Context;
use crate::text::{fit, width};
use crate::theme;

/// Cells of the column of changes.
pub(crate) const CHANGE: usize = 11;

/// What stands in a cell, by the row and the width of the column.
type Cell<'a, R> = Box<dyn Fn(&R, usize) -> (String, Style) + 'a>;

struct Column<'a, R> {
    title: String,
    /// Cells wide; what is left over is shared by the columns with `0`.
    width: usize,
    right: bool,
    cell: Cell<'a, R>,
}

/// The columns of a table of rows `R`.
pub(crate) struct Table<'a, R> {
    columns: Vec<Column<'a, R>>,
}

impl<'a, R> Table<'a, R> {
    pub(crate) fn new() -> Self {
        Table {
            columns: Vec::new(),
        }
    }

    /// A column of figures, at the right.
    pub(crate) fn right(
        self,
        title: impl Into<String>,
        width: usize,
        cell: impl Fn(&R) -> String + 'a,
    ) -> Self {
        self.push(title, width, true, move |row, _| {
            (cell(row), theme::plain())
        })
    }

    /// A column of figures where there is room for it.
    pub(crate) fn right_if(
        self,
        room: bool,
        title: impl Into<String>,
        width: usize,
        cell: impl Fn(&R) -> String + 'a,
    ) -> Self {
        match room {
            true => self.right(title, width, cell),
            false => self,
        }
    }

    /// A column of text, at the left: `width` cells, or with 0 a share of what is left over. The cell is told its width.
    pub(crate) fn left(
        self,
        title: impl Into<String>,
        width: usize,
        cell: impl Fn(&R, usize) -> (String, Style) + 'a,
    ) -> Self {
        self.push(title, width, false, cell)
    }

    /// A column of bars: of a part in a whole.
    pub(crate) fn bars(self, width: usize, part: impl Fn(&R) -> (u64, u64) + 'a) -> Self {
        self.left("", width, move |row, cells| {
            let (part, whole) = part(row);
            (bar(part, whole, cells), theme::bar())
        })
    }

    /// A column of what rows have more or less than in the base; none without one.
    pub(crate) fn change(
        self,
        cx: &Context<'_>,
        by: By,
        title: impl Into<String>,
        identity: impl Fn(&R) -> Option<Identity> + 'a,
    ) -> Self {
        let Some(beside) = cx.beside(by) else {
            return self;
        };
        let measure = cx.measure;
        self.push(title, CHANGE, true, move |row, _| {
            let known = identity(row);
            let known = known.and_then(|identity| beside.row(&identity));
            known.map_or_else(Default::default, |known| row_change(known, measure))
        })
    }

    fn push(
        mut self,
        title: impl Into<String>,
        width: usize,
        right: bool,
        cell: impl Fn(&R, usize) -> (String, Style) + 'a,
    ) -> Self {
        self.columns.push(Column {
            title: title.into(),
            width,
            right,
            cell: Box::new(cell),
        });
        self
    }

    /// Draws the headings and the rows from the top of the window on, the selected one in `style`; `empty` when there
    /// are none.
    pub(crate) fn render(
        mut self,
        area: Rect,
        buffer: &mut Buffer,
        rows: impl ExactSizeIterator<Item = R>,
        (cursor, style): (Cursor, Style),
        empty: &str,
    ) {
        let mut widths: Vec<usize> = self.columns.iter().map(|column| column.width).collect();
        stretch(&mut widths, area.width as usize);
        for (column, width) in self.columns.iter_mut().zip(widths) {
            column.width = width;
        }
        let titles = self.columns.iter().map(|column| {
            let text = Cow::Borrowed(column.title.as_str());
            (column.width, column.right, text, theme::heading())
        });
        draw_row(buffer, slice(area, 0, 1), titles, theme::plain());
        if rows.len() == 0 {
            write(buffer, slice(area, 1, 1), empty, theme::dim());
            return;
        }
        let window = area.height.saturating_sub(1) as usize;
        for (at, row) in rows.enumerate().skip(cursor.top).take(window) {
            let cells = self.columns.iter().map(|column| {
                let (text, style) = (column.cell)(&row, column.width);
                (column.width, column.right, Cow::Owned(text), style)
            });
            let line = slice(area, 1 + (at - cursor.top) as u16, 1);
            let selected = at == cursor.selected;
            draw_row(
                buffer,
                line,
                cells,
                if selected { style } else { theme::plain() },
            );
        }
    }
}

/// What a row has more or less than in the base: `new` where the base has no such row; `*` where several rows differ in
/// line numbers alone and this is of all of them.
fn row_change(known: &RowBeside, measure: Measure) -> (String, Style) {
    let (mut text, style) = change(&known.change, measure);
    if known.is_added {
        text = "new".to_owned();
    }
    if known.rows > 1 {
        text.push('*');
    }
    (text, style)
}

/// What there is more or less than in the base: `=` for nothing, `≈` for what the error bounds of the peaks hide.
pub(crate) fn change(change: &Change, measure: Measure) -> (String, Style) {
    let text = match change.verdict {
        Verdict::Equal => "=".to_owned(),
        Verdict::WithinBound => "≈".to_owned(),
        _ => measure.difference(change.exact_difference().unwrap_or_default()),
    };
    let style = match change.verdict {
        Verdict::More => theme::more(),
        Verdict::Less => theme::less(),
        _ => theme::dim(),
    };
    (text, style)
}

/// Gives the columns with no width of their own what `cells` leave them: the first of several gets the larger part.
fn stretch(widths: &mut [usize], cells: usize) {
    let taken = widths.iter().sum::<usize>() + widths.len();
    let mut left = cells.saturating_sub(taken);
    let mut remaining = widths.iter().filter(|width| **width == 0).count();
    for width in widths.iter_mut().filter(|width| **width == 0) {
        *width = if remaining > 1 {
            (left * 3).div_ceil(5)
        } else {
            left
        }
        .max(1);
        left = left.saturating_sub(*width);
        remaining -= 1;
    }
}

/// Draws one row, cell by cell: the width of its column, whether it stands at the right, the text (cut to its column) and
/// its style.
pub(crate) fn draw_row<'a>(
    buffer: &mut Buffer,
    area: Rect,
    cells: impl IntoIterator<Item = (usize, bool, Cow<'a, str>, Style)>,
    base: Style,
) {
    if area.is_empty() {
        return;
    }
    buffer.set_style(slice(area, 0, 1), base);
    let end = area.x + area.width;
    let mut x = area.x;
    for (cells, right, text, style) in cells {
        if x >= end {
            break;
        }
        let room = cells.min((end - x) as usize);
        let text = fit(&text, room);
        let indent = if right {
            room.saturating_sub(width(&text))
        } else {
            0
        };
        buffer.set_stringn(
            x + indent as u16,
            area.y,
            &text,
            room - indent,
            base.patch(style),
        );
        x = x.saturating_add(cells as u16 + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_without_a_width_share_the_rest() {
        let mut widths = [10, 0, 0];
        stretch(&mut widths, 63);
        assert_eq!(widths, [10, 30, 20]);
        stretch(&mut widths, 2);
    }
}
