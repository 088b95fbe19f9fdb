//! Advice: changes that save memory, by what they save, the largest saving of each list first.
//! Enter leads to the site of a finding. Texts are computed when something changes, never while
//! drawing.

use heapglass_profiler::advice::{Finding, OVERLAP, SAMPLED, SavesOf, Texts};
use heapglass_profiler::table::{By, Heading};
use heapglass_profiler::units::{Bytes, Count, counted};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::model::keys::{BACK, Binding, ENTER, bindings, char};
use crate::model::{Command, Context, Jump, Outcome, Pattern, SourceLine, ViewId};
use crate::text::{fit_middle, fit_owner};
use crate::theme;
use crate::views::View;
use crate::widgets::{Lines, List, Search, Table, rows_in, split};

/// The keys of this view.
pub(crate) const BINDINGS: &[Binding] = bindings! {
    ENTER => Enter, "site", "show its stack and source";
    BACK => Back, "out", "end the filter, go out";
    [char('o')] => Follow, "flamegraph", "show in flamegraph";
    [char('w')] => WhoHolds, "holder", "show who holds it";
    [char('e')] => OpenAll, "all", "show small ones, or not";
    [char('/')] => Search, "filter", "filter findings by regex";
    [char('n')] => Next, "", "go to the next match";
    [char('N')] => Previous, "", "go to previous match";
};

/// The findings, with a selection.
#[derive(Debug, Default)]
pub(crate) struct Advice {
    list: List<Line>,
    /// `true` if small findings are shown.
    has_all: bool,
    search: Search,
}

/// A finding with its texts.
#[derive(Clone, Debug)]
struct Line {
    finding: Finding,
    texts: Texts,
}

impl Line {
    /// Returns `true` if the regex matches a text of the finding.
    fn is_match(&self, pattern: &Pattern) -> bool {
        let texts = &self.texts;
        let holder = texts.holder.as_deref().unwrap_or_default();
        let all = [&texts.heading, &texts.place, &texts.owner, &texts.remedy];
        all.into_iter().any(|text| pattern.is_match(text)) || pattern.is_match(holder)
    }
}

/// Returns the areas of title, table and details.
fn panes(cx: &Context<'_>, area: Rect) -> [Rect; 3] {
    let title = u16::from(area.height >= 4);
    let details = match area.height {
        0..12 => 0,
        height => cx.lines_below((height / 2).min(12)),
    };
    split(area, [title, area.height - details - title, details])
}

impl Advice {
    /// Shows the findings. Returns `false` while another thread computes them.
    fn fill(&mut self, cx: &Context<'_>, keep_first: bool) -> bool {
        let profile = &cx.data.profile;
        let line = |finding: &Finding| Line {
            texts: Texts::of(profile, finding),
            finding: finding.clone(),
        };
        let findings = cx.data.findings(self.has_all);
        let lines: Option<Vec<Line>> = findings.map(|findings| findings.iter().map(line).collect());
        let is_known = lines.is_some();
        let lines = lines.map(|mut lines| {
            self.search
                .retain(&mut lines, |pattern, line| line.is_match(pattern));
            lines
        });
        let key = |line: &Line| (line.finding.kind, line.finding.place.clone());
        let [_, table, _] = panes(cx, cx.area());
        let rows = rows_in(table);
        self.list.replace_known(lines, key, keep_first, rows);
        is_known
    }

    fn site(&self) -> Option<Jump> {
        let site = self.list.selected()?.finding.place.sites.first()?;
        Some(Jump::Site(u32::try_from(*site).ok()?))
    }
}

impl View for Advice {
    fn refresh(&mut self, cx: &Context<'_>) {
        self.fill(cx, false);
    }

    fn command(&mut self, command: Command, cx: &Context<'_>) -> Outcome {
        const NO_SITE: &str = "this finding is about no single site";
        if self.list.command(command) {
            return Outcome::Done;
        }
        if let Some(outcome) = self.search.step(&mut self.list, command, |_| true) {
            return outcome;
        }
        match command {
            Command::Enter => Outcome::goto(ViewId::Sites, self.site(), NO_SITE),
            Command::Follow => Outcome::goto(ViewId::Flamegraph, self.site(), NO_SITE),
            Command::WhoHolds if cx.data.profile.snapshots().is_empty() => {
                Outcome::notice(cx.data.no_snapshot())
            }
            Command::WhoHolds => Outcome::goto(ViewId::Heap, self.site(), NO_SITE),
            Command::OpenAll => {
                self.has_all = !self.has_all;
                let is_known = self.fill(cx, true);
                let which = if self.has_all {
                    "small ones included"
                } else {
                    "without small ones"
                };
                // The header says that they are being computed.
                let rows = if is_known {
                    counted(self.list.rows.len() as u64, "finding")
                } else {
                    "findings".to_owned()
                };
                Outcome::notice(format!("{rows}, {which}"))
            }
            Command::Back if self.search.end() => {
                self.fill(cx, false);
                Outcome::Done
            }
            Command::Back => Outcome::Out,
            _ => Outcome::Done,
        }
    }

    fn rows_by(&self) -> Option<By> {
        None
    }

    fn select_at(&mut self, at: Position, cx: &Context<'_>) -> Option<bool> {
        let [_, table, _] = panes(cx, cx.area());
        self.list.select_at(at, table)
    }

    fn source_line(&self, cx: &Context<'_>) -> Option<SourceLine> {
        let site = *self.list.selected()?.finding.place.sites.first()?;
        SourceLine::of(cx.data, cx.data.site(u32::try_from(site).ok()?)?.owner?)
    }

    fn searched(&self) -> Option<(&'static str, Option<Pattern>)> {
        Some(("filter", self.search.pattern().cloned()))
    }

    fn search(&mut self, pattern: Option<Pattern>, cx: &Context<'_>) {
        self.search.set(pattern);
        self.fill(cx, false);
    }

    fn found(&self, _: &Context<'_>) -> Option<String> {
        // A sum of savings would count bytes twice.
        let part = || "whose savings may overlap".to_owned();
        self.search
            .found_rows(self.list.rows.len(), "finding", part)
    }

    fn render(&self, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
        let [title, table, details] = panes(cx, area);
        let mut lines = Lines::new(title, buffer);
        if self.list.rows.is_empty() {
            let text = if cx.data.is_computing() {
                "computing".to_owned()
            } else if self.search.pattern().is_some() {
                self.search.empty("")
            } else if cx.data.profile.capture().sampling.is_some() {
                format!("No findings: {SAMPLED}.")
            } else if self.has_all {
                "No findings.".to_owned()
            } else {
                "No findings. e also shows small ones.".to_owned()
            };
            lines.rest = area;
            lines.paragraph(&text, theme::plain());
            return;
        }
        let findings = counted(self.list.rows.len() as u64, "finding");
        let overlap = if self.list.rows.len() > 1 {
            OVERLAP
        } else {
            ""
        };
        let title = self
            .found(cx)
            .map(|found| format!("advice › {found}"))
            .unwrap_or_else(|| format!("{findings}. {overlap}"));
        lines.line(&title, theme::heading());
        let kind = |line: &Line| line.finding.kind;
        let is_wide = area.width >= 100;
        Table::new(cx)
            .right(Heading::SAVES, move |line: &Line| {
                if kind(line).saves_nothing() || kind(line).saves_blocks_only() {
                    "-".to_owned()
                } else {
                    Bytes(line.finding.saves_bytes).to_string()
                }
            })
            .right(Heading::SAVES_BLOCKS, |line| {
                match line.finding.saves_blocks {
                    0 => String::new(),
                    blocks => Count(blocks).to_string(),
                }
            })
            .only_if(is_wide)
            .left("of", 9, |line, _| {
                let saves_of = line.finding.saves_of().map_or("", SavesOf::name);
                (saves_of.to_owned(), theme::dim())
            })
            .left("change", 18, move |line, _| {
                (kind(line).name().to_owned(), theme::key())
            })
            .left("where", if is_wide { 0 } else { 24 }, |line, _| {
                (line.texts.place.clone(), theme::plain())
            })
            .shortened(fit_middle)
            .only_if(area.width >= 96)
            .left("owner", 0, |line, _| {
                (line.texts.owner.clone(), theme::plain())
            })
            .shortened(fit_owner)
            .render(table, buffer, &self.list, "");
        let Some(line) = self.list.selected() else {
            return;
        };
        let mut lines = Lines::new(details, buffer);
        lines.rule(&self.list.place("finding"));
        let texts = &line.texts;
        let place = [texts.place.as_str(), texts.owner.as_str()];
        let place = place.join("  ");
        let parts = [
            (texts.heading.as_str(), theme::strong()),
            (place.trim(), theme::plain()),
            (texts.holder.as_deref().unwrap_or_default(), theme::plain()),
            (texts.remedy.as_str(), theme::dim()),
        ];
        for (text, style) in parts.into_iter().filter(|(text, _)| !text.is_empty()) {
            lines.paragraph(text, style);
        }
    }
}
