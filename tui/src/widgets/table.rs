//! A table: headings, a window of rows, a selection. Each column says what it is called, what stands in it and how rows
//! are sorted by it, so that headings, cells and sort orders cannot come apart.

use std::borrow::Cow;
use std::cmp::Reverse;

use heapglass_profiler::diff::{Change, Identity, RowBeside, Verdict};
use heapglass_profiler::profile::{Figures, Measure};
use heapglass_profiler::report::By;
use heapglass_profiler::table::Heading;
use heapglass_profiler::units::Share;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::area::{columns, right_of, slice};
use super::{List, bar, write};
use crate::model::{Command, Context, Outcome};
use crate::text::{clean, fit, width};
use crate::theme;

/// The column that a table is sorted by.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sort {
    /// Which of the columns that can be sorted by.
    pub(crate) at: usize,
    /// The smallest first.
    reversed: bool,
}

/// How rows are sorted by a column, and what that is called.
type Order<'a, R> = (String, Box<dyn Fn(&mut [R]) + 'a>);

/// What stands in a cell, by the row and the width of the column.
type Cell<'a, R> = Box<dyn Fn(&R, usize) -> (String, Style) + 'a>;

/// How a text that is too long for so many cells is truncated.
type Shorten = fn(&str, usize) -> Cow<'_, str>;

struct Column<'a, R> {
    title: String,
    /// Cells wide; what is left over is shared by the columns with `0`.
    width: usize,
    right: bool,
    is_shown: bool,
    is_sorted_by: bool,
    cell: Cell<'a, R>,
    shorten: Shorten,
    order: Option<Order<'a, R>>,
}

/// The columns of a table of rows `R`.
pub(crate) struct Table<'a, R> {
    cx: &'a Context<'a>,
    columns: Vec<Column<'a, R>>,
    sort: Option<Sort>,
    selected: Style,
}

impl<'a, R: 'a> Table<'a, R> {
    pub(crate) fn new(cx: &'a Context<'_>) -> Self {
        Table {
            cx,
            columns: Vec::new(),
            sort: None,
            selected: theme::selected(),
        }
    }

    /// A table that is sorted by one of its columns, whose title says so.
    pub(crate) fn sorted(cx: &'a Context<'_>, sort: Sort) -> Self {
        let sort = Some(sort);
        Table {
            sort,
            ..Table::new(cx)
        }
    }

    /// A column of text under a heading of figures, at the right.
    pub(crate) fn right(self, heading: Heading, cell: impl Fn(&R) -> String + 'a) -> Self {
        let cell = move |row: &R, _| (cell(row), theme::plain());
        self.push(heading.title(), heading.width(), true, cell)
    }

    /// A column of text, at the left: `width` cells, or with 0 a share of what is left over. The cell is told its width.
    /// Texts need not be clean.
    pub(crate) fn left(
        self,
        title: impl Into<String>,
        width: usize,
        cell: impl Fn(&R, usize) -> (String, Style) + 'a,
    ) -> Self {
        self.push(title, width, false, cell)
    }

    /// The last column truncates texts in that way; the others keep the beginning.
    pub(crate) fn shortened(mut self, shorten: Shorten) -> Self {
        if let Some(column) = self.columns.last_mut() {
            column.shorten = shorten;
        }
        self
    }

    /// A column of a figure that rows can be sorted by.
    pub(crate) fn figure(self, heading: Heading, value: impl Fn(&R) -> u64 + Copy + 'a) -> Self {
        let table = self.right(heading, move |row| heading.spell(value(row)));
        table.by_size(value)
    }

    /// The same, nothing standing for 0: an empty cell is easier to pass over.
    pub(crate) fn some(self, heading: Heading, value: impl Fn(&R) -> u64 + Copy + 'a) -> Self {
        let table = self.known(heading, move |row| {
            Some(value(row)).filter(|value| *value > 0)
        });
        table.by_size(value)
    }

    /// A column of a figure that not every row has.
    pub(crate) fn known(self, heading: Heading, value: impl Fn(&R) -> Option<u64> + 'a) -> Self {
        self.right(heading, move |row| {
            value(row).map_or_else(String::new, |value| heading.spell(value))
        })
    }

    /// A column of the measure that rows can be sorted by.
    pub(crate) fn measure(self, value: impl Fn(&R) -> u64 + Copy + 'a) -> Self {
        let heading = Heading::of(self.cx.measure);
        self.figure(heading, value)
    }

    /// A column of the blocks that go with the measure, which rows can be sorted by.
    pub(crate) fn blocks(self, figures: impl Fn(&R) -> &Figures + Copy + 'a) -> Self {
        let measure = self.cx.measure;
        let value = move |row: &R| measure.blocks(figures(row)).0;
        self.figure(Heading::blocks_of(measure), value)
    }

    /// A column of parts of a whole.
    pub(crate) fn share(
        self,
        heading: Heading,
        value: impl Fn(&R) -> u64 + 'a,
        whole: u64,
    ) -> Self {
        self.right(heading, move |row| Share::of(value(row), whole).to_string())
    }

    /// A column of bars: of a part in a whole.
    pub(crate) fn bars(self, width: usize, value: impl Fn(&R) -> u64 + 'a, whole: u64) -> Self {
        self.left("", width, move |row, cells| {
            (bar(value(row), whole, cells), theme::bar())
        })
    }

    /// A column of what rows have more or less than in the base, which they can be sorted by; none without a base.
    pub(crate) fn change(
        self,
        by: By,
        heading: Heading,
        identity: impl Fn(&R) -> Option<Identity> + Copy + 'a,
    ) -> Self {
        let Some(beside) = self.cx.beside(by) else {
            return self;
        };
        let measure = by.measure(self.cx.measure);
        let known = beside.clone();
        let change = move |row: &R| known.row(&identity(row)?)?.change.exact_difference();
        let table = self.push(heading.title(), heading.width(), true, move |row, _| {
            let known = identity(row).and_then(|identity| beside.row(&identity));
            known.map_or_else(Default::default, |known| row_change(known, measure))
        });
        table.by_size(move |row: &R| change(row).map_or(-1, |change| change.abs()))
    }

    /// The last column only where there is room for it. Rows can be sorted by it all the same.
    pub(crate) fn only_if(mut self, has_room: bool) -> Self {
        if let Some(column) = self.columns.last_mut() {
            column.is_shown = has_room;
        }
        self
    }

    /// The last column only where there is room for it or rows are sorted by it.
    pub(crate) fn only_if_sorted_or(self, has_room: bool) -> Self {
        let is_sorted_by = self
            .columns
            .last()
            .is_some_and(|column| column.is_sorted_by);
        self.only_if(has_room || is_sorted_by)
    }

    /// Rows can be sorted by the last column, by name.
    pub(crate) fn by_name(self, name: impl Fn(&R) -> String + 'a) -> Self {
        self.ordered(None, move |rows| rows.sort_by_cached_key(&name))
    }

    /// By the last column rows are in the order they come in, which is called `name`.
    pub(crate) fn in_given_order(self, name: &str) -> Self {
        self.ordered(Some(name), |_| {})
    }

    /// The selected row in that style.
    pub(crate) fn selected(mut self, style: Style) -> Self {
        self.selected = style;
        self
    }

    /// Rows can be sorted by the last column, the largest first.
    fn by_size<V: Ord>(self, value: impl Fn(&R) -> V + 'a) -> Self {
        self.ordered(None, move |rows| {
            rows.sort_by_cached_key(|row| Reverse(value(row)));
        })
    }

    /// Rows can be sorted by the last column, which is called so, or as its title is.
    fn ordered(mut self, name: Option<&str>, sort: impl Fn(&mut [R]) + 'a) -> Self {
        let before = self.sortable().count();
        if let Some(column) = self.columns.last_mut() {
            column.is_sorted_by = self.sort.is_some_and(|sort| sort.at == before);
            if column.is_sorted_by && column.width > 0 {
                // Room for the mark behind the title.
                column.width = column.width.max(width(&column.title) + 1);
            }
            let name = name.unwrap_or(&column.title).to_owned();
            column.order = Some((name, Box::new(sort)));
        }
        self
    }

    /// How rows can be sorted, column by column.
    fn sortable(&self) -> impl Iterator<Item = &Order<'a, R>> {
        self.columns
            .iter()
            .filter_map(|column| column.order.as_ref())
    }

    /// Cells that the columns of a fixed width take, their gaps included.
    pub(crate) fn taken(&self) -> usize {
        let shown = self.columns.iter().filter(|column| column.is_shown);
        shown.map(|column| column.width + 1).sum()
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
            is_shown: true,
            is_sorted_by: false,
            cell: Box::new(cell),
            shorten: fit,
            order: None,
        });
        self
    }

    /// Goes on to the next column that can be sorted by, or reverses the order; `None` when the command does neither.
    pub(crate) fn command(&self, command: Command, sort: &mut Sort) -> Option<Outcome> {
        match command {
            Command::Sort => {
                let at = (sort.at + 1) % self.sortable().count().max(1);
                let reversed = false;
                *sort = Sort { at, reversed };
                let (name, _) = self.sortable().nth(at)?;
                Some(Outcome::notice(format!("sorted by {name}")))
            }
            Command::ReverseSort => {
                sort.reversed = !sort.reversed;
                Some(Outcome::Done)
            }
            _ => None,
        }
    }

    /// Sorts rows by the column. Those that are equal keep their order.
    pub(crate) fn sort(&self, rows: &mut [R]) {
        let Some(Sort { at, reversed }) = self.sort else {
            return;
        };
        if let Some((_, sort)) = self.sortable().nth(at) {
            sort(rows);
        }
        if reversed {
            rows.reverse();
        }
    }

    /// Draws the headings and the rows from the top of the window on; `empty` when there are none.
    pub(crate) fn render(mut self, area: Rect, buffer: &mut Buffer, list: &List<R>, empty: &str) {
        let mark = match self.sort {
            Some(sort) if sort.reversed => '▲',
            _ => '▼',
        };
        self.columns.retain(|column| column.is_shown);
        let mut widths: Vec<usize> = self.columns.iter().map(|column| column.width).collect();
        stretch(&mut widths, area.width as usize);
        for (column, width) in self.columns.iter_mut().zip(widths) {
            column.width = width;
        }
        let titles = self.columns.iter().map(|column| {
            let mut text = column.title.clone();
            text.extend(column.is_sorted_by.then_some(mark));
            (column.width, column.right, text.into(), theme::heading())
        });
        draw_row(buffer, slice(area, 0, 1), titles, theme::plain());
        if list.rows.is_empty() {
            write(buffer, slice(area, 1, 1), empty, theme::dim());
        }
        let window = area.rows().skip(1);
        for ((at, row), line) in list
            .rows
            .iter()
            .enumerate()
            .skip(list.cursor.top)
            .zip(window)
        {
            let cells = self.columns.iter().map(|column| {
                let (text, style) = (column.cell)(row, column.width);
                let text = (column.shorten)(&clean(&text), column.width).into_owned();
                (column.width, column.right, text.into(), style)
            });
            let is_selected = at == list.cursor.selected;
            let style = if is_selected {
                self.selected
            } else {
                theme::plain()
            };
            draw_row(buffer, line, cells, style);
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
    let difference = || measure.difference(change.exact_difference().unwrap_or_default());
    match change.verdict {
        Verdict::Equal => ("=".to_owned(), theme::dim()),
        Verdict::WithinBound => ("≈".to_owned(), theme::dim()),
        Verdict::More => (difference(), theme::more()),
        Verdict::Less => (difference(), theme::less()),
        _ => (difference(), theme::dim()),
    }
}

/// How many rows of a table show in `area`, below its heading.
pub(crate) fn rows_in(area: Rect) -> usize {
    area.height.saturating_sub(1).into()
}

/// Gives the columns with no width of their own what `cells` leave them: the first of several gets the larger part.
fn stretch(widths: &mut [usize], cells: usize) {
    let taken = widths.iter().sum::<usize>() + widths.len();
    let mut left = cells.saturating_sub(taken);
    let mut remaining = widths.iter().filter(|width| **width == 0).count();
    for width in widths.iter_mut().filter(|width| **width == 0) {
        let part = if remaining > 1 {
            (left * 3).div_ceil(5)
        } else {
            left
        };
        *width = part.max(1);
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
    buffer.set_style(area, base);
    let mut rest = area;
    for (cells, right, text, style) in cells {
        let cells = u16::try_from(cells).unwrap_or(u16::MAX);
        let mut place = columns(rest, 0, cells);
        let text = fit(&text, place.width as usize);
        if right {
            place = right_of(place, place.width.saturating_sub(width(&text) as u16));
        }
        write(buffer, place, &text, base.patch(style));
        rest = right_of(rest, cells.saturating_add(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use heapglass_profiler::profile::Frames;
    use ratatui::layout::Size;

    use crate::model::Data;

    #[test]
    fn columns_without_a_width_share_the_rest() {
        let mut widths = [10, 0, 0];
        stretch(&mut widths, 63);
        assert_eq!(widths, [10, 30, 20]);
        stretch(&mut widths, 2);
    }

    #[test]
    fn rows_are_sorted_by_the_column_that_the_title_marks_and_equal_ones_stay_in_order() {
        let data = Arc::new(Data::new(Default::default(), None));
        let cx = Context {
            data: &data,
            measure: Measure::Blocks,
            frames: Frames::Folded,
            body: Size::new(40, 3),
            source_roots: &[],
            has_colour: true,
        };
        let table = |sort| {
            Table::sorted(&cx, sort)
                .share(Heading::SHARE, |row: &(u64, &str)| row.0, 10)
                .figure(Heading::SITES, |row| row.0)
                .left("name", 0, |row, _| (row.1.to_owned(), theme::plain()))
                .by_name(|row| row.1.to_owned())
        };
        let mut sort = Sort::default();
        let mut rows = [(1, "c"), (2, "b"), (2, "a")];
        table(sort).sort(&mut rows);
        assert_eq!(rows, [(2, "b"), (2, "a"), (1, "c")]);
        let outcome = table(sort).command(Command::Sort, &mut sort);
        assert!(matches!(outcome, Some(Outcome::Notice(text)) if text == "sorted by name"));
        table(sort).command(Command::ReverseSort, &mut sort);
        table(sort).sort(&mut rows);
        assert_eq!(rows, [(1, "c"), (2, "b"), (2, "a")]);
        let area = Rect::new(0, 0, 24, 2);
        let mut buffer = Buffer::empty(area);
        let list = List {
            rows: rows.to_vec(),
            ..List::default()
        };
        table(sort).render(area, &mut buffer, &list, "");
        let lines = ["  share  sites name▲", " 10.0 %      1 c"].map(|line| format!("{line:24}"));
        buffer.set_style(area, Style::reset());
        let mut expected = Buffer::with_lines(lines);
        expected.set_style(area, Style::reset());
        assert_eq!(buffer, expected);
    }
}
