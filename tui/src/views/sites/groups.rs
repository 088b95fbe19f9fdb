//! Sites added up by owner, function, crate or loaded image, as the report has them; a function with who calls it and what
//! it calls. Enter leads to the sites of a row.

use std::cmp::Reverse;

use heapglass_profiler::diff::Identity;
use heapglass_profiler::profile::{Charged, Figures};
use heapglass_profiler::report::{By, Detail, FunctionDetail, Part, Row};
use heapglass_profiler::units::{Count, Share};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::model::{Command, Context, Pattern, Rows};
use crate::text::{clean, fit_end, wrap};
use crate::theme;
use crate::widgets::{Cursor, Table, all_figures, count, flow, rule, slice, write};

/// The groupings, in the order of the key that goes through them.
const ALL: [By; 4] = [By::Owner, By::Function, By::Crate, By::Module];

/// The rows of a grouping, and which one is selected.
#[derive(Debug, Default)]
pub(super) struct Groups {
    /// `None` = sites are listed one by one.
    by: Option<By>,
    rows: Rows,
    /// Indexes into the rows: what is listed, in its order.
    order: Vec<usize>,
    cursor: Cursor,
    /// Functions in the order of what they allocated with all that they call.
    by_inclusive: bool,
    reversed: bool,
    pub(super) filter: Option<Pattern>,
}

impl Groups {
    /// What the groups are.
    pub(super) fn by(&self) -> Option<By> {
        self.by
    }

    /// Whether groups are listed.
    pub(super) fn is_open(&self) -> bool {
        self.by().is_some()
    }

    /// The next grouping; after the last one sites are listed one by one.
    pub(super) fn next(&mut self, cx: &Context<'_>) {
        let at = self.by.and_then(|by| ALL.iter().position(|b| *b == by));
        self.by = ALL.get(at.map_or(0, |at| at + 1)).copied();
        (self.cursor, self.filter, self.reversed) = (Cursor::default(), None, false);
        self.refresh(cx);
    }

    pub(super) fn close(&mut self) {
        self.by = None;
    }

    /// Brings the rows up to date; the same one stays selected where it still is in the list.
    pub(super) fn refresh(&mut self, cx: &Context<'_>) {
        let Some(by) = self.by else {
            return;
        };
        let kept = self.selected().filter(|_| self.cursor.selected > 0);
        let kept = kept.map(|row| row.key.clone());
        self.rows.refresh(cx.data, by, cx.measure, cx.frames);
        self.list(kept.as_deref(), cx);
    }

    fn list(&mut self, kept: Option<&str>, cx: &Context<'_>) {
        let filter = self.filter.as_ref();
        let listed =
            |(_, row): &(usize, &Row)| filter.is_none_or(|filter| filter.is_match(&row.key));
        let listed = self.rows.all().iter().enumerate().filter(listed);
        self.order = listed.map(|(at, _)| at).collect();
        if self.by_inclusive && self.by == Some(By::Function) {
            let value = |at: &usize| self.rows.all().get(*at).map_or(0, |row| inclusive(row, cx));
            self.order.sort_by_key(|at| Reverse(value(at)));
        }
        if self.reversed {
            self.order.reverse();
        }
        let is_it = |at: &usize| self.rows.all().get(*at).map(|row| row.key.as_str()) == kept;
        let at = kept.and_then(|_| self.order.iter().position(is_it));
        self.cursor.selected = at.unwrap_or(0);
        self.cursor.clamp(self.order.len(), self.shown_rows(cx));
    }

    fn selected(&self) -> Option<&Row> {
        self.rows.all().get(*self.order.get(self.cursor.selected)?)
    }

    /// The selected row: its grouping and key.
    pub(super) fn key(&self) -> Option<(By, String)> {
        Some((self.by?, self.selected()?.key.clone()))
    }

    /// The function, or place, that the selected row stands for in the flamegraph.
    pub(super) fn charged(&self, cx: &Context<'_>) -> Option<Charged> {
        cx.data.charged(self.selected()?)
    }

    /// Acts on what moves and sorts: `None` = the command is not for groups; else what to say.
    pub(super) fn command(&mut self, command: Command, cx: &Context<'_>) -> Option<String> {
        let rows = self.shown_rows(cx);
        if self.cursor.command(command, self.order.len(), rows) {
            return Some(String::new());
        }
        let kept = self.selected().map(|row| row.key.clone());
        let said = match command {
            Command::Sort if self.by == Some(By::Function) => {
                self.by_inclusive = !self.by_inclusive;
                self.reversed = false;
                match self.by_inclusive {
                    true => "sorted by what functions allocate with all that they call",
                    false => "sorted by what functions allocate themselves",
                }
            }
            Command::Sort => "there is one order: the measure, m",
            Command::ReverseSort => {
                self.reversed = !self.reversed;
                ""
            }
            _ => return None,
        };
        self.list(kept.as_deref(), cx);
        Some(said.to_owned())
    }

    pub(super) fn search(&mut self, pattern: Option<Pattern>, cx: &Context<'_>) {
        self.filter = pattern;
        self.list(None, cx);
    }

    fn shown_rows(&self, cx: &Context<'_>) -> usize {
        let details = self.details_height(cx.body.height);
        usize::from(cx.body.height.saturating_sub(1 + details))
    }

    /// Lines of the details below the list, their rule included.
    fn details_height(&self, height: u16) -> u16 {
        match self.by {
            _ if height < 12 => 0,
            Some(By::Function) => (height / 2).min(16),
            _ => 5,
        }
    }

    pub(super) fn render(&self, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
        let details = self.details_height(area.height);
        self.table(cx, slice(area, 0, area.height - details), buffer);
        if let Some(row) = self.selected().filter(|_| details > 0) {
            let rest = slice(area, area.height - details, details);
            self.details(row, cx, rest, buffer);
        }
    }

    fn table(&self, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
        let functions = self.by == Some(By::Function);
        let wide = area.width >= 100;
        let value = |row: &&Row| cx.measure.of(&row.figures);
        let (_, unit) = cx.measure.blocks(&Figures::default());
        let mark = |on: bool| match (on, self.reversed) {
            (false, _) => "",
            (true, true) => "▲",
            (true, false) => "▼",
        };
        let inclusive_first = functions && self.by_inclusive;
        let own = match functions {
            true => format!("self{}", mark(!inclusive_first)),
            false => format!("{}{}", cx.measure.name(), mark(true)),
        };
        let mut table = Table::new()
            .right("share", 7, move |row: &&Row| {
                let of = match inclusive_first {
                    true => inclusive(row, cx),
                    false => value(row),
                };
                Share::of(of, cx.whole()).to_string()
            })
            .right(own, 11, move |row| cx.measure.amount(value(row)))
            .right_if(
                functions,
                format!("inclusive{}", mark(inclusive_first)),
                11,
                |row| cx.measure.amount(inclusive(row, cx)),
            )
            .change(cx, self.by.unwrap_or_default(), "change", |row| {
                Some(Identity::of(&cx.data.profile, row))
            })
            .right_if(wide || !functions, unit, 10, |row| {
                count(cx.measure.blocks(&row.figures).0)
            })
            .right_if(!functions, "stacks", 7, |row| match &row.detail {
                Detail::Owner { sites, .. } => count(sites.len() as u64),
                Detail::Code { sites } => count(*sites),
                _ => String::new(),
            });
        table = table.left(self.by.map_or("", By::name), 0, |row: &&Row, cells| {
            (
                fit_end(&clean(&row.key), cells).into_owned(),
                style(row, cx),
            )
        });
        let rows: Vec<&Row> = (self.order.iter())
            .filter_map(|at| self.rows.all().get(*at))
            .collect();
        let empty = match &self.filter {
            Some(filter) => format!("none matches /{}/; Esc shows all", clean(&filter.text)),
            None => "no sites were recorded".to_owned(),
        };
        let selected = (self.cursor, theme::selected());
        table.render(area, buffer, rows.into_iter(), selected, &empty);
    }

    fn details(&self, row: &Row, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
        let mut title = format!(
            "{} {} of {}",
            self.by.map_or("", By::name),
            Count(self.cursor.selected as u64 + 1),
            Count(self.order.len() as u64)
        );
        if let Some(filter) = &self.filter {
            title = format!("{title} · /{}/", clean(&filter.text));
        }
        rule(buffer, area, &title);
        let lines = wrap(&clean(&row.key), area.width as usize, 2);
        for (at, line) in (1..).zip(&lines) {
            write(buffer, slice(area, at, 1), line, style(row, cx));
        }
        let used = 1 + lines.len() as u16;
        let rest = slice(area, used, area.height.saturating_sub(used));
        let used = flow(buffer, rest, &all_figures(&row.figures), theme::plain());
        let rest = slice(rest, used, rest.height.saturating_sub(used));
        if let Detail::Function(detail) = &row.detail {
            let left = rest.width / 2;
            let callers = Rect {
                width: left.saturating_sub(1),
                ..rest
            };
            let callees = Rect {
                x: rest.x + left,
                width: rest.width - left,
                ..rest
            };
            calls("called by", &detail.callers, detail, cx, callers, buffer);
            calls("calls", &detail.callees, detail, cx, callees, buffer);
        }
    }
}

/// With all that a function calls; of any other row what it is.
fn inclusive(row: &Row, cx: &Context<'_>) -> u64 {
    match &row.detail {
        Detail::Function(detail) => cx.measure.of(&detail.inclusive),
        _ => cx.measure.of(&row.figures),
    }
}

fn style(row: &Row, cx: &Context<'_>) -> Style {
    match &row.detail {
        Detail::Code { .. } => theme::plain(),
        _ => theme::charged(&cx.data.profile, cx.data.charged(row)),
    }
}

/// Who called a function, or what it called, most of the measure first.
fn calls(
    title: &str,
    parts: &[Part],
    detail: &FunctionDetail,
    cx: &Context<'_>,
    area: Rect,
    buffer: &mut Buffer,
) {
    let whole = cx.measure.of(&detail.inclusive);
    let value = |part: &Part| cx.measure.of(&part.figures);
    let mut parts: Vec<&Part> = parts.iter().collect();
    parts.sort_by_key(|part| Reverse(value(part)));
    Table::new()
        .right("share", 7, |part: &&Part| {
            Share::of(value(part), whole).to_string()
        })
        .right(cx.measure.name(), 10, |part| cx.measure.amount(value(part)))
        .left(title, 0, |part, cells| {
            let text = fit_end(&clean(&part.key), cells).into_owned();
            (text, theme::plain())
        })
        .render(
            area,
            buffer,
            parts.into_iter(),
            (
                Cursor {
                    selected: usize::MAX,
                    top: 0,
                },
                theme::plain(),
            ),
            "nothing",
        );
}
