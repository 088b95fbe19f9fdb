//! Overview: totals with the error bound of the peak, live and resident bytes over time, and the
//! owners with the most bytes.

mod render;

use std::sync::Arc;

use heapglass_profiler::table::{By, Row};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::model::keys::{BACK, Binding, ENTER, bindings, char};
use crate::model::{Action, Command, Context, Jump, Outcome, Pattern, Pointer, SourceLine, ViewId};
use crate::views::{View, timeline, wheel};
use crate::widgets::{List, Search, rows_in};

/// The keys of this view.
pub(crate) const BINDINGS: &[Binding] = bindings! {
    ENTER => Enter, "sites", "show its sites";
    [char('o'), char('#')] => Follow, "flamegraph", "show in flamegraph";
    BACK => Back, "", "end the filter, go out";
    [char('/')] => Search, "filter", "filter owners by regex";
    [char('n')] => Next, "", "go to the next match";
    [char('N')] => Previous, "", "go to previous match";
};

/// The owners by the measure, with a selection.
#[derive(Debug, Default)]
pub(crate) struct Overview {
    owners: List<Arc<Row>>,
    search: Search,
    /// The moment of the chart that the mouse is at, in nanoseconds.
    moment: Option<u64>,
}

impl View for Overview {
    fn refresh(&mut self, cx: &Context<'_>) {
        let key = |row: &Arc<Row>| row.key.clone();
        let mut rows = cx.rows(By::Owner);
        if let Some(rows) = &mut rows {
            self.search
                .retain(rows, |pattern, row| pattern.is_match(&row.key));
        }
        let count = rows.as_ref().map_or(self.owners.rows.len(), Vec::len);
        let [.., owners] = render::panes(cx, cx.area(), count);
        let height = rows_in(owners);
        self.owners.replace_known(rows, key, false, height);
    }

    fn command(&mut self, command: Command, cx: &Context<'_>) -> Outcome {
        if self.owners.command(command) {
            return Outcome::Done;
        }
        if let Some(outcome) = self.search.step(&mut self.owners, command, |_| true) {
            return outcome;
        }
        match command {
            Command::Back if self.moment.is_some() => self.moment = None,
            Command::Back if self.search.end() => self.refresh(cx),
            Command::Back => return Outcome::Out,
            _ => {}
        }
        let Some(row) = self.owners.selected() else {
            return Outcome::Done;
        };
        match (command, cx.data.charged(row)) {
            (Command::Enter, _) => {
                Outcome::Goto(ViewId::Sites, Jump::Group(By::Owner, row.key.clone()))
            }
            (Command::Follow, Some(charged)) => {
                Outcome::Goto(ViewId::Flamegraph, Jump::Function(charged))
            }
            _ => Outcome::Done,
        }
    }

    fn rows_by(&self) -> Option<By> {
        Some(By::Owner)
    }

    fn select_at(&mut self, at: Position, cx: &Context<'_>) -> Option<bool> {
        let [.., owners] = render::panes(cx, cx.area(), self.owners.rows.len());
        self.owners.select_at(at, owners)
    }

    fn pointed(&mut self, pointer: Pointer, cx: &Context<'_>) -> Outcome {
        let [_, chart, _] = render::panes(cx, cx.area(), self.owners.rows.len());
        match pointer.action {
            Action::WheelUp => return wheel(self, Command::Up, cx),
            Action::WheelDown => return wheel(self, Command::Down, cx),
            Action::Press | Action::Drag if chart.contains(pointer.at) => {
                self.moment = timeline::moment_at(&cx.data.profile, chart, pointer.at);
            }
            Action::Press if self.select_at(pointer.at, cx) == Some(true) => {
                return self.command(Command::Enter, cx);
            }
            Action::Press | Action::Drag => {}
        }
        Outcome::Done
    }

    fn source_line(&self, cx: &Context<'_>) -> Option<SourceLine> {
        let frame = cx.data.owner_frame(self.owners.selected()?)?;
        SourceLine::of(cx.data, frame)
    }

    fn searched(&self) -> Option<(&'static str, Option<Pattern>)> {
        Some(("filter", self.search.pattern().cloned()))
    }

    fn search(&mut self, pattern: Option<Pattern>, cx: &Context<'_>) {
        self.search.set(pattern);
        self.refresh(cx);
    }

    fn found(&self, cx: &Context<'_>) -> Option<String> {
        let rows = &self.owners.rows;
        let part = || cx.part_of_all(rows.iter().map(|row| &row.figures));
        self.search.found_rows(rows.len(), "owner", part)
    }

    fn render(&self, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
        render::render(self, cx, area, buffer);
    }
}
