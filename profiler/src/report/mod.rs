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
#[cfg(feature = "flamegraph")]
pub(crate) mod markdown;
mod notes;
pub(crate) mod page;
mod text;

#[cfg(doc)]
use crate::profile::Profile;
use crate::profile::{Frames, Measure};
use crate::table::{By, HeldMeasure, SnapshotAt};

#[cfg(feature = "flamegraph")]
pub(crate) use json::SnapshotJson;
pub(crate) use json::row_json;
pub use json::{FORMAT, write_holders_json, write_json};
#[cfg(feature = "flamegraph")]
pub(crate) use json::{holder_rows_json, report_json};
#[cfg(feature = "flamegraph")]
pub(crate) use notes::ARENA_FIGURES;
#[cfg(feature = "flamegraph")]
pub(crate) use notes::notes;
pub use text::{write_entry, write_holders_text, write_summary, write_text};

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
    /// The snapshot whose figures are shown: by type, retained bytes stand next to the counters.
    pub snapshot: Option<SnapshotAt<'a>>,
    /// A figure of the snapshot that orders rows in place of the measure.
    pub held: Option<HeldMeasure>,
    /// Maximum number of rows; `None` = [`DEFAULT_TOP`] in text, all of them in JSON.
    pub top: Option<usize>,
    /// The frames of a stack that count. If frames are folded, sites that read the same form one
    /// row, else sites of one stack do.
    pub frames: Frames,
    /// Explain the columns, and print everything that is known of each row.
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
            held: None,
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
