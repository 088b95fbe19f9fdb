//! Arenas: the contents of chunks, which are single blocks elsewhere. Enter leads from an arena to
//! its types and from a type to its fields. Figures refer to the arena, never to the process. Rows
//! and histories are computed when something changes, never while drawing.

mod chart;
mod inside;
mod render;

use std::sync::Arc;

use heapglass_profiler::arenas::{measured, measured_title};
use heapglass_profiler::profile::Arena;
use heapglass_profiler::table::{ArenaDetail, By, Detail, Row};
use heapglass_profiler::units::Share;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::model::keys::{BACK, Binding, ENTER, LEFT, RIGHT, bindings, char};
use crate::model::{Command, Context, Data, Outcome, Pattern};
use crate::views::View;
use crate::widgets::{List, Search, rows_in};
use inside::Inside;

/// The keys of this view.
pub(crate) const BINDINGS: &[Binding] = bindings! {
    ENTER => Enter, "types, fields", "show types, then fields";
    BACK => Back, "out", "go out, end the filter";
    RIGHT => Enter, "", "same as Enter";
    LEFT => Back, "", "same as Esc";
    [char('b')] => Grouping, "by", "group by type or field";
    [char('/')] => Search, "filter", "filter arenas by regex";
    [char('n')] => Next, "", "go to the next match";
    [char('N')] => Previous, "", "go to previous match";
};

/// The selected arena, and the arena that is open.
#[derive(Debug, Default)]
pub(crate) struct Arenas {
    list: List<Arc<Row>>,
    search: Search,
    inside: Option<Inside>,
}

impl Arenas {
    fn selected<'a>(&'a self, data: &'a Data) -> Option<(&'a Arena, &'a ArenaDetail)> {
        arena_of(self.list.selected()?, data)
    }
}

/// Returns the arena of a row, with its details from the report.
fn arena_of<'a>(row: &'a Row, data: &'a Data) -> Option<(&'a Arena, &'a ArenaDetail)> {
    let Detail::Arena(detail) = &row.detail else {
        return None;
    };
    Some((data.profile.arenas().get(detail.arena)?, detail))
}

impl View for Arenas {
    fn refresh(&mut self, cx: &Context<'_>) {
        cx.data.histories();
        let [_, table, _] = render::panes(cx, cx.area(), cx.data.profile.arenas().len());
        let key = |row: &Arc<Row>| row.key.clone();
        let (rows, is_open) = (cx.rows(By::Arena), self.inside.is_some());
        let rows = rows.map(|mut rows| {
            self.search
                .retain(&mut rows, |pattern, row| pattern.is_match(&row.key));
            rows
        });
        self.list.replace_known(rows, key, is_open, rows_in(table));
        self.inside.take_if(|inside| !inside.refresh(cx));
    }

    fn command(&mut self, command: Command, cx: &Context<'_>) -> Outcome {
        if let Some(inside) = &mut self.inside {
            if command == Command::Back && !inside.back(cx) {
                self.inside = None;
                return Outcome::Done;
            }
            return inside.command(command, cx);
        }
        if self.list.command(command) {
            return Outcome::Done;
        }
        if let Some(outcome) = self.search.step(&mut self.list, command, |_| true) {
            return outcome;
        }
        match command {
            Command::Enter | Command::Grouping => match self.selected(cx.data) {
                Some((arena, _)) => {
                    self.inside = Inside::open(arena, command == Command::Grouping, cx);
                    Outcome::Done
                }
                None => Outcome::notice("no arena is selected"),
            },
            Command::Back if self.search.end() => {
                self.refresh(cx);
                Outcome::Done
            }
            Command::Back => Outcome::Out,
            _ => Outcome::Done,
        }
    }

    fn rows_by(&self) -> Option<By> {
        self.inside.is_none().then_some(By::Arena)
    }

    fn searched(&self) -> Option<(&'static str, Option<Pattern>)> {
        let is_at_list = self.inside.is_none();
        is_at_list.then(|| ("filter", self.search.pattern().cloned()))
    }

    fn search(&mut self, pattern: Option<Pattern>, cx: &Context<'_>) {
        self.search.set(pattern);
        self.refresh(cx);
    }

    fn found(&self, cx: &Context<'_>) -> Option<String> {
        let data = cx.data;
        let part = || {
            let value = |arena: &Arena| {
                let measured = measured(arena, cx.measure);
                measured.unwrap_or(arena.figures.total_used_bytes)
            };
            let found = self
                .list
                .rows
                .iter()
                .filter_map(|row| arena_of(row, data))
                .map(|(arena, _)| value(arena))
                .fold(0, u64::saturating_add);
            let all = data
                .profile
                .arenas()
                .iter()
                .map(value)
                .fold(0, u64::saturating_add);
            let title = measured_title(cx.measure).unwrap_or("bytes used in total");
            format!("{} of all by {title}", Share::of(found, all))
        };
        self.search.found_rows(self.list.rows.len(), "arena", part)
    }

    fn render(&self, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
        render::render(self, cx, area, buffer);
    }
}
