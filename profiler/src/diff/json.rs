//! A comparison as JSON, for scripts: keys are never renamed or dropped within one [`FORMAT`].

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::series::{Amount, Change};
use super::{Diff, Recording, input, peak_bound};
use crate::profile::{Figures, Measure};
use crate::report::escape;
use crate::table::By;

/// The version of the JSON: raised when a key changes its meaning or goes.
pub const FORMAT: u32 = 1;

pub(super) struct DiffJson<'a> {
    pub(super) diff: &'a Diff<'a>,
    /// Maximum number of rows.
    pub(super) top: Option<usize>,
}

impl Serialize for DiffJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let diff = self.diff;
        let [added, removed, changed] = diff.kinds();
        let shown = self.top.unwrap_or(usize::MAX).min(diff.rows.len());
        let mut json = serializer.serialize_map(None)?;
        json.serialize_entry("format", &FORMAT)?;
        json.serialize_entry("equal", &diff.is_equal())?;
        json.serialize_entry("by", diff.options.by.name())?;
        json.serialize_entry("measure", &diff.options.measure)?;
        json.serialize_entry("measure_key", diff.options.measure.key())?;
        json.serialize_entry("per", &diff.options.per)?;
        json.serialize_entry("warnings", &diff.warnings)?;
        json.serialize_entry("base", &diff.base)?;
        json.serialize_entry("new", &diff.new)?;
        json.serialize_entry("totals", &totals(&diff.totals))?;
        for (per, of_input) in &diff.per_input {
            json.serialize_entry(per.key(), &totals(of_input))?;
        }
        json.serialize_entry("changed", &changed)?;
        json.serialize_entry("added", &added)?;
        json.serialize_entry("removed", &removed)?;
        json.serialize_entry("equal_rows", &diff.equal_rows)?;
        json.serialize_entry("equal_rows_that_differ_in_another_figure", &diff.other_rows)?;
        json.serialize_entry("rows_without_figure", &diff.rows_without_figure)?;
        json.serialize_entry("elided_rows", &(diff.rows.len() - shown))?;
        json.serialize_entry("rows", &diff.rows[..shown])?;
        if diff.options.by == By::Phase {
            json.serialize_entry("phases", &diff.phases)?;
        }
        json.end()
    }
}

impl Serialize for Recording<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (capture, input) = (self.profile.capture(), input(self.profile));
        let mut json = serializer.serialize_map(None)?;
        json.serialize_entry("recording", self.name)?;
        json.serialize_entry("program", &self.profile.process().program)?;
        json.serialize_entry("mode", &capture.mode)?;
        json.serialize_entry("peak_error_bytes", &capture.peak_error_bytes)?;
        json.serialize_entry("peak_discrepancy_bytes", &capture.peak_discrepancy_bytes)?;
        // The larger of the two.
        json.serialize_entry("peak_bound_bytes", &peak_bound(self.profile))?;
        // 0 = not stated.
        json.serialize_entry("input_bytes", &input.input_bytes)?;
        json.serialize_entry("records", &input.records)?;
        json.serialize_entry("totals", self.profile.totals())?;
        json.end()
    }
}

#[derive(Serialize)]
struct TotalJson<'a> {
    #[serde(flatten, serialize_with = "escape::measure")]
    measure: Measure,
    #[serde(flatten)]
    change: &'a Change,
}

fn totals(totals: &[(Measure, Change)]) -> Vec<TotalJson<'_>> {
    let totals = totals
        .iter()
        .map(|&(measure, ref change)| TotalJson { measure, change });
    totals.collect()
}

impl Serialize for Change {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut json = serializer.serialize_map(None)?;
        json.serialize_entry("base", &self.base)?;
        json.serialize_entry("new", &self.new)?;
        match self.exact_difference().map(i64::try_from) {
            _ if !self.is_known() => json.serialize_entry("difference", &None::<i64>)?,
            Some(Ok(exact)) => json.serialize_entry("difference", &exact)?,
            _ => json.serialize_entry("difference", &self.difference())?,
        }
        let relative = self.relative().filter(|_| self.is_known());
        json.serialize_entry("relative", &relative)?;
        json.serialize_entry("error_bound", &self.bound)?;
        if let Some((low, high)) = self.interval {
            json.serialize_entry("difference_low", &low)?;
            json.serialize_entry("difference_high", &high)?;
        }
        json.serialize_entry("verdict", &self.verdict)?;
        json.end()
    }
}

impl Serialize for Amount {
    /// A whole number where nothing was divided.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.count {
            1 => serializer.serialize_u64(self.value),
            _ => serializer.serialize_f64(self.ratio()),
        }
    }
}

/// The figures of a side; null where no recording of it has the row.
pub(super) fn of_side<S: Serializer>(side: &[Figures], serializer: S) -> Result<S::Ok, S::Error> {
    Some(side)
        .filter(|side| !side.is_empty())
        .serialize(serializer)
}
