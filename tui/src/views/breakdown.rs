//! The parts of one thing as a table, largest first: a type by its fields, a field by its types. Each part leads to its
//! sites. Must keep the sum: the parts of a thing add up to it.

use std::cmp::Reverse;

use heapglass_profiler::profile::Figures;
use heapglass_profiler::table::Heading;
use heapglass_profiler::units::Share;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::model::{Command, Context, Jump, Outcome, Selection, ViewId};
use crate::text::fit_end;
use crate::theme;
use crate::widgets::{Lines, List, Table, all_figures, below, rows_in, with_details};

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
    pub(crate) selection: Option<Selection>,
}

/// All parts, and which one is selected.
#[derive(Clone, Debug, Default)]
pub(crate) struct Breakdown {
    /// What it is a breakdown of, clean.
    pub(crate) of: String,
    /// What the parts are: `field`, `type`.
    noun: &'static str,
    list: List<Part>,
}

/// Lines of the details below the table.
const DETAILS: u16 = 6;

/// Rows of the table on the present screen, below the breadcrumb.
fn height(cx: &Context<'_>) -> usize {
    let [table, _] = with_details(below(cx.area(), 1), DETAILS);
    rows_in(table)
}

impl Breakdown {
    /// Shows these parts, in the order of the measure; the same one stays selected.
    pub(crate) fn refresh(
        &mut self,
        (of, noun): (String, &'static str),
        mut parts: Vec<Part>,
        cx: &Context<'_>,
    ) {
        let key = |part: &Part| (Reverse(cx.measure.of(&part.figures)), part.full.clone());
        parts.sort_by_cached_key(key);
        (self.of, self.noun) = (of, noun);
        let key = |part: &Part| part.full.clone();
        self.list.replace(parts, key, true, height(cx));
    }

    /// Acts on what moves and on Enter; `None` = the command is not for a breakdown.
    pub(crate) fn command(&mut self, command: Command) -> Option<Outcome> {
        if self.list.command(command) {
            return Some(Outcome::Done);
        }
        let selection = || self.list.selected()?.selection.clone();
        (command == Command::Enter).then(|| {
            let jump = selection().map(Jump::Selection);
            Outcome::goto(ViewId::Sites, jump, "nothing is selected: it has no blocks")
        })
    }

    pub(crate) fn render(&self, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
        let [table, details] = with_details(area, DETAILS);
        let whole = cx.sum(self.list.rows.iter().map(|part| &part.figures));
        let value = |part: &Part| cx.measure.of(&part.figures);
        let empty = "it has no blocks: nothing was allocated";
        Table::new(cx)
            .share(Heading::ShareOfIt, value, whole)
            .share(Heading::ShareOfAll, value, cx.whole())
            .measure(value)
            .bars(if area.width >= 100 { 16 } else { 8 }, value, whole)
            .blocks(|part| &part.figures)
            .figure(Heading::Sites, |part| part.sites)
            // The end of a path says most.
            .left(self.noun, 0, |part, cells| {
                (fit_end(&part.name, cells).into_owned(), part.style)
            })
            .render(table, buffer, &self.list.rows, self.list.cursor, empty);
        if let Some(part) = self.list.selected() {
            let title = format!(
                "{}: {} of {}, {} of all",
                self.list.place(self.noun),
                Share::of(value(part), whole),
                self.of,
                cx.share(value(part))
            );
            let name = (part.full.as_str(), 2, part.style);
            let mut lines = Lines::details(details, buffer, &title, name);
            lines.flow(&all_figures(&part.figures), theme::plain());
        }
    }
}
