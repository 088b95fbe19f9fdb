//! A table: headings, a window of rows, a selection. Each column defines its heading, its cells and
//! its sort order, so that these cannot disagree.

use std::borrow::Cow;
use std::cmp::Reverse;

use heapglass_profiler::diff::{Change, Identity, RowBeside, Verdict};
use heapglass_profiler::profile::{Figures, Measure};
use heapglass_profiler::table::By;
use heapglass_profiler::table::Heading;
use heapglass_profiler::units::Share;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;

use super::area::{columns, right_of, slice};
use super::{List, bar, spark, write};
use crate::model::{Command, Context, Outcome};
use crate::text::{clean, fit, width};
use crate::theme;

/// The column that a table is sorted by.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sort {
    /// Index among the columns that can be sorted by.
    pub(crate) at: usize,
    /// `true` to sort the smallest first.
    reversed: bool,
}

/// The sort order of a column, with its name.
type Order<'a, R> = (String, Box<dyn Fn(&mut [R]) + 'a>);

/// The content of a cell, given the row and the width of the column.
type Cell<'a, R> = Box<dyn Fn(&R, usize) -> (String, Style) + 'a>;

/// The way to truncate the texts of a column to a number of cells.
#[derive(Clone, Copy)]
enum Shorten {
    /// Each text alone.
    Each(fn(&str, usize) -> Cow<'_, str>),
    /// The visible texts together, so that two of them do not read the same.
    Together(fn(&[&str], usize) -> Vec<String>),
}

struct Column<'a, R> {
    title: String,
    /// Width in cells. Columns with 0 share the remaining width.
    width: usize,
    right: bool,
    fits: bool,
    is_sorted_by: bool,
    /// `true` if the column is shown when rows are sorted by it, although it does not fit.
    comes_when_sorted_by: bool,
    cell: Cell<'a, R>,
    shorten: Shorten,
    order: Option<Order<'a, R>>,
}

impl<R> Column<'_, R> {
    /// Returns the texts of the column in some rows, truncated to its width, with their styles.
    fn cells(&self, rows: &[&R]) -> Vec<(String, Style)> {
        let mut cells: Vec<(String, Style)> = rows
            .iter()
            .map(|row| (self.cell)(row, self.width))
            .collect();
        for (text, _) in &mut cells {
            *text = clean(text).into_owned();
        }
        match self.shorten {
            Shorten::Each(shorten) => {
                for (text, _) in &mut cells {
                    *text = shorten(text, self.width).into_owned();
                }
            }
            Shorten::Together(shorten) => {
                let texts: Vec<&str> = cells.iter().map(|(text, _)| text.as_str()).collect();
                let short = shorten(&texts, self.width);
                for ((text, _), short) in cells.iter_mut().zip(short) {
                    *text = short;
                }
            }
        }
        cells
    }

    fn is_shown(&self) -> bool {
        // Rows are never sorted by a column that nobody sees.
        self.fits || self.is_sorted_by
    }

    /// Returns `true` if the key that changes the order stops at this column.
    fn can_be_sorted_by(&self) -> bool {
        self.is_shown() || self.comes_when_sorted_by
    }
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

    /// Creates a table that is sorted by one of its columns. The title of that column shows it.
    pub(crate) fn sorted(cx: &'a Context<'_>, sort: Sort) -> Self {
        let sort = Some(sort);
        Table {
            sort,
            ..Table::new(cx)
        }
    }

    /// Returns the title of a column of figures, with `~` if they are estimates.
    fn title(&self, heading: Heading) -> String {
        let are_estimates = self.cx.data.profile.capture().sampling.is_some();
        heading.title_of(are_estimates).into_owned()
    }

    /// Adds a column of text with a heading of figures, aligned right.
    pub(crate) fn right(self, heading: Heading, cell: impl Fn(&R) -> String + 'a) -> Self {
        let cell = move |row: &R, _| (cell(row), theme::plain());
        let title = self.title(heading);
        let cells = heading.width().max(width(&title));
        self.push(title, cells, true, cell)
    }

    /// Adds a column of text, aligned left, `width` cells wide. With 0, it shares the remaining
    /// width. The cell function receives its width. Texts need not be escaped.
    pub(crate) fn left(
        self,
        title: impl Into<String>,
        width: usize,
        cell: impl Fn(&R, usize) -> (String, Style) + 'a,
    ) -> Self {
        self.push(title, width, false, cell)
    }

    /// Makes the last column truncate texts this way. Other columns keep the beginning.
    pub(crate) fn shortened(self, shorten: fn(&str, usize) -> Cow<'_, str>) -> Self {
        self.shorten(Shorten::Each(shorten))
    }

    /// Makes the last column truncate the visible texts together.
    pub(crate) fn shortened_together(self, shorten: fn(&[&str], usize) -> Vec<String>) -> Self {
        self.shorten(Shorten::Together(shorten))
    }

    fn shorten(mut self, shorten: Shorten) -> Self {
        if let Some(column) = self.columns.last_mut() {
            column.shorten = shorten;
        }
        self
    }

    /// Adds a column of figures that rows can be sorted by.
    pub(crate) fn figure(self, heading: Heading, value: impl Fn(&R) -> u64 + Copy + 'a) -> Self {
        let table = self.right(heading, move |row| heading.spell(value(row)));
        table.by_size(value)
    }

    /// Adds a column of figures with empty cells for 0, which are easier to skip.
    pub(crate) fn some(self, heading: Heading, value: impl Fn(&R) -> u64 + Copy + 'a) -> Self {
        let table = self.known(heading, move |row| {
            Some(value(row)).filter(|value| *value > 0)
        });
        table.by_size(value)
    }

    /// Adds a column of figures that some rows do not have.
    pub(crate) fn known(self, heading: Heading, value: impl Fn(&R) -> Option<u64> + 'a) -> Self {
        self.right(heading, move |row| {
            value(row).map_or_else(String::new, |value| heading.spell(value))
        })
    }

    /// Adds a column of the measure that rows can be sorted by.
    pub(crate) fn measure(self, value: impl Fn(&R) -> u64 + Copy + 'a) -> Self {
        let state = self.cx.data.profile.process().state;
        let heading = Heading::of_in(self.cx.measure, state);
        self.figure(heading, value)
    }

    /// Adds a column of the blocks of the measure that rows can be sorted by.
    pub(crate) fn blocks(self, figures: impl Fn(&R) -> &Figures + Copy + 'a) -> Self {
        let measure = self.cx.measure;
        let value = move |row: &R| measure.blocks(figures(row)).0.value;
        self.figure(Heading::blocks_of(measure), value)
    }

    /// Adds a column of shares.
    pub(crate) fn share(
        self,
        heading: Heading,
        value: impl Fn(&R) -> u64 + 'a,
        whole: u64,
    ) -> Self {
        self.right(heading, move |row| Share::of(value(row), whole).to_string())
    }

    /// Adds a column of bars that show shares.
    pub(crate) fn bars(self, width: usize, value: impl Fn(&R) -> u64 + 'a, whole: u64) -> Self {
        self.left("", width, move |row, cells| {
            (bar(value(row), whole, cells), theme::bar())
        })
    }

    /// Adds a column of small charts of the live bytes at the checkpoints, each by its own largest
    /// value; without checkpoints, adds nothing. `sites` are those of the row.
    pub(crate) fn trend(self, sites: impl Fn(&R) -> Vec<usize> + 'a) -> Self {
        let profile = &self.cx.data.profile;
        let moments = profile.checkpoints().len();
        let table = self.left("trend", moments.max(5), move |row, _| {
            let live = profile.live_bytes_at_checkpoints(&sites(row));
            (spark(&live), theme::bar())
        });
        table.only_if(moments > 1)
    }

    /// Adds a column of changes from the base that rows can be sorted by; without a base, adds
    /// nothing.
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
        let title = self.title(heading);
        let table = self.push(title, heading.width(), true, move |row, _| {
            let known = identity(row).and_then(|identity| beside.row(&identity));
            known.map_or_else(Default::default, |known| row_change(known, measure))
        });
        table.by_size(move |row: &R| change(row).map_or(-1, |change| change.abs()))
    }

    /// Shows the last column only if it `fits`, and no earlier call has ruled it out. Otherwise
    /// rows cannot be sorted by it. It stays while they are, because the screen may have become
    /// narrower since.
    pub(crate) fn only_if(mut self, fits: bool) -> Self {
        if let Some(column) = self.columns.last_mut() {
            column.fits &= fits;
        }
        self
    }

    /// Shows the last column only if it `fits` or rows are sorted by it.
    pub(crate) fn only_if_sorted_or(mut self, fits: bool) -> Self {
        if let Some(column) = self.columns.last_mut() {
            column.comes_when_sorted_by = true;
        }
        self.only_if(fits)
    }

    /// Returns `true` if rows are sorted by the last column.
    pub(crate) fn is_sorted_by_last(&self) -> bool {
        let last = self.columns.last();
        last.is_some_and(|column| column.is_sorted_by)
    }

    /// Makes rows sortable by the last column, by name.
    pub(crate) fn by_name(self, name: impl Fn(&R) -> String + 'a) -> Self {
        self.ordered(None, move |rows| rows.sort_by_cached_key(&name))
    }

    /// Makes the last column keep the given order of rows, under the name `name`.
    pub(crate) fn in_given_order(self, name: &str) -> Self {
        self.ordered(Some(name), |_| {})
    }

    /// Sets the style of the selected row.
    pub(crate) fn selected(mut self, style: Style) -> Self {
        self.selected = style;
        self
    }

    /// Makes rows sortable by the last column, the largest first.
    pub(crate) fn by_size<V: Ord>(self, value: impl Fn(&R) -> V + 'a) -> Self {
        self.ordered(None, move |rows| {
            rows.sort_by_cached_key(|row| Reverse(value(row)));
        })
    }

    /// Makes rows sortable by the last column, under this name or its title.
    fn ordered(mut self, name: Option<&str>, sort: impl Fn(&mut [R]) + 'a) -> Self {
        let before = self.sortable().count();
        if let Some(column) = self.columns.last_mut() {
            column.is_sorted_by = self.sort.is_some_and(|sort| sort.at == before);
            if column.is_sorted_by && column.width > 0 {
                // Leave a cell for the mark after the title.
                column.width = column.width.max(width(&column.title) + 1);
            }
            let name = name.unwrap_or(&column.title).to_owned();
            column.order = Some((name, Box::new(sort)));
        }
        self
    }

    /// Returns the sort order of each column that has one, also if it is not shown, so that a
    /// column keeps its number on a screen of another size.
    fn sortable(&self) -> impl Iterator<Item = (&Column<'a, R>, &Order<'a, R>)> {
        let columns = self.columns.iter();
        columns.filter_map(|column| Some((column, column.order.as_ref()?)))
    }

    /// Returns the width of all columns of fixed width, including their gaps.
    pub(crate) fn taken(&self) -> usize {
        let shown = self.columns.iter().filter(|column| column.is_shown());
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
            fits: true,
            is_sorted_by: false,
            comes_when_sorted_by: false,
            cell: Box::new(cell),
            shorten: Shorten::Each(fit),
            order: None,
        });
        self
    }

    /// Switches to the next column to sort by, or reverses the order. Returns `None` for other
    /// commands.
    pub(crate) fn command(&self, command: Command, sort: &mut Sort) -> Option<Outcome> {
        match command {
            Command::Sort => {
                let all: Vec<_> = self.sortable().enumerate().collect();
                let after = all.iter().skip(sort.at + 1).chain(&all);
                let mut next = after.filter(|(_, (column, _))| column.can_be_sorted_by());
                let (at, (_, (name, _))) = *next.next()?;
                let reversed = false;
                *sort = Sort { at, reversed };
                Some(Outcome::notice(format!("sorted by {name}")))
            }
            Command::ReverseSort => {
                sort.reversed = !sort.reversed;
                Some(Outcome::Done)
            }
            Command::SortBy(at) if at == sort.at => self.command(Command::ReverseSort, sort),
            Command::SortBy(at) => {
                let (_, (name, _)) = self.sortable().nth(at)?;
                let reversed = false;
                *sort = Sort { at, reversed };
                Some(Outcome::notice(format!("sorted by {name}")))
            }
            _ => None,
        }
    }

    /// Sorts rows by the column. Equal rows keep their order.
    pub(crate) fn sort(&self, rows: &mut [R]) {
        let Some(Sort { at, reversed }) = self.sort else {
            return;
        };
        if let Some((_, (_, sort))) = self.sortable().nth(at) {
            sort(rows);
        }
        if reversed {
            rows.reverse();
        }
    }

    /// Returns the width of each column in `area`; 0 for a column that is not shown.
    fn widths(&self, area: Rect, list: &List<R>) -> Vec<usize> {
        let visible = || list.rows.iter().skip(list.cursor.top).take(rows_in(area));
        let shown: Vec<&Column<'_, R>> = self.columns.iter().filter(|c| c.is_shown()).collect();
        let needed = |column: &&Column<'_, R>| {
            if !column.right {
                return column.width;
            }
            // A figure that is cut is a wrong one.
            let widest = visible().map(|row| width(&(column.cell)(row, column.width).0));
            widest.max().unwrap_or(0).max(column.width)
        };
        let mut widths: Vec<usize> = shown.iter().map(needed).collect();
        stretch(&mut widths, area.width as usize);
        let mut widths = widths.into_iter();
        let of = |column: &Column<'_, R>| {
            let width = column.is_shown().then(|| widths.next());
            width.flatten().unwrap_or(0)
        };
        self.columns.iter().map(of).collect()
    }

    /// Returns the number of the column, among those that rows can be sorted by, whose heading is
    /// at a position.
    pub(crate) fn heading_at(&self, at: Position, area: Rect, list: &List<R>) -> Option<usize> {
        if !area.contains(at) || at.y != area.y {
            return None;
        }
        let mut left = usize::from(at.x - area.x);
        let mut number = 0;
        for (column, width) in self.columns.iter().zip(self.widths(area, list)) {
            if column.is_shown() && left < width {
                return column.order.is_some().then_some(number);
            }
            left = left.saturating_sub(if column.is_shown() { width + 1 } else { 0 });
            number += usize::from(column.order.is_some());
        }
        None
    }

    /// Draws the headings and the visible rows, or `empty` if there are no rows.
    pub(crate) fn render(mut self, area: Rect, buffer: &mut Buffer, list: &List<R>, empty: &str) {
        let mark = match self.sort {
            Some(sort) if sort.reversed => '▲',
            _ => '▼',
        };
        let widths = self.widths(area, list);
        for (column, width) in self.columns.iter_mut().zip(widths) {
            column.width = width;
        }
        self.columns.retain(Column::is_shown);
        let titles = self.columns.iter().map(|column| {
            let mut text = column.title.clone();
            text.extend(column.is_sorted_by.then_some(mark));
            (column.width, column.right, text.into(), theme::heading())
        });
        draw_row(buffer, slice(area, 0, 1), titles, theme::plain());
        if list.rows.is_empty() {
            write(buffer, slice(area, 1, 1), empty, theme::dim());
        }
        let visible: Vec<&R> = list
            .rows
            .iter()
            .skip(list.cursor.top)
            .take(rows_in(area))
            .collect();
        let mut cells: Vec<_> = self
            .columns
            .iter()
            .map(|column| column.cells(&visible))
            .map(Vec::into_iter)
            .collect();
        let window = area.rows().skip(1);
        for (at, line) in (list.cursor.top..).zip(window).take(visible.len()) {
            let columns = self.columns.iter().zip(&mut cells);
            let cells = columns.filter_map(|(column, cells)| {
                let (text, style) = cells.next()?;
                Some((column.width, column.right, text.into(), style))
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

/// Formats the change of a row from the base: `new` if the base has no such row, and a final `*` if
/// the change is that of several rows that differ only in line numbers.
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

/// Formats a change from the base: `=` for none, `≈` for a change within the error bounds of the
/// peaks.
pub(crate) fn change(change: &Change, measure: Measure) -> (String, Style) {
    let difference = || measure.difference(change.exact_difference().unwrap_or_default());
    match change.verdict {
        Verdict::Equal => ("=".to_owned(), theme::dim()),
        Verdict::WithinBound => ("≈".to_owned(), theme::dim()),
        Verdict::NotKnown => ("?".to_owned(), theme::dim()),
        Verdict::More => (difference(), theme::more()),
        Verdict::Less => (difference(), theme::less()),
        _ => (difference(), theme::dim()),
    }
}

/// Returns the number of rows that fit into `area` below the heading.
pub(crate) fn rows_in(area: Rect) -> usize {
    area.height.saturating_sub(1).into()
}

/// Divides the remaining width among the columns without a width. The first ones get the larger
/// parts.
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

/// Draws one row cell by cell. Each cell has the width of its column, its alignment, its text
/// (truncated to the column) and its style.
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
            is_zoomed: false,
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
        let at = |x| table(sort).heading_at(Position::new(x, 0), area, &list);
        assert_eq!([3, 10, 16].map(at), [None, Some(0), Some(1)]);
        let outcome = table(sort).command(Command::SortBy(0), &mut sort);
        assert!(matches!(outcome, Some(Outcome::Notice(text)) if text == "sorted by sites"));
        let lines = ["  share  sites name▲", " 10.0 %      1 c"].map(|line| format!("{line:24}"));
        buffer.set_style(area, Style::reset());
        let mut expected = Buffer::with_lines(lines);
        expected.set_style(area, Style::reset());
        assert_eq!(buffer, expected);
    }
}
