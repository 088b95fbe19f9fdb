//! The parts of a type (its fields) or of a field (its types), as a table with the largest first.
//! Each part leads to its sites. The parts always add up to the whole.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use heapglass_profiler::profile::{Figures, TypeId};
use heapglass_profiler::table::Heading;
use heapglass_profiler::units::Share;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;

use crate::model::{Command, Context, Jump, Outcome, Selection, ViewId};
use crate::text::fit_end;
use crate::theme;
use crate::widgets::{Lines, List, Table, all_figures, below, rows_in, with_details};

/// One part.
#[derive(Clone, Debug)]
struct Part {
    /// Name, escaped.
    name: String,
    /// Full name, escaped.
    full: String,
    style: Style,
    figures: Figures,
    sites: u64,
    selection: Option<Selection>,
}

/// All parts, with a selection.
#[derive(Clone, Debug)]
pub(crate) struct Breakdown {
    /// A type, or a field with its inner fields.
    whole: Selection,
    /// Name of the whole, escaped.
    pub(crate) of: String,
    /// The kind of parts: `field`, `type`.
    noun: &'static str,
    list: List<Part>,
}

/// Number of lines of the details below the table.
const DETAILS: u16 = 6;

impl Breakdown {
    /// Returns the parts of a type or field; `None` if it does not exist.
    pub(crate) fn open(whole: Selection, cx: &Context<'_>) -> Option<Breakdown> {
        let mut breakdown = Breakdown {
            whole,
            of: String::new(),
            noun: "",
            list: List::default(),
        };
        breakdown.refresh(cx).then_some(breakdown)
    }

    /// Recomputes the parts in the order of the measure, and keeps the selection. Returns `false`
    /// if the whole no longer exists.
    pub(crate) fn refresh(&mut self, cx: &Context<'_>) -> bool {
        let data = cx.data;
        let Some(listed) = self.whole.sites(data) else {
            return false;
        };
        let (whole_type, whole_field) = (self.whole.type_in(data), self.whole.field_in(data));
        (self.of, self.noun) = match whole_field {
            Some(node) => (data.field_label(node).into_owned(), "type"),
            None => (data.type_label(whole_type).into_owned(), "field"),
        };
        let mut sums: BTreeMap<(Option<TypeId>, u32), (Figures, u64)> = BTreeMap::new();
        let sites = data.profile.sites().iter().zip(listed).enumerate();
        for (index, (site, _)) in sites.filter(|(_, (_, is_listed))| *is_listed) {
            let key = match whole_field {
                Some(node) => (data.profile.type_id_of(site), node),
                None => (whole_type, data.profile.fields().field_of_site(index)),
            };
            let (figures, sites) = sums.entry(key).or_default();
            figures.add(&site.figures);
            *sites += 1;
        }
        let mut parts: Vec<Part> = sums
            .into_iter()
            .map(|((id, node), (figures, sites))| {
                let (name, full, style) = match whole_field {
                    Some(_) => {
                        let name = data.type_label(id).into_owned();
                        let full = data.full_type_name(id).map(Cow::into_owned);
                        (name, full, theme::kind(data.type_kind(id)))
                    }
                    None if node == 0 => (data.field_label(node).into_owned(), None, theme::dim()),
                    None => (data.field_label(node).into_owned(), None, theme::plain()),
                };
                Part {
                    full: full.unwrap_or_else(|| name.clone()),
                    name,
                    style,
                    figures,
                    sites,
                    selection: Selection::new(data, Some(id), Some(node), whole_field.is_some()),
                }
            })
            .collect();
        let key = |part: &Part| {
            let value = cx.measure.shown(&part.figures);
            let total = part.figures.total_bytes;
            (Reverse(value), part.full.clone(), Reverse(total))
        };
        parts.sort_by_cached_key(key);
        let key = |part: &Part| part.full.clone();
        // Below the breadcrumb.
        let [table, _] = with_details(below(cx.area(), 1), cx.lines_below(DETAILS));
        self.list.replace(parts, key, true, rows_in(table));
        true
    }

    /// Selects the part at a position in the view; see [`View::select_at`].
    ///
    /// [`View::select_at`]: crate::views::View::select_at
    pub(crate) fn select_at(&mut self, at: Position, cx: &Context<'_>) -> Option<bool> {
        let [table, _] = with_details(below(cx.area(), 1), cx.lines_below(DETAILS));
        self.list.select_at(at, table)
    }

    /// Handles movement and Enter. Returns `None` for other commands.
    pub(crate) fn command(&mut self, command: Command) -> Option<Outcome> {
        if self.list.command(command) {
            return Some(Outcome::Done);
        }
        let selection = || self.list.selected()?.selection.clone();
        (command == Command::Enter).then(|| {
            let jump = selection().map(Jump::Selection);
            Outcome::goto(
                ViewId::Sites,
                jump,
                "nothing to select: there are no blocks",
            )
        })
    }

    pub(crate) fn render(&self, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
        let [table, details] = with_details(area, cx.lines_below(DETAILS));
        let whole = cx.sum(self.list.rows.iter().map(|part| &part.figures));
        let value = |part: &Part| cx.measure.shown(&part.figures);
        let empty = "no blocks: nothing was allocated";
        Table::new(cx)
            .share(Heading::SHARE_OF_IT, value, whole)
            .share(Heading::SHARE_OF_ALL, value, cx.whole())
            .measure(value)
            .bars(if area.width >= 100 { 16 } else { 8 }, value, whole)
            .blocks(|part| &part.figures)
            .figure(Heading::SITES, |part| part.sites)
            // Keep the end of a path, which is its most specific part.
            .left(self.noun, 0, |part, _| (part.name.clone(), part.style))
            .shortened(fit_end)
            .render(table, buffer, &self.list, empty);
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
            lines.flow(&all_figures(cx.measure, &part.figures), theme::plain());
        }
    }
}
