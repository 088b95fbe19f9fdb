//! The interface between the views and the code that drives them: the data that a view may read,
//! and the outcomes it may return.

use std::path::PathBuf;
use std::sync::Arc;

use heapglass_profiler::diff::Beside;
use heapglass_profiler::profile::{Figures, Frames, Label, Measure};
use heapglass_profiler::table::{By, Row};
use heapglass_profiler::units::Share;
use ratatui::layout::{Position, Rect, Size};

use super::data::Data;
use super::selection::Selection;
use super::view_id::ViewId;

/// The data that a view may read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context<'a> {
    pub(crate) data: &'a Arc<Data>,
    pub(crate) measure: Measure,
    /// The frames of stacks that are shown.
    pub(crate) frames: Frames,
    /// The size of a view.
    pub(crate) body: Size,
    pub(crate) source_roots: &'a [PathBuf],
    /// `true` if the terminal shows colours. Without colours there is no legend.
    pub(crate) has_colour: bool,
    /// `true` if the pane that receives keys has the whole screen.
    pub(crate) is_zoomed: bool,
}

impl Context<'_> {
    /// Returns an area of the size of a view. Only drawing knows its position on the screen.
    pub(crate) fn area(&self) -> Rect {
        Rect::from((Position::ORIGIN, self.body))
    }

    /// Returns the number of lines below a list, `wanted` unless the list has the whole screen.
    pub(crate) fn lines_below(&self, wanted: u16) -> u16 {
        if self.is_zoomed { 0 } else { wanted }
    }

    /// Returns the total of the measure over the process, which all shares refer to.
    pub(crate) fn whole(&self) -> u64 {
        self.whole_of(self.data.profile.totals())
    }

    /// Returns these figures by the measure as the whole of shares: 0, so that there are none, if
    /// figures do not add up.
    pub(crate) fn whole_of(&self, figures: &Figures) -> u64 {
        if self.adds_up() {
            self.measure.of(figures)
        } else {
            0
        }
    }

    /// Returns `true` if figures of the measure add up, so that each is a part of the whole.
    /// Numbers of blocks and of other events of samples are lower bounds.
    pub(crate) fn adds_up(&self) -> bool {
        self.measure.is_bytes() || self.data.profile.capture().sampling.is_none()
    }

    /// Returns the share of a value in the total.
    pub(crate) fn share(&self, value: u64) -> Share {
        Share::of(value, self.whole())
    }

    /// Returns the share of rows in the total, for people: `1.0 % of all`.
    pub(crate) fn part_of_all<'f>(&self, rows: impl Iterator<Item = &'f Figures>) -> String {
        format!("{} of all", self.share(self.sum(rows)))
    }

    /// Returns the sum of rows in the measure.
    pub(crate) fn sum<'f>(&self, rows: impl Iterator<Item = &'f Figures>) -> u64 {
        let values = rows.map(|figures| self.measure.of(figures));
        values.fold(0, u64::saturating_add)
    }

    /// Returns the rows of a grouping, in the order of the report. `None` while another thread
    /// computes them.
    pub(crate) fn rows(&self, by: By) -> Option<Vec<Arc<Row>>> {
        let rows = self.data.rows_or_none(self.rows_key(by))?;
        Some(rows.to_vec())
    }

    /// Returns the rows of the base that belong to the shown ones; `None` without a base.
    pub(crate) fn beside(&self, by: By) -> Option<Arc<Beside>> {
        self.data.beside(self.rows_key(by))
    }

    fn rows_key(&self, by: By) -> (By, Measure, Frames) {
        // The choice of frames affects only rows by function. Rows by site are those of the report.
        let frames = match by {
            By::Function => self.frames,
            _ => Frames::Folded,
        };
        (by, by.measure(self.measure), frames)
    }
}

/// The outcome of a command in a view.
#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    Done,
    /// Show this text in the hint bar until the next key.
    Notice(String),
    /// Show this view at this place.
    Goto(ViewId, Jump),
    /// Go back to the view that led here, if any, because there is no level left to leave.
    Out,
}

impl Outcome {
    pub(crate) fn notice(text: impl Into<String>) -> Outcome {
        Outcome::Notice(text.into())
    }

    /// Says that there are no matches to go to.
    pub(crate) fn no_search() -> Outcome {
        Outcome::notice("no search is active; press / to search")
    }

    /// Shows the view at `jump`, or the text `otherwise` if `jump` is `None`.
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
    /// All stacks that pass through this function.
    Function(Label),
    /// The sites of the row with this key.
    Group(By, String),
    /// The stack of this site (an index into the sites of the profile).
    Site(u32),
    /// The sites of a type in a field.
    Selection(Selection),
}
