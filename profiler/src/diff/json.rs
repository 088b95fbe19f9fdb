//! A comparison as JSON, for scripts: keys are never renamed or dropped within one [`FORMAT`].

use std::io::{self, Write};

use serde::Serialize;

use super::series::{Amount, Change, Series};
use super::{Diff, Per, Recording, RowChange, input, peak_bound};
use crate::profile::{Figures, Measure};
use crate::report::escape;

/// The version of the JSON: raised when a key changes its meaning or goes.
pub const FORMAT: u32 = 1;

/// Writes the comparison as one JSON object.
///
/// Each figure has `base` and `new` with the median, the least, the largest and the figure of each recording in order;
/// `difference` is that of the medians, `relative` the difference as a part of the first (null when that is 0), and
/// `verdict` one of `equal`, `more`, `less`, `within_error_bound` (of the two peaks, `error_bound`) and `within_spread` (of
/// several recordings). `rows` are those that differ by the measure; `base_figures` and `new_figures` of a row are those of
/// the report, one for each recording, null where no recording of the side has it.
///
/// # Errors
/// What `out` returned.
pub fn write_json(diff: &Diff<'_>, top: Option<usize>, out: impl Write) -> io::Result<()> {
    let [added, removed, changed] = diff.kinds();
    let shown = top.unwrap_or(usize::MAX).min(diff.rows.len());
    let json = Json {
        format: FORMAT,
        equal: diff.is_equal(),
        by: diff.options.by.name(),
        measure: diff.options.measure,
        measure_key: diff.options.measure.key(),
        per: diff.options.per.map(Per::key),
        warnings: &diff.warnings,
        base: diff.base.iter().map(RecordingJson::of).collect(),
        new: diff.new.iter().map(RecordingJson::of).collect(),
        totals: changes(&diff.totals),
        per_record: of_input(diff, Per::Record),
        per_input_byte: of_input(diff, Per::InputByte),
        changed,
        added,
        removed,
        equal_rows: diff.equal_rows,
        equal_rows_that_differ_in_another_figure: diff.other_rows,
        rows_without_figure: diff.rows_without_figure,
        elided_rows: diff.rows.len() - shown,
        rows: diff.rows[..shown].iter().map(RowJson::of).collect(),
    };
    escape::write_json(&json, out)
}

#[derive(Serialize)]
struct Json<'a> {
    format: u32,
    equal: bool,
    by: &'static str,
    measure: Measure,
    measure_key: &'static str,
    per: Option<&'static str>,
    warnings: &'a [String],
    base: Vec<RecordingJson<'a>>,
    new: Vec<RecordingJson<'a>>,
    totals: Vec<TotalJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    per_record: Option<Vec<TotalJson>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    per_input_byte: Option<Vec<TotalJson>>,
    changed: usize,
    added: usize,
    removed: usize,
    equal_rows: usize,
    equal_rows_that_differ_in_another_figure: usize,
    rows_without_figure: usize,
    elided_rows: usize,
    rows: Vec<RowJson<'a>>,
}

#[derive(Serialize)]
struct RecordingJson<'a> {
    recording: &'a str,
    program: &'a str,
    mode: &'a str,
    peak_error_bytes: u64,
    peak_discrepancy_bytes: u64,
    /// The larger of the two.
    peak_bound_bytes: u64,
    /// 0 = not stated.
    input_bytes: u64,
    records: u64,
    totals: Figures,
}

impl<'a> RecordingJson<'a> {
    fn of(one: &Recording<'a>) -> Self {
        let capture = &one.profile.capture;
        let input = input(one.profile);
        RecordingJson {
            recording: one.name,
            program: &one.profile.process.program,
            mode: &capture.mode,
            peak_error_bytes: capture.peak_error_bytes,
            peak_discrepancy_bytes: capture.peak_discrepancy_bytes,
            peak_bound_bytes: peak_bound(one.profile),
            input_bytes: input.input_bytes,
            records: input.records,
            totals: one.profile.totals,
        }
    }
}

#[derive(Serialize)]
struct TotalJson {
    measure: Measure,
    measure_key: &'static str,
    #[serde(flatten)]
    change: ChangeJson,
}

fn changes(totals: &[(Measure, Change)]) -> Vec<TotalJson> {
    let total = |(measure, change): &(Measure, Change)| TotalJson {
        measure: *measure,
        measure_key: measure.key(),
        change: ChangeJson::of(change),
    };
    totals.iter().map(total).collect()
}

fn of_input(diff: &Diff<'_>, per: Per) -> Option<Vec<TotalJson>> {
    let mut all = diff.per_input.iter();
    let (_, totals) = all.find(|(known, _)| *known == per)?;
    Some(changes(totals))
}

/// One figure on both sides.
#[derive(Serialize)]
struct ChangeJson {
    base: SeriesJson,
    new: SeriesJson,
    difference: Number,
    relative: Option<f64>,
    error_bound: f64,
    verdict: &'static str,
}

impl ChangeJson {
    fn of(change: &Change) -> ChangeJson {
        let exact = change.exact_difference().map(i64::try_from);
        ChangeJson {
            base: SeriesJson::of(&change.base),
            new: SeriesJson::of(&change.new),
            difference: match exact {
                Some(Ok(exact)) => Number::Signed(exact),
                _ => Number::Ratio(change.difference()),
            },
            relative: change.relative(),
            error_bound: change.bound,
            verdict: change.verdict.name(),
        }
    }
}

#[derive(Serialize)]
struct SeriesJson {
    median: Number,
    min: Number,
    max: Number,
    values: Vec<Number>,
}

impl SeriesJson {
    fn of(series: &Series) -> SeriesJson {
        SeriesJson {
            median: Number::of(series.median()),
            min: Number::of(series.min()),
            max: Number::of(series.max()),
            values: series.values().iter().copied().map(Number::of).collect(),
        }
    }
}

/// A whole number where nothing was divided.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum Number {
    Whole(u64),
    Signed(i64),
    Ratio(f64),
}

impl Number {
    pub(crate) fn of(amount: Amount) -> Number {
        match amount.count {
            1 => Number::Whole(amount.value),
            _ => Number::Ratio(amount.ratio()),
        }
    }
}

#[derive(Serialize)]
struct RowJson<'a> {
    key: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    full_name: Option<&'a str>,
    #[serde(rename = "where", skip_serializing_if = "str::is_empty")]
    location: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    owner: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a str>,
    kind: &'static str,
    #[serde(flatten)]
    change: ChangeJson,
    base_figures: Option<&'a [Figures]>,
    new_figures: Option<&'a [Figures]>,
}

impl<'a> RowJson<'a> {
    fn of(row: &'a RowChange) -> RowJson<'a> {
        let identity = &row.identity;
        let figures = |side: &'a [Figures]| (!side.is_empty()).then_some(side);
        RowJson {
            key: identity.name(),
            full_name: identity.shown.as_ref().map(|_| identity.key.as_str()),
            location: &identity.location,
            owner: &identity.owner,
            source: identity.source.as_deref(),
            kind: match (row.is_added(), row.is_removed()) {
                (true, _) => "added",
                (_, true) => "removed",
                _ => "changed",
            },
            change: ChangeJson::of(&row.change),
            base_figures: figures(&row.base),
            new_figures: figures(&row.new),
        }
    }
}
