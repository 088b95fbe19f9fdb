//! A comparison of counters or of snapshots, and its forms.

use std::io::{self, Write};

use super::held::{self, HeldDiff, HeldDiffJson};
use super::json::DiffJson;
use super::{Diff, markdown, picture, text};
use crate::flamegraph::PictureTotals;
use crate::invalid::invalid;
use crate::question::{Form, Kind, check};
use crate::report::{ReportOptions, escape};

/// Two sides compared: their counters, or what is held in a snapshot of each.
#[derive(Clone, Debug)]
pub enum Comparison<'a> {
    /// Counters of whole recordings.
    Counted(Diff<'a>),
    /// Two snapshots.
    Held(Box<HeldDiff<'a>>),
}

impl<'a> From<Diff<'a>> for Comparison<'a> {
    fn from(diff: Diff<'a>) -> Self {
        Comparison::Counted(diff)
    }
}

impl<'a> From<HeldDiff<'a>> for Comparison<'a> {
    fn from(diff: HeldDiff<'a>) -> Self {
        Comparison::Held(Box::new(diff))
    }
}

/// Writes the comparison; `options` give the width, the mark-up and the number of rows.
///
/// # Errors
/// Returns the errors of `out`.
pub fn write_text(
    comparison: &Comparison<'_>,
    options: &ReportOptions<'_>,
    out: impl Write,
) -> io::Result<()> {
    match comparison {
        Comparison::Counted(diff) => text::write(diff, options, out),
        Comparison::Held(diff) => held::write(diff, options, out),
    }
}

/// Writes the comparison as one JSON object.
///
/// Each figure has `base` and `new` with the median, the least, the largest and the figure of each
/// recording in order; `difference` is that of the medians, `relative` the difference as a part of
/// the first (null when that is 0), and `verdict` one of `equal`, `more`, `less`,
/// `within_error_bound` (of the two peaks, `error_bound`; of estimates, whose difference lies
/// between `difference_low` and `difference_high` with a confidence of 95 %), `within_spread` (of
/// several recordings) and `not_known` (of blocks and other events of samples, which are lower
/// bounds: the difference and its ends are null). `rows` are those that differ by the measure;
/// `base_figures` and `new_figures` of a row are those of the report, one for each recording (of a
/// snapshot just one), null where no recording of the side has it. By phase, `phases` has the time, the speed and the
/// allocations for each record of every phase, null on a side that does not know them.
///
/// # Errors
/// Returns the errors of `out`.
pub fn write_json(
    comparison: &Comparison<'_>,
    top: Option<usize>,
    out: impl Write,
) -> io::Result<()> {
    match comparison {
        Comparison::Counted(diff) => escape::write_json(&DiffJson { diff, top }, out),
        Comparison::Held(diff) => escape::write_json(&HeldDiffJson { diff, top }, out),
    }
}

/// Writes a heading, a table of totals, and a table of the rows that differ most, at most `top`.
///
/// # Errors
/// Returns the errors of `out`; `InvalidInput` for two snapshots, of which there is no such table.
pub fn write_markdown(
    comparison: &Comparison<'_>,
    top: Option<usize>,
    out: impl Write,
) -> io::Result<()> {
    match comparison {
        Comparison::Counted(diff) => markdown::write(diff, top, out),
        Comparison::Held(diff) => {
            let (by, measure) = (diff.by, diff.measure);
            check(Kind::Snapshot, Form::ComparisonMarkdown, by, measure).map_err(invalid)
        }
    }
}

/// Writes the picture. Counters: by field, type or arena where rows are, else by stack; if a side
/// has several recordings, it shows the one whose total is the median. Snapshots: by holder, or
/// what holds the rows.
///
/// # Errors
/// Returns the errors of `out`; `InvalidInput` where a side has no recording, or if
/// [there is no such picture](crate::question::RULES); `InvalidData` when the figures add up to
/// more than 64 bits.
pub fn write_svg(comparison: &Comparison<'_>, out: impl Write) -> io::Result<PictureTotals> {
    match comparison {
        Comparison::Counted(diff) => picture::write_counted(diff, out),
        Comparison::Held(diff) => picture::write_held(diff, out),
    }
}
