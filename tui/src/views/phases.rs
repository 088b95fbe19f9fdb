//! Phases of the program, as a tree, below a timeline with those that ended: their time, what they
//! allocated and what stayed, for each record and each byte of their input. Enter leads to the
//! sites of a phase. Rows are computed when something changes, never while drawing.

use std::sync::Arc;

use heapglass_profiler::diff::Identity;
use heapglass_profiler::profile::{Figures, ScopeId};
use heapglass_profiler::table::{By, Detail, Heading, PhaseDetail, Row, preorder};
use heapglass_profiler::units::{Nanos, counted};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::model::keys::{BACK, Binding, ENTER, bindings, char};
use crate::model::{Command, Context, Jump, Outcome, Pattern, ViewId};
use crate::text::{clean, fit_branch};
use crate::theme;
use crate::views::{View, timeline};
use crate::widgets::{
    Lines, List, Matches, Search, SearchNode, Table, all_figures, rows_in, signed, split,
};

/// The keys of this view.
pub(crate) const BINDINGS: &[Binding] = bindings! {
    ENTER => Enter, "sites", "show its sites";
    BACK => Back, "out", "end the search, go out";
    [char('/')] => Search, "search", "search by regex";
    [char('n')] => Next, "", "go to the next match";
    [char('N')] => Previous, "", "go to previous match";
};

/// The phases, each below the one around it, with a selection.
#[derive(Debug, Default)]
pub(crate) struct PhaseTree {
    list: List<Line>,
    search: Search,
}

/// A phase.
#[derive(Clone, Debug)]
struct Line {
    row: Arc<Row>,
    detail: PhaseDetail,
    depth: usize,
    /// The innermost name.
    name: String,
    /// `true` if the search finds it.
    is_match: bool,
}

/// Returns the areas of chart, table and details.
fn panes(cx: &Context<'_>, area: Rect) -> [Rect; 3] {
    let details = cx.lines_below(if area.height >= 16 { 5 } else { 0 });
    let chart = timeline::height(cx, area);
    split(area, [chart, area.height - details - chart, details])
}

/// Returns the rows, each below the phase around it, the largest of the measure first. `None` while
/// another thread computes them.
fn in_order(cx: &Context<'_>) -> Option<Vec<Line>> {
    let rows = cx.rows(By::Phase)?;
    let phases = cx.data.profile.phases();
    let details: Vec<(Arc<Row>, PhaseDetail)> = rows
        .into_iter()
        .filter_map(|row| match &row.detail {
            Detail::Phase(detail) => {
                let detail = *detail.clone();
                Some((row, detail))
            }
            _ => None,
        })
        .collect();
    // The root is around no phase: it stands for what is in none.
    let around = |detail: &PhaseDetail| {
        let parent = phases.parent(detail.scope);
        let is_parent = |(_, other): &(Arc<Row>, PhaseDetail)| other.scope == parent;
        let found = details.iter().position(is_parent);
        found.filter(|_| parent != ScopeId(0) && parent < detail.scope)
    };
    let parents: Vec<Option<usize>> = details.iter().map(|(_, detail)| around(detail)).collect();
    let weights: Vec<u64> = details
        .iter()
        .map(|(row, detail)| cx.measure.shown(inclusive(row, detail)))
        .collect();
    let ordered = preorder(&parents, &weights, usize::MAX).into_iter();
    let line = |(at, depth): (usize, usize)| {
        let (row, detail) = details.get(at)?;
        let scope = cx.data.profile.scopes().get(detail.scope.0 as usize);
        let name = scope
            .map(|scope| scope.name.clone())
            .filter(|_| detail.scope != ScopeId(0));
        Some(Line {
            name: name.unwrap_or_else(|| row.key.clone()),
            row: Arc::clone(row),
            detail: detail.clone(),
            depth,
            is_match: false,
        })
    };
    Some(ordered.filter_map(line).collect())
}

/// Returns the figures of a phase with those inside it. What is in no phase is around none.
fn inclusive<'a>(row: &'a Row, detail: &'a PhaseDetail) -> &'a Figures {
    if detail.scope == ScopeId(0) {
        &row.figures
    } else {
        &detail.with_inner
    }
}

impl PhaseTree {
    /// Finds the phases whose innermost name matches. The phases around them stay listed.
    fn find(&mut self, cx: &Context<'_>) {
        let lines = &self.list.rows;
        self.search.mark(|pattern| {
            // The lines from the root to the current one.
            let mut around: Vec<u32> = Vec::new();
            Matches::of((0..).zip(lines).map(|(at, line)| {
                around.truncate(line.depth);
                let parent = around.last().copied();
                around.push(at);
                SearchNode {
                    parent,
                    is_match: pattern.is_match(&line.name),
                    value: cx.measure.shown(inclusive(&line.row, &line.detail)),
                }
            }))
        });
        for (at, line) in (0..).zip(&mut self.list.rows) {
            line.is_match = self.search.matches.contains(at);
        }
    }
}

impl View for PhaseTree {
    fn refresh(&mut self, cx: &Context<'_>) {
        let key = |line: &Line| line.row.key.clone();
        let [_, table, _] = panes(cx, cx.area());
        let height = rows_in(table);
        self.list.replace_known(in_order(cx), key, false, height);
        self.find(cx);
    }

    fn command(&mut self, command: Command, cx: &Context<'_>) -> Outcome {
        if self.list.command(command) {
            return Outcome::Done;
        }
        let reveal = |at: u32| self.list.select(at as usize);
        if let Some(outcome) = self.search.step_node(command, reveal) {
            return outcome;
        }
        match command {
            Command::Enter => {
                let key = self.list.selected().map(|line| line.row.key.clone());
                let jump = key.map(|key| Jump::Group(By::Phase, key));
                Outcome::goto(ViewId::Sites, jump, "no phase is selected")
            }
            Command::Back if self.search.end() => {
                self.find(cx);
                Outcome::Done
            }
            Command::Back => Outcome::Out,
            _ => Outcome::Done,
        }
    }

    fn rows_by(&self) -> Option<By> {
        Some(By::Phase)
    }

    fn select_at(&mut self, at: Position, cx: &Context<'_>) -> Option<bool> {
        let [_, table, _] = panes(cx, cx.area());
        self.list.select_at(at, table)
    }

    fn searched(&self) -> Option<(&'static str, Option<Pattern>)> {
        Some(("search", self.search.pattern().cloned()))
    }

    fn search(&mut self, pattern: Option<Pattern>, cx: &Context<'_>) {
        self.search.set(pattern);
        self.find(cx);
    }

    fn found(&self, cx: &Context<'_>) -> Option<String> {
        self.search.found_nodes("phase", cx.whole(), "all")
    }

    fn render(&self, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
        let [chart, table, details] = panes(cx, area);
        let overlay = timeline::Overlay {
            has_phases: true,
            ..timeline::Overlay::default()
        };
        timeline::render(cx.data, overlay, chart, buffer);
        let value = |line: &Line| cx.measure.shown(inclusive(&line.row, &line.detail));
        let has = |is: fn(&PhaseDetail) -> bool| {
            let mut lines = self.list.rows.iter();
            lines.any(|line| is(&line.detail))
        };
        let is_wide = area.width >= 100;
        Table::new(cx)
            .share(Heading::SHARE, value, cx.whole())
            .figure(Heading::inclusive(cx.measure), value)
            .figure(Heading::own(cx.measure), |line| {
                cx.measure.shown(&line.row.figures)
            })
            .only_if(is_wide)
            .change(By::Phase, Heading::OWN_CHANGE, |line| {
                Some(Identity::named(&line.row.key))
            })
            .right(Heading::ELAPSED, |line| {
                let known = line.detail.elapsed_ns.map(|ns| Nanos(ns).to_string());
                let unknown = if line.detail.entered > 0 { "-" } else { "" };
                known.unwrap_or_else(|| unknown.to_owned())
            })
            .right(Heading::STAYED, |line| {
                line.detail.stayed_bytes.map_or_else(String::new, signed)
            })
            .some(Heading::ENTERED, |line| line.detail.entered)
            .only_if(is_wide)
            .right(Heading::TOTAL_PER_BYTE, |line| {
                let [per_byte, _] = line.detail.total_each_texts();
                per_byte.unwrap_or_default()
            })
            .only_if(is_wide && has(|detail| detail.input_bytes > 0))
            .right(Heading::TOTAL_PER_RECORD, |line| {
                let [_, per_record] = line.detail.total_each_texts();
                per_record.unwrap_or_default()
            })
            .only_if(area.width >= 72 && has(|detail| detail.records > 0))
            .left("phase", 0, |line, _| {
                let indent = "  ".repeat(line.depth.min(40));
                if line.is_match {
                    (format!("{indent}{} ◆", line.name), theme::key())
                } else {
                    (format!("{indent}{}", line.name), theme::plain())
                }
            })
            .shortened(fit_branch)
            .render(table, buffer, &self.list, "no phases were recorded");
        if let Some(line) = self.list.selected() {
            let name = clean(&line.row.key);
            let name = (&*name, 1, theme::strong());
            let place = self.list.place("phase");
            let title = self
                .found(cx)
                .map(|found| format!("{place} · {found}"))
                .unwrap_or(place);
            let mut lines = Lines::details(details, buffer, &title, name);
            let detail = &line.detail;
            let mut items = all_figures(cx.measure, inclusive(&line.row, detail));
            if detail.entered > 0 {
                items.push(format!("entered {}", counted(detail.entered, "time")));
            }
            lines.flow(&items, theme::plain());
            let input = [detail.input_text(true), detail.records_text(true)];
            let each = [detail.per_input_byte_text(), detail.per_record_text()];
            let items: Vec<String> = input.into_iter().chain(each).flatten().collect();
            lines.flow(&items, theme::dim());
        }
    }
}
