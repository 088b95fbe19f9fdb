//! Threads: one row for all threads with the same name or with numbered names, sorted by a column.
//! Enter lists numbered threads one by one. A regex finds rows by their name and by the names of
//! their threads.

use std::cmp::Reverse;
use std::sync::Arc;

use heapglass_profiler::diff::Identity;
use heapglass_profiler::profile::{Figures, Measure};
use heapglass_profiler::table::Heading;
use heapglass_profiler::table::{By, Detail, Row};
use heapglass_profiler::units::Share;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::model::keys::{BACK, Binding, ENTER, LEFT, RIGHT, bindings, char};
use crate::model::{Command, Context, Outcome, Pattern};
use crate::text::clean;
use crate::theme;
use crate::views::View;
use crate::widgets::{List, Search, Sort, Table, split, write};

/// Number of lines around the rows: the heading and the note.
const AROUND: u16 = 2;

const NOTE: &str =
    "Live bytes belong to no thread: any thread may free a block. freed: by this one.";

/// The keys of this view.
pub(crate) const BINDINGS: &[Binding] = bindings! {
    ENTER => Enter, "threads", "show a row's threads";
    BACK => Back, "out", "end the filter, go out";
    RIGHT => Enter, "", "same as Enter";
    LEFT => Back, "", "same as Esc";
    [char('s')] => Sort, "sort", "sort by the next column";
    [char('S')] => ReverseSort, "", "reverse the order";
    [char('/')] => Search, "filter", "filter threads by regex";
    [char('n')] => Next, "", "go to the next match";
    [char('N')] => Previous, "", "go to previous match";
};

/// Returns the whole of shares: 0, so that there are none, if figures do not add up.
fn whole(cx: &Context<'_>) -> u64 {
    if !cx.adds_up() {
        return 0;
    }
    let own = By::Thread.measure(cx.measure);
    own.of(cx.data.profile.totals())
}

/// The threads, with a selection.
#[derive(Debug, Default)]
pub(crate) struct Threads {
    list: List<Arc<Row>>,
    /// Key of the row of numbered threads whose members are shown.
    opened: Option<String>,
    sort: Sort,
    search: Search,
}

impl Threads {
    fn table<'a>(&self, cx: &'a Context<'_>) -> Table<'a, Arc<Row>> {
        let own = By::Thread.measure(cx.measure);
        let value = move |row: &Arc<Row>| own.shown(&row.figures);
        let whole = whole(cx);
        let is_group = self.opened.is_none();
        let identity = move |row: &Arc<Row>| is_group.then(|| Identity::named(&row.key));
        let mut table = Table::sorted(cx, self.sort)
            .share(Heading::SHARE, value, whole)
            .figure(Heading::of_in(own, cx.data.profile.process().state), value)
            .change(By::Thread, Heading::CHANGE, identity)
            .figure(Heading::FREED, |row| row.figures.freed_bytes)
            .figure(Heading::blocks_of(own), move |row| {
                own.blocks(&row.figures).0.value
            });
        let others = [Measure::Total, Measure::Temporary];
        for measure in others.into_iter().filter(|other| *other != own) {
            let value = move |row: &Arc<Row>| measure.shown(&row.figures);
            let column = table.figure(Heading::of(measure), value);
            table = column.only_if(cx.body.width >= 100);
        }
        table
            .known(Heading::THREADS, |row| match row.detail {
                Detail::Thread(ref detail) => Some(detail.count),
                _ => None,
            })
            .left("thread", 0, |row, _| (row.key.clone(), theme::plain()))
            .by_name(|row: &Arc<Row>| row.key.clone())
    }

    /// Returns the areas of the table and of the note on the last line.
    fn panes(&self, area: Rect) -> [Rect; 2] {
        let note = u16::from(area.height > AROUND && !self.list.rows.is_empty());
        split(area, [area.height - note, note])
    }

    /// Updates the rows. Selects the row with `key`, else the row with the same key as before.
    fn refill(&mut self, cx: &Context<'_>, key: Option<&str>) {
        let height = cx.body.height.saturating_sub(AROUND).into();
        let Some(rows) = cx.rows(By::Thread) else {
            return self.list.resize(height);
        };
        let group = self
            .opened
            .as_ref()
            .and_then(|key| rows.iter().find(|row| row.key == *key));
        let members = group.and_then(|row| members(row, By::Thread.measure(cx.measure)));
        if members.is_none() {
            self.opened = None;
        }
        let mut rows = members.unwrap_or(rows);
        self.search.retain(&mut rows, |pattern, row| {
            pattern.is_match(&row.key) || matching(pattern, row).next().is_some()
        });
        self.table(cx).sort(&mut rows);
        let at = key.and_then(|key| rows.iter().position(|row| row.key == key));
        let key = |row: &Arc<Row>| row.key.clone();
        self.list.replace(rows, key, false, height);
        if let Some(at) = at {
            self.list.select(at);
        }
    }

    fn enter(&mut self, cx: &Context<'_>) -> Outcome {
        let Some(row) = self.list.selected() else {
            return Outcome::notice("no thread is selected");
        };
        if members(row, cx.measure).is_none() {
            return Outcome::notice("this row has no numbered threads");
        }
        self.opened = Some(row.key.clone());
        self.refill(cx, None);
        self.list.select(0);
        Outcome::Done
    }
}

/// Returns the figures of the threads of a row whose names match.
fn matching<'a>(pattern: &Pattern, row: &'a Row) -> impl Iterator<Item = &'a Figures> {
    let members = match &row.detail {
        Detail::Thread(detail) => detail.members.as_slice(),
        _ => &[],
    };
    let found = members
        .iter()
        .filter(|thread| pattern.is_match(thread.key()));
    found.map(|thread| &thread.figures)
}

/// Returns the threads of a row by name, sorted by the measure; `None` for a row with one name.
fn members(row: &Row, measure: Measure) -> Option<Vec<Arc<Row>>> {
    let Detail::Thread(detail) = &row.detail else {
        return None;
    };
    if detail.members.len() < 2 {
        return None;
    }
    let mut members: Vec<Arc<Row>> = detail.rows().into_iter().map(Arc::new).collect();
    members.sort_by_key(|row| Reverse(measure.shown(&row.figures)));
    Some(members)
}

impl View for Threads {
    fn refresh(&mut self, cx: &Context<'_>) {
        self.refill(cx, None);
    }

    fn command(&mut self, command: Command, cx: &Context<'_>) -> Outcome {
        if self.list.command(command) {
            return Outcome::Done;
        }
        let outcome = self.table(cx).command(command, &mut self.sort);
        if let Some(outcome) = outcome {
            let selected = self.list.selected().map(|row| row.key.clone());
            self.refill(cx, selected.as_deref());
            return outcome;
        }
        if let Some(outcome) = self.search.step(&mut self.list, command, |_| true) {
            return outcome;
        }
        match command {
            Command::Enter => self.enter(cx),
            Command::Back if self.search.end() => {
                self.refill(cx, None);
                Outcome::Done
            }
            Command::Back => match self.opened.take() {
                Some(group) => {
                    self.refill(cx, Some(&group));
                    Outcome::Done
                }
                None => Outcome::Out,
            },
            _ => Outcome::Done,
        }
    }

    fn select_at(&mut self, at: Position, cx: &Context<'_>) -> Option<bool> {
        let [table, _] = self.panes(cx.area());
        self.list.select_at(at, table)
    }

    fn heading_at(&self, at: Position, cx: &Context<'_>) -> Option<usize> {
        let [table, _] = self.panes(cx.area());
        self.table(cx).heading_at(at, table, &self.list)
    }

    fn rows_by(&self) -> Option<By> {
        // The base is compared by row, not by the threads of a row.
        self.opened.is_none().then_some(By::Thread)
    }

    fn searched(&self) -> Option<(&'static str, Option<Pattern>)> {
        Some(("filter", self.search.pattern().cloned()))
    }

    fn search(&mut self, pattern: Option<Pattern>, cx: &Context<'_>) {
        self.search.set(pattern);
        self.refill(cx, None);
    }

    fn found(&self, cx: &Context<'_>) -> Option<String> {
        let pattern = self.search.pattern()?;
        let own = By::Thread.measure(cx.measure);
        // Of a row that is listed for some of its threads, only these count.
        let value = |row: &Arc<Row>| {
            if pattern.is_match(&row.key) {
                own.shown(&row.figures)
            } else {
                let found = matching(pattern, row).map(|figures| own.shown(figures));
                found.fold(0, u64::saturating_add)
            }
        };
        let values = self.list.rows.iter().map(value);
        let value = values.fold(0, u64::saturating_add);
        let part = || {
            let share = Share::of(value, whole(cx));
            format!("{share} of all")
        };
        let noun = if self.opened.is_some() {
            "thread"
        } else {
            "row"
        };
        self.search.found_rows(self.list.rows.len(), noun, part)
    }

    fn render(&self, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
        let [table, note] = self.panes(area);
        let empty = self.search.empty("no threads were recorded");
        self.table(cx).render(table, buffer, &self.list, &empty);
        let text = match (&self.opened, self.found(cx)) {
            (Some(group), Some(found)) => format!("threads named {} › {found}", clean(group)),
            (None, Some(found)) => format!("threads › {found}"),
            (Some(group), None) => format!("Threads named {}. Esc: all threads.", clean(group)),
            (None, None) => NOTE.to_owned(),
        };
        write(buffer, note, &text, theme::dim());
    }
}
