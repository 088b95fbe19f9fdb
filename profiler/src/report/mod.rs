//! The report: one profile as text for people and as JSON for scripts, its rows grouped by site,
//! type, field, thread, phase or arena, and the values the program had measured.
//!
//! Text and JSON are made from the same [`rows`], so they cannot disagree. Must never show a figure
//! without what bounds it: every loss is a sentence ([`Profile::losses`]), what is left out of the
//! table is counted. Must never let a control character of a recorded name reach a terminal.

pub(crate) mod escape;
mod header;
mod json;
mod notes;
pub(crate) mod page;
#[cfg(test)]
mod tests;
mod text;

#[cfg(doc)]
use crate::profile::Profile;
use crate::profile::{Frames, Measure};

pub use crate::table::{
    Amplification, ArenaDetail, ArenaLeak, ArenaPart, By, Detail, FieldDetail, FunctionDetail,
    Part, PhaseDetail, Row, SiteDetail, SiteLabel, Slack, TypeDetail, rows, sites_of,
};
pub(crate) use json::row_json;
pub use json::{FORMAT, write_json};
pub(crate) use notes::ARENA_FIGURES;
pub use notes::{NO_FIELDS, REALLOC_POLICY};
pub use text::{write_summary, write_text};

/// Rows of a text report when [`Options::top`] says nothing.
pub const DEFAULT_TOP: usize = 10;

/// Columns of a text report that is not written to a terminal.
pub const DEFAULT_WIDTH: usize = 100;

/// What to report.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// What a row is.
    pub by: By,
    /// What rows are ordered by.
    pub measure: Measure,
    /// At most so many rows; `None` = [`DEFAULT_TOP`] in text, all of them in JSON.
    pub top: Option<usize>,
    /// Which frames of a stack count; folded, sites that read the same are one row, else those of
    /// one stack are.
    pub frames: Frames,
    /// Say what columns mean, and all that is known of each row.
    pub explain: bool,
    /// Columns of the terminal; the text breaks no line at less than 40.
    pub width: usize,
    /// The recording that was read, to be named.
    pub recording: Option<&'a str>,
    /// Marks up the text.
    pub paint: Paint,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options {
            by: By::Site,
            measure: Measure::Peak,
            top: None,
            frames: Frames::Folded,
            explain: false,
            width: DEFAULT_WIDTH,
            recording: None,
            paint: plain,
        }
    }
}

/// A part of the text that may be marked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Headings of tables and blocks.
    Heading,
    /// The figure the rows are ordered by, and names of owners.
    Strong,
    /// Stacks, legends.
    Faint,
    /// What was lost.
    Warning,
}

/// What to write before and after a part: escape sequences of a terminal, or nothing. Neither may
/// take up columns.
pub type Paint = fn(Style) -> (&'static str, &'static str);

/// No mark-up.
pub fn plain(_: Style) -> (&'static str, &'static str) {
    ("", "")
}
