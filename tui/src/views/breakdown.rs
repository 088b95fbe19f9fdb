//! The parts of one thing as a table, largest first: a type by its fields, a field by its types. Each part leads to its
//! sites. Must keep the sum: the parts of a thing add up to it.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use heapglass_profiler::profile::{Figures, TypeId};
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
struct Part {
    /// Clean.
    name: String,
    /// The name in full, clean.
    full: String,
    style: Style,
    figures: Figures,
    sites: u64,
    selection: Option<Selection>,
}

/// All parts, and which one is selected.
#[derive(Clone, Debug)]
pub(crate) struct Breakdown {
    /// A type, or a field with what is inside it.
    whole: Selection,
    /// What the whole is called, clean.
    pub(crate) of: String,
    /// What the parts are: `field`, `type`.
    noun: &'static str,
    list: List<Part>,
}

/// Lines of the details below the table.
const DETAILS: u16 = 6;

impl Breakdown {
    /// The parts of a type or of a field; `None` = it is not there.
    pub(crate) fn open(whole: Selection, cx: &Context<'_>) -> Option<Breakdown> {
        let mut breakdown = Breakdown {
            whole,
            of: String::new(),
            noun: "",
            list: List::default(),
        };
        breakdown.refresh(cx).then_some(breakdown)
    }

    /// Takes the parts again, in the order of the measure; the same one stays selected. `false` when the whole is gone.
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
        let sites = data.profile.sites.iter().zip(listed);
        for (site, _) in sites.filter(|(_, is_listed)| *is_listed) {
            let key = match whole_field {
                Some(node) => (data.profile.type_id_of(site), node),
                None => (whole_type, data.profile.fields().field_of(site.scope)),
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
            let value = cx.measure.of(&part.figures);
            let total = part.figures.total_bytes;
            (Reverse(value), part.full.clone(), Reverse(total))
        };
        parts.sort_by_cached_key(key);
        let key = |part: &Part| part.full.clone();
        // Below the breadcrumb.
        let [table, _] = with_details(below(cx.area(), 1), DETAILS);
        self.list.replace(parts, key, true, rows_in(table));
        true
    }

    /// Acts on what moves and on Enter; `None` = the command is not for a breakdown.
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
        let [table, details] = with_details(area, DETAILS);
        let whole = cx.sum(self.list.rows.iter().map(|part| &part.figures));
        let value = |part: &Part| cx.measure.of(&part.figures);
        let empty = "no blocks: nothing was allocated";
        Table::new(cx)
            .share(Heading::SHARE_OF_IT, value, whole)
            .share(Heading::SHARE_OF_ALL, value, cx.whole())
            .measure(value)
            .bars(if area.width >= 100 { 16 } else { 8 }, value, whole)
            .blocks(|part| &part.figures)
            .figure(Heading::SITES, |part| part.sites)
            // The end of a path says most.
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
            lines.flow(&all_figures(&part.figures), theme::plain());
        }
    }
}
