//! A limit, and the check of a recording against it.

use std::collections::HashSet;

use serde::Serialize;

use super::offenders::{Offender, largest};
use super::subject::{Subject, is_match};
use super::{Outcome, Pattern, Status};
use crate::diff::{Amount, Input, Per, Recording, input, peak_bound};
use crate::profile::{Figures, Frames, Measure, Profile, ScopeId};
use crate::question::{Form, Kind, check};
use crate::table::{By, Detail, Row, rows};
use crate::units::printable;

/// The largest allowed value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Most {
    /// A figure.
    Whole(u64),
    /// A figure with decimals, for each record or byte of input.
    Each(f64),
}

impl Most {
    /// Returns the value as a number with decimals.
    pub fn ratio(self) -> f64 {
        match self {
            Most::Whole(most) => most as f64,
            Most::Each(most) => most,
        }
    }
}

/// A limit.
#[derive(Clone, Debug)]
pub struct Limit {
    /// The subject of the limit.
    pub subject: Subject,
    /// The limited measure.
    pub measure: Measure,
    /// Limits the figure for each record or byte of input.
    pub per: Option<Per>,
    /// The largest allowed value.
    pub most: Most,
}

/// Compares a recording with a limit.
///
/// # Errors
/// Returns one sentence if there are no such rows, the pattern matches none, or the recording does
/// not state the input to divide by.
pub fn check_limit(recording: &Recording<'_>, limit: &Limit) -> Result<Outcome, String> {
    let profile = recording.profile;
    let name = printable(recording.name);
    if profile.capture().sampling.is_some()
        && (limit.subject != Subject::Total || !profile.counts_exactly(limit.measure))
    {
        return Err(format!(
            "[{}] {}: {name} has estimates from samples: only the program's total bytes, and growth over earlier \
             recordings (--against), can be checked; record in mode `exact`",
            limit.subject,
            limit.measure.name()
        ));
    }
    let (figures, of_phase) = match &limit.subject {
        Subject::Total => (profile.totals().clone(), None),
        Subject::Rows(by, pattern) => {
            check(Kind::Counters, Form::Rows, *by, limit.measure)?;
            matching(profile, *by, pattern, &name)?
        }
    };
    let count = match limit.per {
        None => 1,
        Some(per) => {
            let stated = of_phase.unwrap_or_else(|| input(profile));
            per.count(stated).ok_or_else(|| {
                let (subject, key, unstated) = (&limit.subject, per.key(), per.unstated());
                format!("[{subject}] {key}: {name} {unstated} on the phase, or drop the limit")
            })?
        }
    };
    let value = match limit.subject {
        Subject::Total => profile.total_of(limit.measure),
        Subject::Rows(..) => limit.measure.of(&figures),
    };
    let value = Amount::new(value, count);
    let bound = match limit.measure {
        Measure::Peak => peak_bound(profile) as f64 / count as f64,
        _ => 0.0,
    };
    let status = Status::of(value, bound, limit.most);
    let offenders: Vec<Offender> = match status {
        Status::Failed => largest(profile, limit.measure, &limit.subject),
        _ => Vec::new(),
    };
    Ok(Outcome {
        subject: limit.subject.to_string(),
        measure: limit.measure,
        per: limit.per,
        value,
        most: limit.most,
        base: None,
        bound,
        status,
        offenders,
    })
}

/// The rows that match, added up, and the input of phases. A phase or a field counts with what lies
/// inside it; of one inside another one that matches nothing is added: it is in there.
fn matching(
    profile: &Profile,
    by: By,
    pattern: &Pattern,
    recording: &str,
) -> Result<(Figures, Option<Input>), String> {
    let rows = rows(profile, by, Measure::Total, Frames::Folded);
    let matching: Vec<&Row> = rows.iter().filter(|row| is_match(row, pattern)).collect();
    if matching.is_empty() {
        return Err(no_match(by, pattern, &rows, recording));
    }
    let places: HashSet<u32> = matching.iter().filter_map(|row| place(row)).collect();
    let around = |place: u32| -> Vec<u32> {
        match by {
            By::Phase => {
                let phases = profile.phases().around(ScopeId(place));
                phases.into_iter().map(|phase| phase.0).collect()
            }
            _ => profile.fields().path_to(place),
        }
    };
    let (mut figures, mut input) = (Figures::default(), Input::default());
    for row in matching {
        let is_inside = |place| {
            let mut outer = around(place).into_iter().filter(|&outer| outer != place);
            outer.any(|outer| places.contains(&outer))
        };
        match &row.detail {
            _ if place(row).is_some_and(is_inside) => {}
            Detail::Field(detail) if detail.node != 0 => figures.add(&detail.with_inner),
            Detail::Phase(detail) if detail.scope.0 != 0 => {
                figures.add(&detail.with_inner);
                input.input_bytes = input.input_bytes.saturating_add(detail.input_bytes);
                input.records = input.records.saturating_add(detail.records);
            }
            // Every site is in exactly one row; what is in no phase, or in no field, is not around
            // the others.
            _ => figures.add(&row.figures),
        }
    }
    Ok((figures, (by == By::Phase).then_some(input)))
}

/// The phase or the field that a row is; 0 = what is in none.
fn place(row: &Row) -> Option<u32> {
    match &row.detail {
        Detail::Phase(detail) => Some(detail.scope.0),
        Detail::Field(detail) => Some(detail.node),
        _ => None,
    }
}

fn no_match(by: By, pattern: &Pattern, rows: &[Row], recording: &str) -> String {
    /// Names that are given as examples.
    const EXAMPLES: usize = 3;
    let by = by.name();
    let there = rows.iter().take(EXAMPLES).map(|row| printable(&row.key));
    let there = if rows.is_empty() {
        "there are none".to_owned()
    } else {
        format!("there are {}", there.collect::<Vec<_>>().join(", "))
    };
    format!(
        "no {by} of {recording} matches \"{}\": {there}; `heapglass report {recording} --by {by}` lists all",
        printable(pattern.text())
    )
}
