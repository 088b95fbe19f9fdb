//! What passes between the views and what drives them: what a view may read, and what it asks for.

use std::path::PathBuf;
use std::sync::Arc;

use heapglass_profiler::diff::Beside;
use heapglass_profiler::profile::{Figures, Frames, Label, Measure};
use heapglass_profiler::report::{By, Row};
use heapglass_profiler::units::Share;
use ratatui::layout::{Position, Rect, Size};

use super::data::Data;
use super::selection::Selection;
use super::view_id::ViewId;

/// What a view may read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context<'a> {
    pub(crate) data: &'a Arc<Data>,
    pub(crate) measure: Measure,
    /// Which frames of stacks are shown.
    pub(crate) frames: Frames,
    /// The size of a view.
    pub(crate) body: Size,
    pub(crate) source_roots: &'a [PathBuf],
    /// Whether the terminal shows colours: without them there is no legend.
    pub(crate) has_colour: bool,
}

impl Context<'_> {
    /// The area of a view, for its size: where it is on the screen only drawing knows.
    pub(crate) fn area(&self) -> Rect {
        Rect::from((Position::ORIGIN, self.body))
    }

    /// The measure's total over the process: the whole of every share.
    pub(crate) fn whole(&self) -> u64 {
        self.measure.of(&self.data.profile.totals)
    }

    /// A part of the whole.
    pub(crate) fn share(&self, value: u64) -> Share {
        Share::of(value, self.whole())
    }

    /// What rows come to, in the measure.
    pub(crate) fn sum<'f>(&self, rows: impl Iterator<Item = &'f Figures>) -> u64 {
        let values = rows.map(|figures| self.measure.of(figures));
        values.fold(0, u64::saturating_add)
    }

    /// The rows of a grouping, in the order of the report.
    pub(crate) fn rows(&self, by: By) -> Vec<Arc<Row>> {
        self.data.rows(self.rows_key(by)).to_vec()
    }

    /// The rows of the base beside those shown; `None` without a base.
    pub(crate) fn beside(&self, by: By) -> Option<Arc<Beside>> {
        self.data.beside(self.rows_key(by))
    }

    fn rows_key(&self, by: By) -> (By, Measure, Frames) {
        // Frames tell only functions apart: rows by site are those of the report.
        let frames = match by {
            By::Function => self.frames,
            _ => Frames::Folded,
        };
        (by, by.measure(self.measure), frames)
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

impl Outcome {
    pub(crate) fn notice(text: impl Into<String>) -> Outcome {
        Outcome::Notice(text.into())
    }

    /// Shows that view at `jump`, or says `otherwise` when there is nowhere to go.
    pub(crate) fn goto(view: ViewId, jump: Option<Jump>, otherwise: &str) -> Outcome {
        match jump {
            Some(jump) => Outcome::Goto(view, jump),
            None => Outcome::notice(otherwise),
        }
    }
}

/// A place in another view.
#[derive(Clone, Debug)]
pub(crate) enum Jump {
    /// Everything that passes through this function.
    Function(Label),
    /// The sites of the row of that key.
    Group(By, String),
    /// The stack of this site (index into the profile's sites).
    Site(u32),
    /// The sites of a type in a field.
    Selection(Selection),
}
