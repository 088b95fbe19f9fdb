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
mod name_widths;
mod overview;
mod phases;
mod sites;
mod threads;
mod time;
mod timeline;
mod types;

use heapglass_profiler::calltree::{CallTreeOptions, Levels};
use heapglass_profiler::profile::{Frames, Measure};
use heapglass_profiler::table::By;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::model::{Action, Command, Context, Jump, Outcome, Pattern, Pointer, SourceLine, ViewId};

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

    /// Describes what the regex found: the number of matches and their share of the measure; `None`
    /// if there is no regex.
    fn found(&self, _cx: &Context<'_>) -> Option<String> {
        None
    }

    /// Selects the row at a position in the view. Returns `true` if it was selected before, so that
    /// a second click enters it; `None` if there is nothing to select.
    fn select_at(&mut self, _at: Position, _cx: &Context<'_>) -> Option<bool> {
        None
    }

    /// Returns the column to sort by whose heading is at a position in the view.
    fn heading_at(&self, _at: Position, _cx: &Context<'_>) -> Option<usize> {
        None
    }

    /// Handles the mouse, at a position in the view: the wheel moves, a click selects, a click on
    /// the selection enters it, and a click on a heading sorts.
    fn pointed(&mut self, pointer: Pointer, cx: &Context<'_>) -> Outcome {
        match pointer.action {
            Action::WheelUp => wheel(self, Command::Up, cx),
            Action::WheelDown => wheel(self, Command::Down, cx),
            Action::Press => match self.heading_at(pointer.at, cx) {
                Some(column) => self.command(Command::SortBy(column), cx),
                None if self.select_at(pointer.at, cx) == Some(true) => {
                    self.command(Command::Enter, cx)
                }
                None => Outcome::Done,
            },
            Action::Drag => Outcome::Done,
        }
    }

    /// Returns the source line of the selection, to open or to copy.
    fn source_line(&self, _cx: &Context<'_>) -> Option<SourceLine> {
        None
    }

    /// Goes to a place that another view asked for.
    fn jump(&mut self, _jump: &Jump, _cx: &Context<'_>) -> Outcome {
        Outcome::Done
    }
}

/// Number of rows that the wheel moves.
pub(crate) const WHEEL: usize = 3;

/// Moves as far as the wheel does.
pub(crate) fn wheel<V: View + ?Sized>(view: &mut V, command: Command, cx: &Context<'_>) -> Outcome {
    for _ in 0..WHEEL {
        view.command(command, cx);
    }
    Outcome::Done
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

    /// Returns the tree and the rows with which a view is written to a file.
    pub(crate) fn picture(&self, id: ViewId, shown: CallTreeOptions) -> (CallTreeOptions, By) {
        let by = self.get(id).rows_by();
        let (levels, by) = match id {
            ViewId::Flamegraph => return (shown, By::Function),
            ViewId::Types => (Levels::Type, by.unwrap_or(By::Type)),
            ViewId::Fields => (Levels::Field, by.unwrap_or(By::Field)),
            ViewId::Arenas => (Levels::Arena, by.unwrap_or(By::Arena)),
            ViewId::Threads => (Levels::Stack, by.unwrap_or(By::Thread)),
            _ => (Levels::Stack, by.unwrap_or(By::Site)),
        };
        let tree = CallTreeOptions {
            levels,
            measure: shown.measure,
            frames: shown.frames,
            ..CallTreeOptions::default()
        };
        (tree, by)
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
