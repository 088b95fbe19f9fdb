//! Arenas: what lies inside the chunks that are single blocks elsewhere. Enter leads from an arena to the types inside
//! it and from a type to its fields. Figures are inside the arena, never shares of the process. What is said of each
//! arena is worked out when a profile comes, never while drawing.

mod chart;
mod facts;
mod inside;
mod render;

use std::sync::Arc;

use heapglass_profiler::arenas::ordered;
use heapglass_profiler::profile::Arena;
use heapglass_profiler::report::By;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::model::keys::{BACK, Binding, ENTER, LEFT, RIGHT, bindings, char};
use crate::model::{Command, Context, Data, Outcome};
use crate::views::View;
use crate::widgets::Cursor;
use facts::Facts;
use inside::Inside;

/// The keys of this view.
pub(crate) const BINDINGS: &[Binding] = bindings! {
    ENTER => Enter, "types, fields", "its types, then fields";
    BACK => Back, "out", "out";
    RIGHT => Enter, "", "the same as Enter";
    LEFT => Back, "", "the same as Esc";
    [char('b')] => Grouping, "by", "inside: type or field";
};

/// Which arena is selected, and what is open inside it.
#[derive(Debug, Default)]
pub(crate) struct Arenas {
    cursor: Cursor,
    /// Indexes into the profile's arenas, largest first.
    order: Vec<usize>,
    /// What is said of each arena of the profile.
    facts: Vec<Facts>,
    /// The data order and facts were made of.
    made_of: Option<Arc<Data>>,
    inside: Option<Inside>,
}

impl Arenas {
    /// The selected arena: its index and itself.
    fn selected<'a>(&self, data: &'a Data) -> Option<(usize, &'a Arena)> {
        let index = *self.order.get(self.cursor.selected)?;
        Some((index, data.profile.arenas.get(index)?))
    }

    fn sort(&mut self, cx: &Context<'_>) {
        let arenas = &cx.data.profile.arenas;
        let kept = self
            .made_of
            .as_ref()
            .filter(|_| self.cursor.selected > 0 || self.inside.is_some())
            .and_then(|data| Some(self.selected(data)?.1.name.clone()));
        self.order = ordered(arenas, cx.measure);
        self.made_of = Some(Arc::clone(cx.data));
        let name = |at: &usize| arenas.get(*at).map(|arena| &arena.name);
        let at = kept.and_then(|kept| self.order.iter().position(|at| name(at) == Some(&kept)));
        self.cursor.selected = at.unwrap_or(0);
        self.cursor.clamp(self.order.len(), render::list_rows(cx));
    }
}

impl View for Arenas {
    fn refresh(&mut self, cx: &Context<'_>) {
        let changed = self
            .made_of
            .as_ref()
            .is_none_or(|data| !Arc::ptr_eq(data, cx.data));
        if changed {
            self.facts = facts::gather(cx.data);
        }
        self.sort(cx);
        if let Some(mut inside) = self.inside.take()
            && inside.refresh(cx)
        {
            self.inside = Some(inside);
        }
    }

    fn command(&mut self, command: Command, cx: &Context<'_>) -> Outcome {
        if let Some(inside) = &mut self.inside {
            if command == Command::Back && !inside.back(cx) {
                self.inside = None;
                return Outcome::Done;
            }
            return inside.command(command, cx);
        }
        let rows = render::list_rows(cx);
        if self.cursor.command(command, self.order.len(), rows) {
            return Outcome::Done;
        }
        match command {
            Command::Enter | Command::Grouping => match self.selected(cx.data) {
                Some((_, arena)) => {
                    self.inside = Inside::open(arena, command == Command::Grouping, cx);
                    Outcome::Done
                }
                None => Outcome::Notice("no arena is selected".to_owned()),
            },
            Command::Back => Outcome::Out,
            _ => Outcome::Done,
        }
    }

    fn rows_by(&self) -> Option<By> {
        self.inside.is_none().then_some(By::Arena)
    }

    fn render(&self, cx: &Context<'_>, area: Rect, buffer: &mut Buffer) {
        render::render(self, cx, area, buffer);
    }
}
