//! The parts of one thing as a table, largest first: a type by its fields, a field by its types. Each part leads to its
//! sites. Must keep the sum: the parts of a thing add up to it.

use std::cmp::Reverse;

use heapglass_profiler::profile::Figures;
use heapglass_profiler::units::Share;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::model::{Command, Context, Jump, Outcome, ViewId, Within};
use crate::text::{fit_end, wrap};
use crate::theme;
use crate::widgets::{Cursor, Table, all_figures, count, flow, rule, slice, write};

/// One part.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// Clean.
    pub(crate) name: String,
    /// The name in full, clean.
    pub(crate) full: String,
    pub(crate) style: Style,
    pub(crate) figures: Figures,
    pub(crate) sites: u64,
    pub(crate) within: Option<Within>,
}

/// All parts, and which one is selected.
#[derive(Clone, Debug, Default)]
pub(crate) struct Breakdown {
    /// What it is a breakdown of, clean.
    pub(crate) of: String,
    /// What the parts are: `field`, `type`.
    noun: &'static str,
    parts: Vec<Part>,
    cursor: Cursor,
}

/// Lines of the details below the table, its rule included.
const DETAILS: u16 = 6;

impl Breakdown {
    pub(crate) fn new(of: String, noun: &'static str, parts: Vec<Part>) -> Self {
        Breakdown {
            of,
            noun,
            parts,
            cursor: Cursor::default(),
        }
    }

    /// Puts the parts in the order of the measure, and the selection where it was in `before`.
    pub(crate) fn settle(&mut self, before: Option<&Breakdown>, cx: &Context<'_>) {
        let key = |part: &Part| (Reverse(cx.measure.of(&part.figures)), part.full.clone());
        self.parts.sort_by_cached_key(key);
        if let Some(before) = before {
            let kept = before.selected().map(|part| &part.full);
            let at = self.parts.iter().position(|part| Some(&part.full) == kept);
            self.cursor = Cursor {
                selected: at.unwrap_or(0),
                top: before.cursor.top,
            };
        }
        self.cursor.clamp(self.parts.len(), rows(cx));
    }

    fn selected(&self) -> Option<&Part> {
        self.parts.get(self.cursor.selected)
    }

    /// Acts on what moves and on Enter; `None` = the command is not for a breakdown.
    pub(crate) fn command(&mut self, command: Command, cx: &Context<'_>) -> Option<Outcome> {
        if self.cursor.command(command, self.parts.len(), rows(cx)) {
            return Some(Outcome::Done);
        }
        match command {
            Command::Enter => {
                let within = self.selected().and_then(|part| part.within.clone());
                Some(within.map_or(
                    Outcome::Notice("nothing is selected: it has no blocks".to_owned()),
                    |within| Outcome::Goto(ViewId::Sites, Jump::Within(within)),
                ))
            }
            _ => None,
        }
    }

    pub(crate) fn render(&self, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
        let details = if area.height >= 12 { DETAILS } else { 0 };
        let table = slice(area, 0, area.height - details);
        let whole = self
            .parts
            .iter()
            .map(|part| cx.measure.of(&part.figures))
            .fold(0, u64::saturating_add);
        let value = |part: &&Part| cx.measure.of(&part.figures);
        let unit = cx.measure.blocks(&Figures::default()).1;
        Table::new()
            .right("of it", 7, |part| Share::of(value(part), whole).to_string())
            .right("of all", 7, |part| {
                Share::of(value(part), cx.whole()).to_string()
            })
            .right(cx.measure.name(), 10, |part| cx.measure.amount(value(part)))
            .bars(if area.width >= 100 { 16 } else { 8 }, |part| {
                (value(part), whole)
            })
            .right(unit, 10, |part| count(cx.measure.blocks(&part.figures).0))
            .right("sites", 6, |part| count(part.sites))
            // A path says most at its end.
            .left(self.noun, 0, |part, cells| {
                (fit_end(&part.name, cells).into_owned(), part.style)
            })
            .render(
                table,
                buffer,
                self.parts.iter(),
                (self.cursor, theme::selected()),
                "it has no blocks: nothing was allocated",
            );
        if let Some(part) = self.selected() {
            let rest = slice(area, table.height, details);
            self.details(part, cx, whole, rest, buffer);
        }
    }

    fn details(&self, part: &Part, cx: &Context<'_>, whole: u64, area: Rect, buffer: &mut Buffer) {
        if area.is_empty() {
            return;
        }
        let value = cx.measure.of(&part.figures);
        let text = format!(
            "{} {} of {}: {} of {}, {} of all",
            self.noun,
            self.cursor.selected + 1,
            self.parts.len(),
            Share::of(value, whole),
            self.of,
            Share::of(value, cx.whole())
        );
        rule(buffer, area, &text);
        let lines = wrap(&part.full, area.width as usize, 2);
        for (at, line) in (1..).zip(&lines) {
            write(buffer, slice(area, at, 1), line, part.style);
        }
        let used = 1 + lines.len() as u16;
        let rest = slice(area, used, area.height.saturating_sub(used));
        flow(buffer, rest, &all_figures(&part.figures), theme::plain());
    }
}

/// Rows of the table on the present screen, below the breadcrumb.
fn rows(cx: &Context<'_>) -> usize {
    let height = cx.body.height.saturating_sub(1);
    let details = if height >= 12 { DETAILS } else { 0 };
    height.saturating_sub(1 + details) as usize
}
