//! The views. To add one: a folder here, a variant of [`ViewId`], a field of [`Views`], a digit in `app/keys.rs`.
//!
//! A view reads a [`Context`] and changes only its own state; it never calls another view, it asks to go there.

mod arenas;
mod breakdown;
mod fields;
pub(crate) mod flame;
mod overview;
mod sites;
mod threads;
mod types;

use std::path::PathBuf;
use std::sync::Arc;

use heapglass_profiler::profile::{Charged, Measure};
use ratatui::buffer::Buffer;
use ratatui::layout::{Rect, Size};

use crate::app::keys::Binding;
use crate::app::{Command, Data, Pattern, Within};

/// The views, in the order of their tabs and digits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ViewId {
    /// Totals, timeline and top owners.
    #[default]
    Overview,
    /// Stacks as an icicle of frames, width by the measure.
    Flamegraph,
    /// What blocks hold, as a table, and live values that were measured.
    Types,
    /// The places in the data that was deserialized, as a tree.
    Fields,
    /// Where blocks came from, as a table, with stack and source.
    Sites,
    /// Threads, merged by name.
    Threads,
    /// Arenas, and what lies inside their chunks.
    Arenas,
}

impl ViewId {
    /// Every view, in the order of the tabs.
    pub const ALL: [ViewId; 7] = [
        ViewId::Overview,
        ViewId::Flamegraph,
        ViewId::Types,
        ViewId::Fields,
        ViewId::Sites,
        ViewId::Threads,
        ViewId::Arenas,
    ];

    /// The word on its tab.
    pub fn title(self) -> &'static str {
        match self {
            ViewId::Overview => "Overview",
            ViewId::Flamegraph => "Flamegraph",
            ViewId::Types => "Types",
            ViewId::Fields => "Fields",
            ViewId::Sites => "Sites",
            ViewId::Threads => "Threads",
            ViewId::Arenas => "Arenas",
        }
    }

    /// The word on its tab where there is little room.
    pub(crate) fn short_title(self) -> &'static str {
        match self {
            ViewId::Overview => "Home",
            ViewId::Flamegraph => "Flame",
            ViewId::Types => "Type",
            ViewId::Fields => "Field",
            ViewId::Sites => "Site",
            ViewId::Threads => "Thread",
            ViewId::Arenas => "Arena",
        }
    }

    /// The view `by` tabs further, round the end.
    pub(crate) fn step(self, by: usize) -> ViewId {
        let at = ViewId::ALL.iter().position(|v| *v == self).unwrap_or(0);
        ViewId::ALL
            .get((at + by) % ViewId::ALL.len())
            .copied()
            .unwrap_or_default()
    }

    /// The rows of the key table that only this view has.
    pub(crate) fn bindings(self) -> &'static [Binding] {
        match self {
            ViewId::Overview => overview::BINDINGS,
            ViewId::Flamegraph => flame::BINDINGS,
            ViewId::Types => types::BINDINGS,
            ViewId::Fields => fields::BINDINGS,
            ViewId::Sites => sites::BINDINGS,
            ViewId::Threads => &[],
            ViewId::Arenas => arenas::BINDINGS,
        }
    }
}

/// What a view may read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context<'a> {
    pub(crate) data: &'a Arc<Data>,
    pub(crate) measure: Measure,
    /// Frames of start-up and allocator machinery are shown too.
    pub(crate) all_frames: bool,
    /// The room a view has.
    pub(crate) body: Size,
    pub(crate) source_roots: &'a [PathBuf],
}

impl Context<'_> {
    /// The measure's total over the process: the whole of every share.
    pub(crate) fn whole(&self) -> u64 {
        self.measure.of(&self.data.profile.totals)
    }
}

/// What a view wants after a command.
#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    Done,
    /// Say this in the hint bar until the next key.
    Notice(String),
    /// Show that view, at that place.
    Goto(ViewId, Jump),
    /// There is no level left to go out of: back to the view that led here, if one did.
    Out,
}

/// A place in another view.
#[derive(Clone, Debug)]
pub(crate) enum Jump {
    /// Everything that passes through this function.
    Function(Charged),
    /// The sites charged to this function.
    Owner(Charged),
    /// The stack of this site (index into the profile's sites).
    Site(u32),
    /// The sites of a type in a field.
    Within(Within),
}

/// What every view can do.
pub(crate) trait View {
    /// Brings derived state up to date with the context; keeps selection and zoom where they still exist.
    fn refresh(&mut self, cx: &Context<'_>);

    /// Acts on a command that is not everyone's.
    fn command(&mut self, command: Command, cx: &Context<'_>) -> Outcome;

    /// Draws, reading only.
    fn render(&self, cx: &Context<'_>, area: Rect, buffer: &mut Buffer);

    /// What `/` is called here; `None` = there is nothing to search.
    fn search_label(&self) -> Option<&'static str> {
        None
    }

    /// The regex that applies.
    fn pattern(&self) -> Option<Pattern> {
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
    pub(crate) fn tree_spec(&self, measure: Measure, all_frames: bool) -> flame::TreeSpec {
        flame::TreeSpec {
            measure,
            all_frames,
            ..self.flame.spec()
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
