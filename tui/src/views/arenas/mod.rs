//! Arenas: what lies inside the chunks that are single blocks elsewhere. Enter leads from an arena to the types inside
//! it and from a type to its fields. Figures are inside the arena, never shares of the process. Notes on each
//! arena are made when a profile is loaded, never while drawing.

mod chart;
mod inside;
mod render;

use std::sync::Arc;

use heapglass_profiler::arenas::{Certainty, Point, advice, imbalance, leak_text, ordered, points};
use heapglass_profiler::profile::Arena;
use heapglass_profiler::report::By;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::model::keys::{BACK, Binding, ENTER, LEFT, RIGHT, bindings, char};
use crate::model::{Command, Context, Data, Outcome};
use crate::views::View;
use crate::widgets::List;
use inside::Inside;

/// The keys of this view.
pub(crate) const BINDINGS: &[Binding] = bindings! {
    ENTER => Enter, "types, fields", "its types, then fields";
    BACK => Back, "out", "out";
    RIGHT => Enter, "", "the same as Enter";
    LEFT => Back, "", "the same as Esc";
    [char('b')] => Grouping, "by", "inside: type or field";
};

/// Notes on one arena. Every text is clean.
#[derive(Debug, Default)]
struct Notes {
    /// What to do.
    advice: Vec<String>,
    /// What is wrong: parts that do not add up, blocks left behind.
    warnings: Vec<String>,
    /// Blocks are leaked for certain.
    is_leaking: bool,
    /// Its history.
    points: Vec<Point>,
}

/// Which arena is selected, and what is open inside it.
#[derive(Debug, Default)]
pub(crate) struct Arenas {
    /// Indexes into the profile's arenas, largest first, each with its name.
    list: List<(usize, String)>,
    /// Notes on each arena of the profile.
    notes: Vec<Notes>,
    /// The data the notes were made of.
    made_of: Option<Arc<Data>>,
    inside: Option<Inside>,
}

impl Arenas {
    /// The selected arena: its index and itself.
    fn selected<'a>(&self, data: &'a Data) -> Option<(usize, &'a Arena)> {
        let (index, _) = self.list.selected()?;
        Some((*index, data.profile.arenas.get(*index)?))
    }
}

/// Notes on every arena of the profile, in its order.
fn notes(data: &Data) -> Vec<Notes> {
    let leaks = data.profile.leaks();
    let notes = |(index, arena): (usize, &Arena)| {
        let own = || leaks.iter().filter(|leak| leak.arenas.contains(&index));
        let leaked = own().map(|leak| leak_text(&data.profile, leak));
        let advice = advice(arena, data.profile.fields(), data.profile.process.state);
        Notes {
            advice: advice.into_iter().map(|advice| advice.text).collect(),
            warnings: imbalance(arena).into_iter().chain(leaked).collect(),
            is_leaking: own().any(|leak| leak.certainty == Certainty::Leaked),
            points: points(arena),
        }
    };
    data.profile.arenas.iter().enumerate().map(notes).collect()
}

impl View for Arenas {
    fn refresh(&mut self, cx: &Context<'_>) {
        let made_of = self.made_of.as_ref();
        if made_of.is_none_or(|data| !Arc::ptr_eq(data, cx.data)) {
            self.notes = notes(cx.data);
            self.made_of = Some(Arc::clone(cx.data));
        }
        let arenas = &cx.data.profile.arenas;
        let order = ordered(arenas, cx.measure).into_iter();
        let rows = order.filter_map(|at| Some((at, arenas.get(at)?.name.clone())));
        let (is_open, height) = (self.inside.is_some(), render::height(cx));
        let key = |row: &(usize, String)| row.1.clone();
        self.list.replace(rows.collect(), key, is_open, height);
        self.inside.take_if(|inside| !inside.refresh(cx));
    }

    fn command(&mut self, command: Command, cx: &Context<'_>) -> Outcome {
        if let Some(inside) = &mut self.inside {
            if command == Command::Back && !inside.back(cx) {
                self.inside = None;
                return Outcome::Done;
            }
            return inside.command(command, cx);
        }
        if self.list.command(command, render::height(cx)) {
            return Outcome::Done;
        }
        match command {
            Command::Enter | Command::Grouping => match self.selected(cx.data) {
                Some((_, arena)) => {
                    self.inside = Inside::open(arena, command == Command::Grouping, cx);
                    Outcome::Done
                }
                None => Outcome::notice("no arena is selected"),
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
