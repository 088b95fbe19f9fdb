//! Sites grouped by owner, function, crate or loaded image, as in the report, and functions with
//! their callers and callees. Enter leads to the sites of a row.

use std::cmp::Reverse;
use std::sync::Arc;

use heapglass_profiler::diff::Identity;
use heapglass_profiler::profile::{FrameId, Label};
use heapglass_profiler::table::Heading;
use heapglass_profiler::table::{By, Detail, FunctionDetail, Part, Row};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;

use crate::model::{Command, Context, Outcome, Pattern};
use crate::text::{clean, fit_end, fit_path};
use crate::theme;
use crate::widgets::{
    Cursor, Lines, List, Search, Sort, Table, all_figures, columns, right_of, rows_in, with_details,
};

/// The groupings, in the order in which the key cycles through them.
const ALL: [By; 4] = [By::Owner, By::Function, By::Crate, By::Module];

/// The rows of a grouping, with a selection.
#[derive(Debug, Default)]
pub(super) struct Groups {
    /// The grouping; `None` if single sites are listed.
    pub(super) by: Option<By>,
    list: List<Arc<Row>>,
    sort: Sort,
    pub(super) search: Search,
}

impl Groups {
    /// Switches to the next grouping. After the last one, lists single sites.
    pub(super) fn next(&mut self, cx: &Context<'_>) {
        let at = self.by.and_then(|by| ALL.iter().position(|b| *b == by));
        self.by = ALL.get(at.map_or(0, |at| at + 1)).copied();
        (self.list, self.search, self.sort) = Default::default();
        self.refresh(cx, false);
    }

    /// Recomputes the rows and keeps the selection if its row still exists.
    pub(super) fn refresh(&mut self, cx: &Context<'_>, keep_first: bool) {
        let Some(by) = self.by else {
            return;
        };
        let mut rows = cx.rows(by);
        if let Some(rows) = &mut rows {
            self.search
                .retain(rows, |pattern, row| pattern.is_match(&row.key));
            self.table(by, cx).sort(rows);
        }
        let key = |row: &Arc<Row>| row.key.clone();
        let [list, _] = self.panes(cx, cx.area());
        let height = rows_in(list);
        self.list.replace_known(rows, key, keep_first, height);
    }

    /// Returns the grouping and the key of the selected row.
    pub(super) fn key(&self) -> Option<(By, String)> {
        Some((self.by?, self.list.selected()?.key.clone()))
    }

    /// Returns the function or place in the flamegraph for the selected row.
    pub(super) fn charged(&self, cx: &Context<'_>) -> Option<Label> {
        cx.data.charged(self.list.selected()?)
    }

    pub(super) fn select_at(&mut self, at: Position, cx: &Context<'_>) -> Option<bool> {
        let [list, _] = self.panes(cx, cx.area());
        self.list.select_at(at, list)
    }

    /// Returns the column to sort by whose heading is at a position.
    pub(super) fn heading_at(&self, at: Position, cx: &Context<'_>) -> Option<usize> {
        let [list, _] = self.panes(cx, cx.area());
        self.table(self.by?, cx).heading_at(at, list, &self.list)
    }

    /// Returns a frame of the selected row: that of its owner.
    pub(super) fn frame(&self, cx: &Context<'_>) -> Option<FrameId> {
        cx.data.owner_frame(self.list.selected()?)
    }

    /// Describes what the regex found; `None` without a regex.
    pub(super) fn found(&self, cx: &Context<'_>) -> Option<String> {
        let rows = &self.list.rows;
        // A function's own bytes, so that no byte counts twice.
        let part = || cx.part_of_all(rows.iter().map(|row| &row.figures));
        self.search.found_rows(rows.len(), self.by?.name(), part)
    }

    /// Handles movement and sorting. Returns `None` for other commands.
    pub(super) fn command(&mut self, command: Command, cx: &Context<'_>) -> Option<Outcome> {
        if self.list.command(command) {
            return Some(Outcome::Done);
        }
        if let Some(outcome) = self.search.step(&mut self.list, command, |_| true) {
            return Some(outcome);
        }
        let table = self.table(self.by?, cx);
        let outcome = table.command(command, &mut self.sort)?;
        self.refresh(cx, true);
        Some(outcome)
    }

    pub(super) fn search(&mut self, pattern: Option<Pattern>, cx: &Context<'_>) {
        self.search.set(pattern);
        self.list.cursor = Cursor::default();
        self.refresh(cx, false);
    }

    /// Returns the areas of the list and of the details below it.
    fn panes(&self, cx: &Context<'_>, area: Rect) -> [Rect; 2] {
        let details = match self.by {
            Some(By::Function) => (area.height / 2).min(16),
            _ => 5,
        };
        with_details(area, cx.lines_below(details))
    }

    pub(super) fn render(&self, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
        let Some(by) = self.by else {
            return;
        };
        let [list, details] = self.panes(cx, area);
        let empty = self.search.empty("no sites were recorded");
        let table = self.table(by, cx);
        table.render(list, buffer, &self.list, &empty);
        let Some(row) = self.list.selected() else {
            return;
        };
        let mut title = self.list.place(by.name());
        if let Some(found) = self.found(cx) {
            title = format!("{title} · {found}");
        }
        let name = clean(&row.key);
        let name = (&*name, 2, style(row, cx));
        let mut lines = Lines::details(details, buffer, &title, name);
        lines.flow(&all_figures(cx.measure, &row.figures), theme::plain());
        if let Detail::Function(detail) = &row.detail {
            let rest = lines.rest;
            let callers = columns(rest, 0, (rest.width / 2).saturating_sub(1));
            let callees = right_of(rest, rest.width / 2);
            calls("called by", &detail.callers, detail, cx, callers, buffer);
            calls("calls", &detail.callees, detail, cx, callees, buffer);
        }
    }

    fn table<'a>(&self, by: By, cx: &'a Context<'_>) -> Table<'a, Arc<Row>> {
        let is_function = by == By::Function;
        let value = |row: &Arc<Row>| cx.measure.shown(&row.figures);
        let inclusive = |row: &Arc<Row>| match &row.detail {
            Detail::Function(detail) => cx.measure.shown(&detail.inclusive),
            _ => cx.measure.shown(&row.figures),
        };
        let mut table = Table::sorted(cx, self.sort);
        // Functions can be sorted by "self" and by "inclusive".
        table = if is_function && self.sort.at == 1 {
            table.share(Heading::SHARE, inclusive, cx.whole())
        } else {
            table.share(Heading::SHARE, value, cx.whole())
        };
        table = if is_function {
            table
                .figure(Heading::own(cx.measure), value)
                .figure(Heading::inclusive(cx.measure), inclusive)
        } else {
            table.measure(value)
        };
        table
            .change(by, Heading::CHANGE, |row| {
                Some(Identity::of(&cx.data.profile, row))
            })
            .blocks(|row| &row.figures)
            .only_if(!is_function || cx.body.width >= 100)
            .known(Heading::SITES, |row| match &row.detail {
                Detail::Owner { sites, .. } => Some(sites.len() as u64),
                Detail::Code { sites } => Some(*sites),
                _ => None,
            })
            .only_if(!is_function)
            .left(by.name(), 0, |row, _| (row.key.clone(), style(row, cx)))
            .shortened(match by {
                By::Owner | By::Function => fit_path,
                _ => fit_end,
            })
    }
}

fn style(row: &Row, cx: &Context<'_>) -> Style {
    match &row.detail {
        Detail::Code { .. } => theme::plain(),
        _ => theme::charged(&cx.data.profile, cx.data.charged(row)),
    }
}

/// Draws the callers or callees of a function, sorted by the measure.
fn calls(
    title: &str,
    parts: &[Part],
    detail: &FunctionDetail,
    cx: &Context<'_>,
    area: Rect,
    buffer: &mut Buffer,
) {
    let value = |part: &&Part| cx.measure.shown(&part.figures);
    let mut parts: Vec<&Part> = parts.iter().collect();
    parts.sort_by_key(|part| Reverse(value(part)));
    Table::new(cx)
        .share(Heading::SHARE, value, cx.whole_of(&detail.inclusive))
        .measure(value)
        .left(title, 0, |part, _| (part.key.clone(), theme::plain()))
        .shortened(fit_path)
        .render(area, buffer, &List::unselected(parts, 0), "nothing");
}
