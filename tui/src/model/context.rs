//! What passes between the views and what drives them: what a view may read, and what it asks for.

use std::path::PathBuf;
use std::sync::Arc;

use heapglass_profiler::diff::Beside;
use heapglass_profiler::profile::{Charged, Frames, Measure};
use heapglass_profiler::report::By;
use ratatui::layout::Size;

use super::data::Data;
use super::view_id::ViewId;
use super::within::Within;

/// What a view may read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context<'a> {
    pub(crate) data: &'a Arc<Data>,
    pub(crate) measure: Measure,
    /// Which frames of stacks are shown.
    pub(crate) frames: Frames,
    /// The room a view has.
    pub(crate) body: Size,
    pub(crate) source_roots: &'a [PathBuf],
}

impl Context<'_> {
    /// The measure's total over the process: the whole of every share.
    pub(crate) fn whole(&self) -> u64 {
        self.measure.of(&self.data.profile.totals)
    }

    /// The rows of the base beside those shown; `None` without a base.
    pub(crate) fn beside(&self, by: By) -> Option<Arc<Beside>> {
        // Frames tell only functions apart: rows by site are those of the report.
        let frames = match by {
            By::Function => self.frames,
            _ => Frames::Folded,
        };
        self.data.beside(by, self.measure, frames)
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
    /// The sites of the row of that key.
    Group(By, String),
    /// The stack of this site (index into the profile's sites).
    Site(u32),
    /// The sites of a type in a field.
    Within(Within),
}
