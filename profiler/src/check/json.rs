//! What became of limits, as JSON for scripts: keys are never renamed or dropped within one [`FORMAT`].

use std::io::{self, Write};

use serde::Serialize;

use super::{Check, Most, Offender, Outcome};
use crate::diff::{Number, Per};
use crate::profile::Measure;
use crate::report::escape;

/// The version of the JSON: raised when a key changes its meaning or goes.
pub const FORMAT: u32 = 1;

/// Writes the check as one JSON object. `status` of a check is `passed`, `failed` or `unsure` (within `error_bound`, or
/// within the spread of several recordings: no failure); `base` is what it is compared with, null of a limit.
///
/// # Errors
/// What `out` returned.
pub fn write_json(check: &Check, out: impl Write) -> io::Result<()> {
    let failed = check.failed().count();
    let json = Json {
        format: FORMAT,
        recording: &check.recording,
        passed: failed == 0,
        failed,
        warnings: &check.warnings,
        checks: check.outcomes.iter().map(OutcomeJson::of).collect(),
    };
    escape::write_json(&json, out)
}

#[derive(Serialize)]
struct Json<'a> {
    format: u32,
    recording: &'a str,
    passed: bool,
    failed: usize,
    warnings: &'a [String],
    checks: Vec<OutcomeJson<'a>>,
}

#[derive(Serialize)]
struct OutcomeJson<'a> {
    subject: &'a str,
    measure: Measure,
    measure_key: &'static str,
    per: Option<&'static str>,
    status: &'static str,
    value: Number,
    most: Number,
    base: Option<Number>,
    error_bound: f64,
    offenders: Vec<OffenderJson<'a>>,
}

impl<'a> OutcomeJson<'a> {
    fn of(outcome: &'a Outcome) -> Self {
        OutcomeJson {
            subject: &outcome.subject,
            measure: outcome.measure,
            measure_key: outcome.measure.key(),
            per: outcome.per.map(Per::key),
            status: outcome.status.name(),
            value: Number::of(outcome.value),
            most: match outcome.most {
                Most::Whole(most) => Number::Whole(most),
                Most::Each(most) => Number::Ratio(most),
            },
            base: outcome.base.map(Number::of),
            error_bound: outcome.bound,
            offenders: outcome.offenders.iter().map(OffenderJson::of).collect(),
        }
    }
}

/// `value` is the figure of the site, or, compared with a base, how much more it is than there.
#[derive(Serialize)]
struct OffenderJson<'a> {
    value: u64,
    what: &'a str,
    #[serde(rename = "where")]
    location: &'a str,
    owner: &'a str,
    source: Option<&'a str>,
    field: Option<&'a str>,
}

impl<'a> OffenderJson<'a> {
    fn of(offender: &'a Offender) -> Self {
        OffenderJson {
            value: offender.value,
            what: &offender.what,
            location: &offender.location,
            owner: &offender.owner,
            source: offender.source.as_deref(),
            field: offender.field.as_deref(),
        }
    }
}
