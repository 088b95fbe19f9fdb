//! The views. To add one, add a folder here, a variant of [`ViewId`], a field of [`Views`], and its
//! keys in `focus.rs`.
//!
//! A view reads a [`Context`] and changes only its own state. It never calls another view; it
//! returns an outcome that leads there.

mod advice;
mod arenas;
mod breakdown;
mod fields;
mod flame;
pub(crate) mod focus;
mod heap;
mod leaks;
mod overview;
mod phases;
mod sites;
mod threads;
mod time;
mod timeline;
mod types;

use heapglass_profiler::calltree::CallTreeOptions;
use heapglass_profiler::profile::{Frames, Measure};
use heapglass_profiler::table::By;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::model::{Command, Context, Jump, Outcome, Pattern, ViewId};

/// The interface of every view.
pub(crate) trait View {
    /// Updates derived state for the context. Keeps selection and zoom if they still exist.
    fn refresh(&mut self, cx: &Context<'_>);

    /// Handles a command of the view.
    fn command(&mut self, command: Command, cx: &Context<'_>) -> Outcome;

    /// Returns the grouping of rows that can be compared with a base; `None` if there are none.
    fn rows_by(&self) -> Option<By>;

    /// Draws the view without changing it.
    fn render(&self, cx: &Context<'_>, area: Rect, buffer: &mut Buffer);

    /// Returns the name of the `/` command and the current regex; `None` if the view has no search.
    fn searched(&self) -> Option<(&'static str, Option<Pattern>)> {
        None
    }

    /// Applies a regex, or removes it.
    fn search(&mut self, _pattern: Option<Pattern>, _cx: &Context<'_>) {}

    /// Goes to a place that another view asked for.
    fn jump(&mut self, _jump: &Jump, _cx: &Context<'_>) -> Outcome {
        Outcome::Done
    }
}

/// The state of all views.
#[derive(Debug, Default)]
pub(crate) struct Views {
    overview: overview::Overview,
    flame: flame::Flame,
    types: types::Types,
    fields: fields::FieldTree,
    sites: sites::Sites,
    threads: threads::Threads,
    arenas: arenas::Arenas,
    time: time::Time,
    leaks: leaks::LeakList,
    heap: heap::Heap,
    advice: advice::Advice,
    phases: phases::PhaseTree,
}

impl Views {
    /// Returns the options of the call tree that the flamegraph shows, or would show if it were
    /// visible.
    pub(crate) fn tree_options(&self, measure: Measure, frames: Frames) -> CallTreeOptions {
        CallTreeOptions {
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
            ViewId::Time => &self.time,
            ViewId::Leaks => &self.leaks,
            ViewId::Heap => &self.heap,
            ViewId::Advice => &self.advice,
            ViewId::Phases => &self.phases,
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
            ViewId::Time => &mut self.time,
            ViewId::Leaks => &mut self.leaks,
            ViewId::Heap => &mut self.heap,
            ViewId::Advice => &mut self.advice,
            ViewId::Phases => &mut self.phases,
        }
    }
}
