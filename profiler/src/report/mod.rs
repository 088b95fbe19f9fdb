//! The report: one profile as text for people and as JSON for scripts, with rows grouped by site,
//! type, field, thread, phase or arena, and with the values that the program had measured.
//!
//! Text and JSON use the same [rows](crate::table::rows), so they cannot disagree. The report must
//! never show a figure without its bounds: every loss is a sentence ([`Profile::losses`]), and rows
//! that the table leaves out are counted. A control character of a recorded name must never reach a
//! terminal.
//!
//! ```
//! use heapglass_profiler::report::{ReportOptions, write_text};
//! use heapglass_profiler::table::By;
//!
//! # let profile = heapglass_fixture::real("shop-profiled");
//! let options = ReportOptions {
//!     by: By::Phase,
//!     top: Some(3),
//!     ..ReportOptions::default()
//! };
//! write_text(&profile, &options, std::io::stdout().lock())?;
//! # Ok::<(), std::io::Error>(())
//! ```

pub(crate) mod escape;
mod header;
mod json;
pub(crate) mod markdown;
mod notes;
pub(crate) mod page;
mod text;

use std::io;

use crate::invalid::invalid;
use crate::profile::{Frames, Measure, Profile};
use crate::question::{self, Answer, Kind, Of, Question, Shape};
use crate::table::{By, SnapshotAt};

pub(crate) use json::SnapshotJson;
pub(crate) use json::row_json;
pub use json::{FORMAT, write_json};
pub(crate) use json::{holder_rows_json, report_json};
pub(crate) use notes::ARENA_FIGURES;
pub(crate) use notes::notes;
pub use text::{write_entry, write_summary, write_text};

/// Number of rows of a text report if [`ReportOptions::top`] is `None`.
pub const DEFAULT_TOP: usize = 10;

/// Columns of a text report that is not written to a terminal.
pub const DEFAULT_WIDTH: usize = 100;

/// Options of a report and of an export.
#[derive(Clone, Copy, Debug)]
pub struct ReportOptions<'a> {
    /// The grouping of rows.
    pub by: By,
    /// The measure that orders rows.
    pub measure: Measure,
    /// The snapshot whose figures are shown. By type and a measure of counters, retained bytes
    /// stand next to the counters.
    pub snapshot: Option<SnapshotAt<'a>>,
    /// Maximum number of rows; `None` = [`DEFAULT_TOP`] in text, all of them in JSON.
    pub top: Option<usize>,
    /// The frames of a stack that count. If frames are folded, sites that read the same form one
    /// row, else sites of one stack do.
    pub frames: Frames,
    /// Also print the command, all totals, the resident set, marks, snapshots and measured values.
    pub details: bool,
    /// Explain the columns, and print everything that is known of each row and of the recording.
    pub explain: bool,
    /// Width of the terminal in columns; the text never wraps at less than 40.
    pub width: usize,
    /// The name of the recording, to be printed.
    pub recording: Option<&'a str>,
    /// Marks up the text.
    pub paint: Paint,
}

impl Default for ReportOptions<'_> {
    fn default() -> Self {
        ReportOptions {
            by: By::Site,
            measure: Measure::Peak,
            snapshot: None,
            top: None,
            frames: Frames::Folded,
            details: false,
            explain: false,
            width: DEFAULT_WIDTH,
            recording: None,
            paint: plain,
        }
    }
}

impl<'a> ReportOptions<'a> {
    /// Returns `true` if the text has the details of the recording below its table.
    fn has_details(&self) -> bool {
        self.details || self.explain
    }

    /// Returns the question that the options ask: about the snapshot if the grouping or the measure
    /// is of snapshots, else about the whole recording.
    pub fn question(&self) -> Question<'a> {
        let of = self
            .snapshot
            .filter(|_| Kind::of(self.by, self.measure) == Kind::Snapshot)
            .map_or(Of::Whole, Of::Snapshot);
        Question {
            of,
            by: self.by,
            measure: self.measure,
            frames: self.frames,
            shape: Shape::default(),
        }
    }

    /// Returns the rows that answer the question of the options.
    ///
    /// # Errors
    /// Returns `InvalidInput` with the reason if it has no answer.
    pub(crate) fn rows(&self, profile: &Profile) -> io::Result<Answer<'a>> {
        question::rows(profile, &self.question()).map_err(invalid)
    }
}

/// A part of the text that may be marked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Style {
    /// Headings of tables and blocks.
    Heading,
    /// The figure the rows are ordered by, and names of owners.
    Strong,
    /// Stacks, legends.
    Faint,
    /// Losses.
    Warning,
}

/// Returns the texts before and after a part: escape sequences of a terminal, or nothing. Neither
/// may take up columns.
pub type Paint = fn(Style) -> (&'static str, &'static str);

/// Adds no mark-up.
pub fn plain(_: Style) -> (&'static str, &'static str) {
    ("", "")
}
