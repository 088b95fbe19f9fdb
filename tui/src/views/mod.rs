//! The views. To add one: a folder here, a variant of [`ViewId`], a field of [`Views`], its keys and a digit in `focus.rs`.
//!
//! A view reads a [`Context`] and changes only its own state; it never calls another view, it asks to go there.

mod arenas;
mod breakdown;
mod fields;
mod flame;
pub(crate) mod focus;
mod overview;
mod sites;
mod threads;
mod types;

use heapglass_profiler::profile::{Frames, Measure};
use heapglass_profiler::report::By;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::model::{Command, Context, Jump, Outcome, Pattern, TreeOptions, ViewId};

/// What every view can do.
pub(crate) trait View {
    /// Brings derived state up to date with the context; keeps selection and zoom where they still exist.
    fn refresh(&mut self, cx: &Context<'_>);

    /// Acts on a command that is not everyone's.
    fn command(&mut self, command: Command, cx: &Context<'_>) -> Outcome;

    /// What the rows are that can be compared with a base; `None` = there are none.
    fn rows_by(&self) -> Option<By>;

    /// Draws, reading only.
    fn render(&self, cx: &Context<'_>, area: Rect, buffer: &mut Buffer);

    /// What `/` is called here, and the regex that applies; `None` = there is nothing to search.
    fn searched(&self) -> Option<(&'static str, Option<Pattern>)> {
        None
    }

    /// Applies a regex, or none.
    fn search(&mut self, _pattern: Option<Pattern>, _cx: &Context<'_>) {}

    /// Goes to a place another view asked for.
    fn jump(&mut self, _jump: &Jump, _cx: &Context<'_>) -> Outcome {
        Outcome::Done
    }
}

/// The state of every view.
#[derive(Debug, Default)]
pub(crate) struct Views {
    overview: overview::Overview,
    flame: flame::Flame,
    types: types::Types,
    fields: fields::FieldTree,
    sites: sites::Sites,
    threads: threads::Threads,
    arenas: arenas::Arenas,
}

impl Views {
    /// The call tree the flamegraph shows, or would if it were visible.
    pub(crate) fn tree_options(&self, measure: Measure, frames: Frames) -> TreeOptions {
        TreeOptions {
            measure,
            frames,
            ..self.flame.options
        }
    }

    pub(crate) fn get(&self, id: ViewId) -> &dyn View {
        match id {
            ViewId::Overview => &self.overview,
            ViewId::Flamegraph => &self.flame,
            ViewId::Types => &self.types,
            ViewId::Fields => &self.fields,
            ViewId::Sites => &self.sites,
            ViewId::Threads => &self.threads,
            ViewId::Arenas => &self.arenas,
        }
    }

    pub(crate) fn get_mut(&mut self, id: ViewId) -> &mut dyn View {
        match id {
            ViewId::Overview => &mut self.overview,
            ViewId::Flamegraph => &mut self.flame,
            ViewId::Types => &mut self.types,
            ViewId::Fields => &mut self.fields,
            ViewId::Sites => &mut self.sites,
            ViewId::Threads => &mut self.threads,
            ViewId::Arenas => &mut self.arenas,
        }
    }
}
