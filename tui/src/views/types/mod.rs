//! Types: the blocks of each type, and the measured live values. Enter leads from a type to its
//! fields and then to their sites. Order and parts are computed when something changes, never while
//! drawing.

mod footprints;
mod measured;
mod render;

use std::cmp::Reverse;
use std::sync::Arc;

use heapglass_profiler::profile::TypeRow;
use heapglass_profiler::table::By;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::model::keys::{BACK, Binding, ENTER, LEFT, RIGHT, bindings, char};
use crate::model::{Command, Context, Data, Jump, Outcome, Pattern, Selection, ViewId, type_key};
use crate::views::View;
use crate::views::breakdown::Breakdown;
use crate::widgets::{List, Search, Sort, rows_in};
use footprints::Footprints;

/// The keys of this view.
pub(crate) const BINDINGS: &[Binding] = bindings! {
    ENTER => Enter, "fields, sites", "show fields, then sites";
    BACK => Back, "out", "go out, end the filter";
    RIGHT => Enter, "", "same as Enter";
    LEFT => Back, "", "same as Esc";
    [char('s')] => Sort, "sort", "sort by the next column";
    [char('S')] => ReverseSort, "", "reverse the order";
    [char('/')] => Search, "filter", "filter types by regex";
    [char('n')] => Next, "", "go to the next match";
    [char('N')] => Previous, "", "go to previous match";
    [char('o')] => Follow, "", "show in flamegraph";
    [char('f')] => Footprints, "footprints", "show measured values";
};

/// The table, its order and filter, and the type that is open.
#[derive(Debug, Default)]
pub(crate) struct Types {
    /// Indices of the profile's rows by type, with the full names of the types.
    list: List<(usize, Option<String>)>,
    /// The data that the list was built from.
    made_of: Option<Arc<Data>>,
    sort: Sort,
    search: Search,
    /// The fields of one type.
    inside: Option<Breakdown>,
    footprints: Footprints,
}

impl Types {
    fn selected<'a>(&self, data: &'a Data) -> Option<&'a TypeRow> {
        data.profile.type_rows().get(self.list.selected()?.0)
    }

    /// Rebuilds the list and keeps the selection if its type is still listed.
    fn list(&mut self, cx: &Context<'_>) {
        let key = |row: &TypeRow| type_key(cx.data, row.type_id);
        let all = cx.data.profile.type_rows().iter().enumerate();
        let mut rows: Vec<(usize, &TypeRow)> = all.collect();
        self.search.retain(&mut rows, |pattern, (_, row)| {
            let full = key(row).is_some_and(|full| pattern.is_match(&full));
            full || pattern.is_match(&cx.data.type_label(row.type_id))
        });
        rows.sort_by_cached_key(|(_, row)| (Reverse(cx.measure.shown(&row.figures)), key(row)));
        render::table(self, cx).sort(&mut rows);
        let rows = rows.into_iter().map(|(at, row)| (at, key(row))).collect();
        let [_, table, ..] = render::panes(cx, cx.area(), &self.footprints);
        let key = |row: &(usize, Option<String>)| row.1.clone();
        let is_open = self.inside.is_some();
        self.list.replace(rows, key, is_open, rows_in(table));
        self.made_of = Some(Arc::clone(cx.data));
    }

    /// Selects the blocks of the selected type.
    fn selection(&self, data: &Data) -> Option<Selection> {
        let id = self.selected(data).map(|row| row.type_id);
        Selection::new(data, id, None, false)
    }

    /// Returns `true` if the table is shown and nothing in it is open.
    fn is_at_list(&self) -> bool {
        self.inside.is_none() && !self.footprints.is_open
    }

    fn back(&mut self, cx: &Context<'_>) -> Outcome {
        if self.footprints.is_open {
            self.footprints.back();
        } else if self.inside.take().is_some() {
        } else if self.search.end() {
            self.list(cx);
        } else {
            return Outcome::Out;
        }
        Outcome::Done
    }
}

impl View for Types {
    fn refresh(&mut self, cx: &Context<'_>) {
        let made_of = self.made_of.as_ref();
        if made_of.is_none_or(|data| !Arc::ptr_eq(data, cx.data)) {
            self.footprints.gather(cx.data);
        }
        self.footprints.resize(cx);
        self.list(cx);
        self.inside.take_if(|inside| !inside.refresh(cx));
    }

    fn command(&mut self, command: Command, cx: &Context<'_>) -> Outcome {
        if command == Command::Back {
            return self.back(cx);
        }
        if self.footprints.is_open {
            return self.footprints.command(command, cx);
        }
        if let Some(parts) = &mut self.inside
            && let Some(outcome) = parts.command(command)
        {
            return outcome;
        }
        if self.list.command(command) {
            return Outcome::Done;
        }
        let mut sort = self.sort;
        let outcome = render::table(self, cx).command(command, &mut sort);
        if let Some(outcome) = outcome {
            self.sort = sort;
            self.list(cx);
            return outcome;
        }
        if let Some(outcome) = self.search.step(&mut self.list, command, |_| true) {
            return outcome;
        }
        match command {
            Command::Enter => match self.selection(cx.data) {
                Some(selection) => self.inside = Breakdown::open(selection, cx),
                None => return Outcome::notice("no type is selected"),
            },
            Command::Footprints => return self.footprints.open(),
            Command::Follow => {
                let jump = self.selection(cx.data).map(Jump::Selection);
                return Outcome::goto(ViewId::Flamegraph, jump, "no type is selected");
            }
            _ => {}
        }
        Outcome::Done
    }

    fn rows_by(&self) -> Option<By> {
        self.is_at_list().then_some(By::Type)
    }

    fn select_at(&mut self, at: Position, cx: &Context<'_>) -> Option<bool> {
        if self.footprints.is_open {
            return None;
        }
        if let Some(parts) = &mut self.inside {
            return parts.select_at(at, cx);
        }
        let [_, table, ..] = render::panes(cx, cx.area(), &self.footprints);
        self.list.select_at(at, table)
    }

    fn heading_at(&self, at: Position, cx: &Context<'_>) -> Option<usize> {
        let [_, table, ..] = render::panes(cx, cx.area(), &self.footprints);
        let list = render::shown(self, cx);
        let at_list = render::table(self, cx);
        let column = at_list.heading_at(at, table, &list);
        column.filter(|_| self.is_at_list())
    }

    fn found(&self, cx: &Context<'_>) -> Option<String> {
        let all = cx.data.profile.type_rows();
        let rows = self.list.rows.iter().filter_map(|(at, _)| all.get(*at));
        let part = || cx.part_of_all(rows.map(|row| &row.figures));
        self.search.found_rows(self.list.rows.len(), "row", part)
    }

    fn render(&self, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
        render::render(self, cx, area, buffer);
    }

    fn searched(&self) -> Option<(&'static str, Option<Pattern>)> {
        let is_at_list = self.is_at_list();
        is_at_list.then(|| ("filter", self.search.pattern().cloned()))
    }

    fn search(&mut self, pattern: Option<Pattern>, cx: &Context<'_>) {
        self.search.set(pattern);
        self.list(cx);
    }
}
