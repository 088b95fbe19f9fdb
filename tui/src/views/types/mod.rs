//! Types: what all blocks of a type came to, and live values that were measured. Enter leads from a type to its fields
//! and on to their sites. Order and parts are made when something changes, never while drawing.

mod footprints;
mod measured;
mod order;
mod render;

use std::collections::HashMap;
use std::sync::Arc;

use heapglass_profiler::profile::TypeRow;
use heapglass_profiler::report::By;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::model::keys::{BACK, Binding, ENTER, LEFT, RIGHT, bindings, char};
use crate::model::{Command, Context, Data, Jump, Outcome, Pattern, ViewId, Within, type_key};
use crate::text::clean;
use crate::theme;
use crate::views::View;
use crate::views::breakdown::{Breakdown, Part};
use crate::widgets::Cursor;
use footprints::Footprints;
use order::Sort;

/// The keys of this view.
pub(crate) const BINDINGS: &[Binding] = bindings! {
    ENTER => Enter, "fields, sites", "its fields, then sites";
    BACK => Back, "out", "out, then end the filter";
    RIGHT => Enter, "", "the same as Enter";
    LEFT => Back, "", "the same as Esc";
    [char('s')] => Sort, "sort", "sort by the next column";
    [char('S')] => ReverseSort, "", "the other way round";
    [char('/')] => Search, "filter", "by name of the type, regex";
    [char('o')] => Follow, "", "in the flamegraph by type";
    [char('f')] => Footprints, "footprints", "values that were measured";
};

/// The table, its order and filter, and what is open inside it.
#[derive(Debug, Default)]
pub(crate) struct Types {
    /// Indexes into [`Data::types`].
    order: Vec<usize>,
    /// The data the order was made of.
    made_of: Option<Arc<Data>>,
    cursor: Cursor,
    sort: Sort,
    reversed: bool,
    filter: Option<Pattern>,
    /// The fields of one type, by its full name.
    inside: Option<(Option<String>, Breakdown)>,
    footprints: Footprints,
}

impl Types {
    fn selected<'a>(&self, data: &'a Data) -> Option<&'a TypeRow> {
        data.profile
            .type_rows()
            .get(*self.order.get(self.cursor.selected)?)
    }

    /// Lists the types again; the same one stays selected where it still is in the list.
    fn list(&mut self, cx: &Context<'_>) {
        let kept = self
            .made_of
            .as_ref()
            .filter(|_| self.cursor.selected > 0 || self.inside.is_some())
            .and_then(|data| Some(type_key(data, self.selected(data)?.type_id)));
        self.order = order::listed(cx, self.sort, self.reversed, self.filter.as_ref());
        self.made_of = Some(Arc::clone(cx.data));
        let key = |row: &usize| {
            let row = cx.data.profile.type_rows().get(*row);
            row.map(|row| type_key(cx.data, row.type_id))
        };
        let at = kept.and_then(|kept| {
            let is_it = |row: &usize| key(row).as_ref() == Some(&kept);
            self.order.iter().position(is_it)
        });
        self.cursor.selected = at.unwrap_or(0);
        self.clamp(cx);
    }

    fn clamp(&mut self, cx: &Context<'_>) {
        let rows = render::list_rows(cx, &self.footprints);
        self.cursor.clamp(self.order.len(), rows);
    }

    /// Opens the type of that name, or closes what is open when there is none.
    fn open(&mut self, name: Option<String>, cx: &Context<'_>) {
        let is_it = |row: &&TypeRow| type_key(cx.data, row.type_id) == name;
        let before = self.inside.take().map(|(_, before)| before);
        if let Some(row) = cx.data.profile.type_rows().iter().find(is_it) {
            let mut parts = fields_of(row, cx.data);
            parts.settle(before.as_ref(), cx);
            self.inside = Some((name, parts));
        }
    }

    fn back(&mut self, cx: &Context<'_>) -> Outcome {
        if self.footprints.is_open() {
            self.footprints.back();
        } else if self.inside.take().is_some() {
        } else if self.filter.take().is_some() {
            self.list(cx);
        } else {
            return Outcome::Out;
        }
        Outcome::Done
    }

    fn act(&mut self, command: Command, cx: &Context<'_>) -> Outcome {
        if command == Command::Back {
            return self.back(cx);
        }
        if self.footprints.is_open() {
            return self.footprints.command(command, cx);
        }
        if let Some((_, parts)) = &mut self.inside
            && let Some(outcome) = parts.command(command, cx)
        {
            return outcome;
        }
        let rows = render::list_rows(cx, &self.footprints);
        if self.cursor.command(command, self.order.len(), rows) {
            return Outcome::Done;
        }
        match command {
            Command::Enter => match self.selected(cx.data) {
                Some(row) => self.open(type_key(cx.data, row.type_id), cx),
                None => return Outcome::Notice("no type is selected".to_owned()),
            },
            Command::Sort => {
                self.sort = self.sort.next();
                self.reversed = false;
                self.list(cx);
                return Outcome::Notice(format!("sorted by {}", self.sort.name(cx.measure)));
            }
            Command::ReverseSort => {
                self.reversed = !self.reversed;
                self.list(cx);
            }
            Command::Footprints => return self.footprints.open(),
            Command::Follow => {
                let id = self.selected(cx.data).map(|row| row.type_id);
                let within = Within::new(cx.data, id, None, false);
                return within.map_or(
                    Outcome::Notice("no type is selected".to_owned()),
                    |within| Outcome::Goto(ViewId::Flamegraph, Jump::Within(within)),
                );
            }
            _ => {}
        }
        Outcome::Done
    }
}

/// A type by the fields its blocks were allocated in.
fn fields_of(row: &TypeRow, data: &Data) -> Breakdown {
    let mut sites: HashMap<u32, u64> = HashMap::new();
    for site in row
        .sites
        .iter()
        .filter_map(|at| data.profile.sites.get(*at))
    {
        *sites
            .entry(data.profile.fields().field_of(site.scope))
            .or_default() += 1;
    }
    let parts = row.fields.iter().map(|(node, figures)| {
        let path = data.field(*node).map_or("", |field| field.path.as_str());
        Part {
            name: clean(path).into_owned(),
            full: clean(path).into_owned(),
            style: if *node == 0 {
                theme::dim()
            } else {
                theme::plain()
            },
            figures: *figures,
            sites: sites.get(node).copied().unwrap_or(0),
            within: Within::new(data, Some(row.type_id), Some(*node), false),
        }
    });
    let label = data.type_label(row.type_id).into_owned();
    Breakdown::new(label, "field", parts.collect())
}

impl View for Types {
    fn refresh(&mut self, cx: &Context<'_>) {
        let changed = self
            .made_of
            .as_ref()
            .is_none_or(|data| !Arc::ptr_eq(data, cx.data));
        if changed {
            self.footprints.gather(cx.data);
        }
        self.footprints.clamp(cx);
        self.list(cx);
        if let Some((name, _)) = &self.inside {
            self.open(name.clone(), cx);
        }
    }

    fn command(&mut self, command: Command, cx: &Context<'_>) -> Outcome {
        self.act(command, cx)
    }

    fn rows_by(&self) -> Option<By> {
        (self.inside.is_none() && !self.footprints.is_open()).then_some(By::Type)
    }

    fn render(&self, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
        render::render(self, cx, area, buffer);
    }

    fn search_label(&self) -> Option<&'static str> {
        let at_list = self.inside.is_none() && !self.footprints.is_open();
        at_list.then_some("filter")
    }

    fn pattern(&self) -> Option<Pattern> {
        self.filter.clone()
    }

    fn search(&mut self, pattern: Option<Pattern>, cx: &Context<'_>) {
        self.filter = pattern;
        self.list(cx);
    }
}
