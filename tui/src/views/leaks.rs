//! Leaks: live blocks by site, with their growth in the second half of the recording, their age,
//! and what nothing reaches. Blocks of statics and of the start of the program are apart, and Enter
//! opens them. Order is computed when something changes, never while drawing.

use heapglass_profiler::leaks::{Kind, LeakRow, Leaks};
use heapglass_profiler::profile::{Figures, Measure, Number, State};
use heapglass_profiler::table::{By, Heading, SiteLabel};
use heapglass_profiler::units::{Bytes, Count, Nanos, Share, counted};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::model::keys::{BACK, Binding, ENTER, bindings, char};
use crate::model::{Command, Context, Data, Jump, Outcome, Pattern, SourceLine, ViewId};
use crate::text::{clean, fit_owner, fit_place, fit_types};
use crate::theme;
use crate::views::View;
use crate::views::name_widths::NameWidths;
use crate::widgets::{Lines, List, Search, Sort, Table, amount, interval, rows_in, signed, split};

/// The keys of this view.
pub(crate) const BINDINGS: &[Binding] = bindings! {
    ENTER => Enter, "open", "open a group, show a site";
    BACK => Back, "out", "end filter, close, go out";
    [char('s')] => Sort, "sort", "sort by the next column";
    [char('S')] => ReverseSort, "", "reverse the order";
    [char('o')] => Follow, "flamegraph", "show in flamegraph";
    [char('w')] => WhoHolds, "holder", "show who holds it";
    [char('/')] => Search, "filter", "filter sites by regex";
    [char('n')] => Next, "", "go to the next match";
    [char('N')] => Previous, "", "go to previous match";
};

/// The rows and groups, with a selection.
#[derive(Debug, Default)]
pub(crate) struct LeakList {
    list: List<Line>,
    sort: Sort,
    /// The groups that are open. While a regex filters the rows, all are.
    opened: Vec<Kind>,
    search: Search,
}

/// A row, or a group of rows.
#[derive(Clone, Debug)]
enum Line {
    Row(Box<LeakRow>),
    Group {
        kind: Kind,
        live: (u64, u64),
        rows: u64,
        is_open: bool,
    },
}

impl Line {
    /// Returns the names of a row, or the title of a group and its number of rows in their place.
    fn label(&self) -> SiteLabel {
        let mut label = SiteLabel::default();
        match self {
            Line::Row(row) => {
                label.clone_from(&row.label);
                if row.kind != Kind::Program {
                    label.what.insert_str(0, "  ");
                }
            }
            Line::Group {
                kind,
                rows,
                is_open,
                ..
            } => {
                let mark = if *is_open { "▾" } else { "▸" };
                label.what = format!("{mark} {}", kind.title());
                label.owner = counted(*rows, "row");
            }
        }
        label
    }

    /// Returns the identity of the line, for the selection.
    fn key(&self) -> (Kind, Option<Vec<usize>>) {
        match self {
            Line::Row(row) => (row.kind, Some(row.sites.clone())),
            Line::Group { kind, .. } => (*kind, None),
        }
    }

    fn row(&self) -> Option<&LeakRow> {
        match self {
            Line::Row(row) => Some(row),
            Line::Group { .. } => None,
        }
    }

    fn live(&self) -> (u64, u64) {
        match self {
            Line::Row(row) => live_of(&row.figures),
            Line::Group { live, .. } => *live,
        }
    }

    fn grown_bytes(&self) -> i64 {
        self.row().map_or(0, |row| row.grown.difference().0)
    }
}

/// Returns the live bytes and blocks of rows.
fn live(lines: &[Line]) -> (u64, u64) {
    let mut sum = Figures::default();
    let rows = lines.iter().filter_map(Line::row);
    rows.for_each(|row| sum.add(&row.figures));
    live_of(&sum)
}

/// Returns the live bytes and blocks of figures, or a lower bound of blocks if samples were taken.
fn live_of(figures: &Figures) -> (u64, u64) {
    (figures.live_bytes, figures.number("live_blocks").value)
}

/// Returns the areas of title, table and details.
fn panes(cx: &Context<'_>, area: Rect) -> [Rect; 3] {
    let details = cx.lines_below(if area.height >= 14 { 6 } else { 0 });
    let title = u16::from(area.height >= 4);
    split(area, [title, area.height - details - title, details])
}

impl LeakList {
    fn fill(&mut self, cx: &Context<'_>, keep_first: bool) {
        let [_, body, _] = panes(cx, cx.area());
        let Some(leaks) = cx.data.leaks() else {
            return self.list.resize(rows_in(body));
        };
        let mut found: Vec<&LeakRow> = leaks.rows.iter().collect();
        self.search.retain(&mut found, |pattern, row| {
            let label = &row.label;
            let texts = [&label.what, &label.location, &label.owner_and_source()];
            texts.into_iter().any(|text| pattern.is_match(text))
        });
        let mut lines = Vec::new();
        for kind in Kind::ALL {
            let of_kind = found.iter().filter(|row| row.kind == kind);
            let mut rows: Vec<Line> = of_kind
                .map(|row| Line::Row(Box::new((*row).clone())))
                .collect();
            table(self.sort, cx, &[]).sort(&mut rows);
            if kind == Kind::Program {
                lines.append(&mut rows);
            } else if !rows.is_empty() {
                let is_open = self.opened.contains(&kind) || self.search.pattern().is_some();
                lines.push(Line::Group {
                    kind,
                    live: live(&rows),
                    rows: rows.len() as u64,
                    is_open,
                });
                if is_open {
                    lines.append(&mut rows);
                }
            }
        }
        self.list
            .replace(lines, Line::key, keep_first, rows_in(body));
    }

    /// Opens or closes a group.
    fn turn(&mut self, kind: Kind, cx: &Context<'_>) -> Outcome {
        let before = self.opened.len();
        self.opened.retain(|opened| *opened != kind);
        if self.opened.len() == before {
            self.opened.push(kind);
        }
        let at = self.list.cursor.selected;
        self.fill(cx, true);
        let is_group = |line: &Line| matches!(line, Line::Group { kind: of, .. } if *of == kind);
        let group = self.list.rows.iter().position(is_group);
        self.list.select(group.unwrap_or(at));
        Outcome::Done
    }

    fn site(&self) -> Option<u32> {
        let row = self.list.selected()?.row()?;
        row.sites.first().map(|site| *site as u32)
    }
}

impl View for LeakList {
    fn refresh(&mut self, cx: &Context<'_>) {
        self.fill(cx, false);
    }

    fn command(&mut self, command: Command, cx: &Context<'_>) -> Outcome {
        if self.list.command(command) {
            return Outcome::Done;
        }
        let outcome = table(self.sort, cx, &[]).command(command, &mut self.sort);
        if let Some(outcome) = outcome {
            self.fill(cx, true);
            return outcome;
        }
        let is_match = |line: &Line| line.row().is_some();
        if let Some(outcome) = self.search.step(&mut self.list, command, is_match) {
            return outcome;
        }
        let jump = self.site().map(Jump::Site);
        match (command, self.list.selected()) {
            (Command::Back, _) if self.search.end() => {
                self.fill(cx, true);
                Outcome::Done
            }
            (Command::Enter, Some(Line::Group { .. })) if self.search.pattern().is_some() => {
                Outcome::notice("a filter opens all groups; Esc ends it")
            }
            (Command::Enter, Some(Line::Group { kind, .. })) => self.turn(*kind, cx),
            (Command::Enter, _) => Outcome::goto(ViewId::Sites, jump, "nothing is live"),
            (Command::Follow, _) => Outcome::goto(
                ViewId::Flamegraph,
                jump,
                "open the group, then select a site",
            ),
            (Command::WhoHolds, _) => {
                if cx.data.profile.snapshots().is_empty() {
                    return Outcome::notice(cx.data.no_snapshot());
                }
                Outcome::goto(ViewId::Heap, jump, "open the group, then select a site")
            }
            (Command::Back, Some(Line::Group { kind, is_open, .. })) if *is_open => {
                self.turn(*kind, cx)
            }
            (Command::Back, Some(Line::Row(row))) if row.kind != Kind::Program => {
                self.turn(row.kind, cx)
            }
            (Command::Back, _) => Outcome::Out,
            _ => Outcome::Done,
        }
    }

    fn rows_by(&self) -> Option<By> {
        None
    }

    fn heading_at(&self, at: Position, cx: &Context<'_>) -> Option<usize> {
        let [_, body, _] = panes(cx, cx.area());
        let rows = &self.list.rows;
        let shown = rows.get(self.list.cursor.top..).unwrap_or_default();
        let shown = shown.get(..rows_in(body)).unwrap_or(shown);
        table(self.sort, cx, shown).heading_at(at, body, &self.list)
    }

    fn select_at(&mut self, at: Position, cx: &Context<'_>) -> Option<bool> {
        let [_, body, _] = panes(cx, cx.area());
        self.list.select_at(at, body)
    }

    fn source_line(&self, cx: &Context<'_>) -> Option<SourceLine> {
        SourceLine::of(cx.data, cx.data.site(self.site()?)?.owner?)
    }

    fn searched(&self) -> Option<(&'static str, Option<Pattern>)> {
        Some(("filter", self.search.pattern().cloned()))
    }

    fn search(&mut self, pattern: Option<Pattern>, cx: &Context<'_>) {
        self.search.set(pattern);
        self.fill(cx, false);
    }

    fn found(&self, cx: &Context<'_>) -> Option<String> {
        let rows = self.list.rows.iter();
        let matches = rows.filter(|line| line.row().is_some()).count();
        let part = || {
            let (bytes, _) = live(&self.list.rows);
            let share = Share::of(bytes, cx.data.profile.totals().live_bytes);
            format!("{share} of all live bytes")
        };
        self.search.found_rows(matches, "row", part)
    }

    fn render(&self, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
        let [title, body, details] = panes(cx, area);
        let leaks = cx.data.leaks();
        let mut lines = Lines::new(title, buffer);
        let found = self.found(cx).map(|found| format!("leaks › {found}"));
        let text = found.unwrap_or_else(|| heading(cx.data, leaks.as_deref()));
        lines.line(&clean(&text), theme::heading());
        let empty = if cx.data.is_computing() {
            "computing".to_owned()
        } else {
            self.search.empty("nothing is live: every block was freed")
        };
        let visible = self
            .list
            .rows
            .get(self.list.cursor.top..)
            .unwrap_or_default();
        let visible = visible.get(..rows_in(body)).unwrap_or(visible);
        table(self.sort, cx, visible).render(body, buffer, &self.list, &empty);
        let lines = Lines::new(details, buffer);
        match self.list.selected() {
            Some(Line::Row(row)) => self.details(row, cx, lines),
            Some(Line::Group { kind, .. }) => group_details(*kind, lines),
            None => {}
        }
    }
}

/// Returns what is live in each group, and since when growth is counted.
fn heading(data: &Data, leaks: Option<&Leaks>) -> String {
    let profile = &data.profile;
    let mark = data.mark(Measure::Live);
    let totals = profile.totals();
    let title = Measure::Live.title_in(profile.process().state);
    let when = title.trim_start_matches("bytes ");
    let mut text = format!(
        "{mark}{} {when} in {}",
        Bytes(totals.live_bytes),
        profile.number("live_blocks").of("block")
    );
    let Some(leaks) = leaks else {
        return text;
    };
    for kind in [Kind::Static, Kind::Start] {
        let (bytes, _) = leaks.live(kind);
        if bytes > 0 {
            text.push_str(&format!(", {} {mark}{}", kind.title(), Bytes(bytes)));
        }
    }
    if let Some(since) = leaks.since {
        text.push_str(&format!("; growth since {}", since.name(profile)));
    }
    text
}

/// Adds the column of growth.
fn growth<'a>(table: Table<'a, Line>) -> Table<'a, Line> {
    table.right(Heading::GROWN, |line| {
        let grown = line.row().map(|row| row.grown.difference().0);
        grown.map_or_else(String::new, signed)
    })
}

/// Returns the table of live blocks. `shown` decides the widths of names.
fn table<'a>(sort: Sort, cx: &'a Context<'_>, shown: &[Line]) -> Table<'a, Line> {
    let is_wide = cx.body.width >= 100;
    let leaks = cx.data.leaks();
    let has_unreachable = leaks.is_some_and(|leaks| leaks.has_unreachable);
    // A sum of recordings has no moments.
    let has_moments = cx.data.profile.process().merged.is_none();
    let is_by_growth = cx.data.profile.process().state == State::Running;
    let table = Table::sorted(cx, sort);
    // Rows have the order of the first column.
    let table = if is_by_growth {
        growth(table).in_given_order("growth")
    } else {
        table
    };
    let table = table.right(Heading::of(Measure::Live), |line: &Line| {
        Bytes(line.live().0).to_string()
    });
    let table = if is_by_growth {
        table.by_size(|line| line.live().0)
    } else {
        table.in_given_order("live")
    };
    let table = table
        .right(Heading::blocks_of(Measure::Live), |line| {
            Count(line.live().1).to_string()
        })
        .by_size(|line| line.live().1)
        .only_if_sorted_or(is_wide);
    let table = if is_by_growth {
        table
    } else {
        growth(table)
            .by_size(Line::grown_bytes)
            .only_if(has_moments)
    };
    let table = table
        .right(Heading::AGE, |line| {
            let age = line.row().map(|row| row.age).unwrap_or_default();
            match (age.at_least_ns, age.at_most_ns) {
                (Some(least), _) => format!(">={}", Nanos(least)),
                (None, Some(most)) => format!("<={}", Nanos(most)),
                (None, None) => String::new(),
            }
        })
        .by_size(|line| line.row().and_then(|row| row.age.at_least_ns))
        .only_if(has_moments)
        .some(Heading::UNREACHED, |line| {
            line.row().map_or(0, |row| row.unreachable_bytes)
        })
        .only_if(has_unreachable);
    let free = usize::from(cx.body.width).saturating_sub(table.taken());
    let labels: Vec<_> = shown
        .iter()
        .map(|line| (line.label(), line.live().0))
        .collect();
    let labels: Vec<_> = labels.iter().map(|(label, live)| (label, *live)).collect();
    let widths = NameWidths::of(&labels, free);
    table
        .left("allocated as", widths.what, |line, _| {
            let style = match line {
                Line::Row(row) => {
                    let site = row.sites.first();
                    let site = site.and_then(|&site| cx.data.site(site as u32));
                    let id = site.and_then(|site| cx.data.profile.type_id_of(site));
                    theme::kind(cx.data.type_kind(id))
                }
                Line::Group { .. } => theme::strong(),
            };
            (line.label().what, style)
        })
        .shortened_together(fit_types)
        .left("where", widths.location, |line, cells| {
            let label = line.label();
            let place = fit_place(&label.location, label.place(), cells);
            (place, theme::plain())
        })
        .only_if(widths.location > 0)
        .left("owner", widths.owner, |line, _| {
            (line.label().owner_and_source(), theme::plain())
        })
        .shortened(fit_owner)
}

impl LeakList {
    fn details(&self, row: &LeakRow, cx: &Context<'_>, mut lines: Lines<'_>) {
        let profile = &cx.data.profile;
        lines.rule(&self.list.place("row"));
        let label = &row.label;
        let owner = label.owner_and_source();
        let names = [&label.what, &label.location, &owner].into_iter();
        let names: Vec<_> = names
            .filter(|name| !name.is_empty())
            .map(|name| clean(name))
            .collect();
        lines.line(&names.join(" · "), theme::strong());
        let figures = &row.figures;
        let number = |key| figures.number(key);
        let mut items = vec![amount("live", figures.live_bytes, number("live_blocks"))];
        items.extend(interval(Measure::Live, figures));
        if profile.process().merged.is_none() {
            let (bytes, blocks) = row.grown.from;
            items.push(match figures.samples() {
                Some(_) => format!("then ~{}", Bytes(bytes)),
                None => amount("then", bytes, Number::exact(blocks)),
            });
        }
        items.push(format!("freed {}", number("freed_blocks")));
        items.extend(row.age.text().map(|age| format!("median age {age}")));
        lines.flow(&items, theme::plain());
        lines.flow(&profile.block_details(&row.sites, figures), theme::dim());
        if row.unreachable_bytes > 0 {
            let text = format!(
                "nothing reached {} of it in two snapshots",
                Bytes(row.unreachable_bytes)
            );
            lines.line(&text, theme::warning());
        }
    }
}

fn group_details(kind: Kind, mut lines: Lines<'_>) {
    lines.rule(kind.title());
    let text = match kind {
        Kind::Static => {
            "A static or a thread-local holds these: they were allocated while it was initialized, \
             or the last snapshot shows it. They stay until the program ends. Enter: show them."
        }
        _ => {
            "The standard library needs these to start the program and its threads. No code of the \
             program asked for them. Enter: show them."
        }
    };
    lines.paragraph(text, theme::dim());
}
