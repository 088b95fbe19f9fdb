//! Exports: one profile in the formats of other tools, one file for each format; with the feature
//! `parquet`, many profiles as tables.
//!
//! Every format holds the same totals as the report. An export must never contain a figure that was
//! not counted: a lower bound is called one ([`notes`], and in the file if the format can
//! contain it). A control character of a recorded name must never get through.
//!
//! ```
//! use heapglass_profiler::export::{Format, notes, write};
//! use heapglass_profiler::report::ReportOptions;
//!
//! # let profile = heapglass_fixture::real("shop-profiled");
//! let format = Format::Folded;
//! let options = ReportOptions {
//!     frames: format.default_frames(),
//!     ..ReportOptions::default()
//! };
//! let mut folded = Vec::new();
//! write(&profile, format, &options, &mut folded)?;
//! assert!(String::from_utf8_lossy(&folded).starts_with("shop::main;"));
//! for note in notes(&profile) {
//!     eprintln!("{note}");
//! }
//! # Ok::<(), std::io::Error>(())
//! ```

mod csv;
mod dhat;
mod firefox;
mod holders;
mod html;
mod metrics;
#[cfg(feature = "parquet")]
pub mod parquet;
mod rows;
mod speedscope;

use std::io::{self, Write};

use serde::Serialize;

pub use html::{write_comparison_page, write_page};

use crate::calltree::{CallTree, CallTreeOptions, write_folded};
use crate::invalid::invalid;
use crate::pprof::default_type;
use crate::profile::{Frames, Measure, Profile};
use crate::question::{self, Form, Kind, Of, Question, Tree, check};
use crate::report::write_json;
use crate::table::By;

use crate::report::ReportOptions;

pub use crate::pprof::{Moment, PprofOptions, PprofSize, Since, Window, write_pprof};
pub use crate::profile::notes;
pub use metrics::{METRICS_CONTENT_TYPE, write_metrics};

/// A format of another tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum Format {
    /// Protocol buffers, compressed: `go tool pprof`, Parca, Pyroscope.
    Pprof,
    /// JSON of valgrind's DHAT, version 2: `dh_view.html`, the Firefox Profiler.
    Dhat,
    /// JSON of speedscope.
    Speedscope,
    /// The processed profile of the Firefox Profiler, JSON.
    Firefox,
    /// Folded stacks, one line a stack: inferno, `flamegraph.pl`.
    Folded,
    /// The JSON of the report.
    Json,
    /// The rows of the report as a table.
    Csv,
    /// One page for any browser: see [`write_page`].
    Html,
}

impl Format {
    /// Every format, in the order frontends offer them.
    pub const ALL: [Format; 8] = [
        Format::Pprof,
        Format::Dhat,
        Format::Speedscope,
        Format::Firefox,
        Format::Folded,
        Format::Json,
        Format::Csv,
        Format::Html,
    ];

    /// Returns the word of the command line.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the format of that name, or `None`.
    pub fn from_name(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|format| format.name() == name)
    }

    /// Returns `true` if the format is of no use on a terminal.
    pub fn is_binary(self) -> bool {
        self == Format::Pprof
    }

    /// Returns `true` if the format is a table of rows, grouped by [`ReportOptions::by`].
    pub fn has_rows(self) -> bool {
        matches!(self, Format::Json | Format::Csv)
    }

    /// Looks up whether the format can hold the answer to a question: show its measure first or
    /// alone, and group by it.
    ///
    /// # Errors
    /// Returns the sentence that says why it cannot, and what to use instead.
    pub fn check(self, by: By, measure: Measure) -> Result<(), String> {
        let kind = Kind::of(by, measure);
        let (name, word) = (self.name(), measure.name());
        let is_of_snapshot = kind == Kind::Snapshot;
        if is_of_snapshot && !self.has_snapshots() {
            return Err(format!(
                "{name} has no figures of a snapshot; use json, csv, html or folded"
            ));
        }
        if self.has_rows() {
            return check(kind, Form::Rows, by, measure);
        }
        if is_of_snapshot && self == Format::Folded {
            return check(kind, Form::Tree, by, measure);
        }
        if is_of_snapshot && matches!(by, By::Site | By::Holder) {
            return check(kind, Form::Rows, By::Holder, measure);
        }
        if by != By::Site {
            let instead = if self.has_snapshots() && self != Format::Folded {
                "rows of every kind"
            } else {
                "stacks instead of rows"
            };
            return Err(format!(
                "{name} has {instead}, so --by {} has no effect; leave it out, or use json or csv",
                by.name()
            ));
        }
        let is_shown = match self {
            Format::Pprof => default_type(measure).is_some(),
            // It has all figures of DHAT, and no order.
            Format::Dhat => measure == Measure::Peak,
            Format::Firefox => firefox::MEASURES.contains(&measure),
            _ => true,
        };
        if is_shown {
            return Ok(());
        }
        Err(format!(
            "{name} does not support --measure {word}; leave it out, or use folded, speedscope, json or csv"
        ))
    }

    /// Returns `true` if the format can show a snapshot: as rows, as paths or as a page.
    fn has_snapshots(self) -> bool {
        !matches!(
            self,
            Format::Pprof | Format::Dhat | Format::Speedscope | Format::Firefox
        )
    }

    /// Returns the default frames. Viewers fold and hide frames themselves. But if the machinery of
    /// the allocator were innermost in each stack, no viewer could tell which function asked for a
    /// block. Tables and the page use the frames of the report.
    pub fn default_frames(self) -> Frames {
        match self {
            Format::Html => Frames::Folded,
            _ if self.has_rows() => Frames::Folded,
            _ => Frames::Trimmed,
        }
    }
}

/// Writes a profile in a format, with the frames of `options`. Their measure is what folded stacks
/// count, what a viewer shows first, and what rows are ordered by; formats that [have
/// rows](Format::has_rows) group them as they say.
///
/// # Errors
/// Returns the errors of `out` (a broken pipe keeps its kind); `InvalidInput` for rows, or for a
/// snapshot, if the question of the options has no answer.
pub fn write(
    profile: &Profile,
    format: Format,
    options: &ReportOptions<'_>,
    out: impl Write,
) -> io::Result<()> {
    match format {
        Format::Pprof => {
            let options = PprofOptions {
                measure: options.measure,
                frames: options.frames,
                ..PprofOptions::default()
            };
            write_pprof(profile, &options, out).map(drop)
        }
        Format::Dhat => dhat::write(profile, options, out),
        Format::Speedscope => speedscope::write(profile, options, out),
        Format::Firefox => firefox::write(profile, options, out),
        Format::Folded => {
            // Stacks, whatever rows are grouped by.
            let question = match options.question() {
                question @ Question { of: Of::Whole, .. } => Question {
                    by: By::Site,
                    ..question
                },
                question => question,
            };
            match question::tree(profile, &question).map_err(invalid)? {
                Tree::Holders(_, rows) => holders::write_folded(&rows, options.measure, out),
                Tree::Counted(tree, _) => write_folded(&tree, profile, options.measure, out),
            }
        }
        Format::Json => write_json(profile, options, out),
        Format::Csv => csv::write(profile, options, out),
        Format::Html => write_page(profile, options, None, out),
    }
}

/// Writes JSON in one line.
fn write_line(json: &impl Serialize, mut out: impl Write) -> io::Result<()> {
    serde_json::to_writer(&mut out, json)?;
    out.write_all(b"\n")?;
    out.flush()
}

/// The stacks of a profile, in the frames that were asked for, those with most of the measure
/// first.
fn tree(profile: &Profile, options: &ReportOptions<'_>) -> CallTree {
    let shown = CallTreeOptions {
        frames: options.frames,
        measure: options.measure,
        ..CallTreeOptions::default()
    };
    CallTree::sorted(profile, &shown)
}

/// A text that says what a file is, followed by the [`notes`].
fn with_notes(profile: &Profile, text: &str) -> String {
    let mut all = vec![text.to_owned()];
    all.extend(notes(profile));
    all.join(" ")
}
