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
#[cfg(feature = "flamegraph")]
mod html;
mod metrics;
mod names;
#[cfg(feature = "parquet")]
pub mod parquet;
mod pprof;
mod rows;
mod since;
mod speedscope;

use std::io::{self, Write};

use serde::Serialize;

#[cfg(feature = "flamegraph")]
pub use html::{write_comparison_page, write_page};

use crate::calltree::{CallTree, CallTreeOptions, write_folded};
use crate::profile::{Frames, Measure, Profile};
use crate::report::page::capital;
use crate::report::{write_holders_json, write_json};
use crate::table::{HeldMeasure, SnapshotAt};
use crate::units::Bytes;

use crate::report::ReportOptions;

pub use metrics::{METRICS_CONTENT_TYPE, write_metrics};
pub use pprof::{PprofOptions, PprofSize};
pub use since::{Moment, Since, Window};

/// A format of another tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
    #[cfg(feature = "flamegraph")]
    Html,
}

impl Format {
    /// Every format, in the order frontends offer them.
    pub const ALL: [Format; 7 + cfg!(feature = "flamegraph") as usize] = [
        Format::Pprof,
        Format::Dhat,
        Format::Speedscope,
        Format::Firefox,
        Format::Folded,
        Format::Json,
        Format::Csv,
        #[cfg(feature = "flamegraph")]
        Format::Html,
    ];

    /// Returns the word of the command line.
    pub fn name(self) -> &'static str {
        match self {
            Format::Pprof => "pprof",
            Format::Dhat => "dhat",
            Format::Speedscope => "speedscope",
            Format::Firefox => "firefox",
            Format::Folded => "folded",
            Format::Json => "json",
            Format::Csv => "csv",
            #[cfg(feature = "flamegraph")]
            Format::Html => "html",
        }
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

    /// Returns `true` if the format can have the holders of a snapshot.
    pub fn has_holders(self) -> bool {
        self.has_rows() || self == Format::Folded
    }

    /// Returns `true` if the format can show that measure first, or alone.
    pub fn shows(self, measure: Measure) -> bool {
        match self {
            Format::Pprof => pprof::default_type(measure).is_some(),
            // It has all figures of DHAT, and no order.
            Format::Dhat => measure == Measure::Peak,
            Format::Firefox => firefox::MEASURES.contains(&measure),
            Format::Speedscope | Format::Folded | Format::Json | Format::Csv => true,
            #[cfg(feature = "flamegraph")]
            Format::Html => true,
        }
    }

    /// Returns the default frames. Viewers fold and hide frames themselves. But if the machinery of
    /// the allocator were innermost in each stack, no viewer could tell which function asked for a
    /// block. Tables and the page use the frames of the report.
    pub fn default_frames(self) -> Frames {
        match self {
            #[cfg(feature = "flamegraph")]
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
/// Returns the errors of `out` (a broken pipe keeps its kind).
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
        Format::Folded => write_folded(&tree(profile, options), profile, options.measure, out),
        Format::Json => write_json(profile, options, out),
        Format::Csv => csv::write(profile, options, out),
        #[cfg(feature = "flamegraph")]
        Format::Html => write_page(profile, options, None, out),
    }
}

/// Writes a profile as pprof, with more options than a file needs.
///
/// # Errors
/// Returns the errors of `out`; `InvalidInput` if the window [is not of](Moment::is_of) the same
/// recording.
pub fn write_pprof(
    profile: &Profile,
    options: &PprofOptions<'_>,
    out: impl Write,
) -> io::Result<PprofSize> {
    if options
        .window
        .is_some_and(|window| !window.begin.is_of(profile))
    {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "the two moments are of different recordings",
        ));
    }
    pprof::write(profile, options, out)
}

/// Writes the holders of a snapshot in a format: JSON as the report has them, a table, or folded
/// lines of the names of their paths.
///
/// # Errors
/// Returns the errors of `out`; `InvalidInput` for a format that [has no
/// holders](Format::has_holders).
pub fn write_holders(
    profile: &Profile,
    format: Format,
    at: SnapshotAt<'_>,
    measure: HeldMeasure,
    options: &ReportOptions<'_>,
    out: impl Write,
) -> io::Result<()> {
    match format {
        Format::Folded => holders::write_folded(profile, at, measure, out),
        Format::Json => write_holders_json(profile, at, measure, options, out),
        Format::Csv => holders::write_csv(profile, at, out),
        _ => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "this format has no holders",
        )),
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

/// Returns the error bound of the peak and every loss, as sentences. Empty if all figures are
/// exact.
pub fn notes(profile: &Profile) -> Vec<String> {
    let bound = profile.capture.peak_error_bytes;
    let sampling = profile.capture.sampling.as_ref();
    let estimates = sampling.map(|sampling| {
        let totals = &profile.totals;
        let ends = |measure: Measure| {
            let interval = measure.interval(totals);
            let ends = interval.map_or_else(String::new, |interval| measure.ends(interval));
            let title = measure.title_in(profile.process.state);
            format!("{}: {ends}.", capital(title))
        };
        format!(
            "{} {} {}",
            sampling.explained("Figures", totals.samples.hits()),
            ends(Measure::Peak),
            ends(Measure::Live)
        )
    });
    let peak = (bound > 0 && sampling.is_none()).then(|| {
        let peak = Measure::Peak.name_in(profile.process.state);
        format!("The {peak} is exact to within {}.", Bytes(bound))
    });
    estimates
        .into_iter()
        .chain(peak)
        .chain(profile.losses().iter().cloned())
        .collect()
}

/// A text that says what a file is, followed by the [`notes`].
fn with_notes(profile: &Profile, text: &str) -> String {
    let mut all = vec![text.to_owned()];
    all.extend(notes(profile));
    all.join(" ")
}
