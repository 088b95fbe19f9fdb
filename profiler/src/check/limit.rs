//! A limit, and whether a recording keeps it.

use std::collections::HashSet;
use std::fmt;

use super::offenders::{Offender, largest};
use super::{Outcome, Pattern, Status};
use crate::diff::{Amount, Input, Per, Recording, input, peak_bound};
use crate::profile::{Figures, Frames, Measure, Profile, ScopeId};
use crate::table::{By, Detail, FieldDetail, PhaseDetail, Row, rows};
use crate::units::printable;

/// What is limited. A pattern limits all rows that it matches together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The whole program.
    Total,
    /// Phases with the phases inside them, by path.
    Phase(Pattern),
    /// Functions that own blocks.
    Owner(Pattern),
    /// What blocks hold, with module paths or without.
    Type(Pattern),
    /// Places in data with the places inside them, by path.
    Field(Pattern),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, pattern) = match self {
            Subject::Total => return f.write_str("total"),
            Subject::Phase(pattern) => ("phase", pattern),
            Subject::Owner(pattern) => ("owner", pattern),
            Subject::Type(pattern) => ("type", pattern),
            Subject::Field(pattern) => ("field", pattern),
        };
        write!(f, "{kind} \"{}\"", printable(pattern.text()))
    }
}

/// How much is allowed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Most {
    /// A figure.
    Whole(u64),
    /// A figure with decimals, for each record or byte of input.
    Each(f64),
}

impl Most {
    /// As a number with decimals.
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
    /// What is limited.
    pub subject: Subject,
    /// By which measure.
    pub measure: Measure,
    /// For each record or byte of input.
    pub per: Option<Per>,
    /// How much is allowed.
    pub most: Most,
}

/// Compares a recording with a limit.
///
/// # Errors
/// One sentence when the pattern matches nothing, or the recording does not state the input to divide by.
pub fn check_limit(recording: &Recording<'_>, limit: &Limit) -> Result<Outcome, String> {
    let profile = recording.profile;
    let name = printable(recording.name);
    let (figures, of_phase) = match &limit.subject {
        Subject::Total => (profile.totals, None),
        Subject::Phase(pattern) => {
            let (figures, input) = phases(profile, pattern, &name)?;
            (figures, Some(input))
        }
        Subject::Owner(pattern) => (matching(profile, By::Owner, pattern, &name)?, None),
        Subject::Type(pattern) => (matching(profile, By::Type, pattern, &name)?, None),
        Subject::Field(pattern) => (fields(profile, pattern, &name)?, None),
    };
    let count = match limit.per {
        None => 1,
        Some(per) => {
            let stated = of_phase.unwrap_or_else(|| input(profile));
            per.count(stated).ok_or_else(|| {
                format!(
                    "[{}] {}: {name} does not state its {}: call .{} on the phase, or drop the limit",
                    limit.subject,
                    per.key(),
                    per.noun(),
                    per.call()
                )
            })?
        }
    };
    let value = Amount::new(limit.measure.of(&figures), count);
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

/// The rows that match, added up: every site is in exactly one of them.
fn matching(
    profile: &Profile,
    by: By,
    pattern: &Pattern,
    recording: &str,
) -> Result<Figures, String> {
    let rows = rows(profile, by, Measure::Total, Frames::Folded);
    let mut matching = rows.iter().filter(|row| is_match(row, pattern)).peekable();
    if matching.peek().is_none() {
        return Err(no_match(by, pattern, &rows, recording));
    }
    let mut sum = Figures::default();
    matching.for_each(|row| sum.add(&row.figures));
    Ok(sum)
}

/// Phases that match, with what lies inside them, and their input. Of a phase inside another one that matches nothing is
/// added: it is in there.
fn phases(
    profile: &Profile,
    pattern: &Pattern,
    recording: &str,
) -> Result<(Figures, Input), String> {
    let rows = rows(profile, By::Phase, Measure::Total, Frames::Folded);
    let matching: Vec<&PhaseDetail> = rows
        .iter()
        .filter(|row| is_match(row, pattern))
        .filter_map(|row| match &row.detail {
            Detail::Phase(detail) => Some(&**detail),
            _ => None,
        })
        .collect();
    if matching.is_empty() {
        return Err(no_match(By::Phase, pattern, &rows, recording));
    }
    let scopes: HashSet<u32> = matching.iter().map(|detail| detail.scope.0).collect();
    let phases = profile.phases();
    let (mut figures, mut input) = (Figures::default(), Input::default());
    for detail in matching {
        if detail.scope.0 == 0 {
            // What is in no phase is not around the others.
            let alone = rows.iter().find(|row| is_outside(row));
            alone.into_iter().for_each(|row| figures.add(&row.figures));
            continue;
        }
        if !is_inside(detail.scope.0, &scopes, |phase| {
            phases.parent(ScopeId(phase)).0
        }) {
            figures.add(&detail.with_inner);
            input.input_bytes = input.input_bytes.saturating_add(detail.input_bytes);
            input.records = input.records.saturating_add(detail.records);
        }
    }
    Ok((figures, input))
}

/// Fields that match, with the places inside them. Of a field inside another one that matches nothing is added: it is in
/// there.
fn fields(profile: &Profile, pattern: &Pattern, recording: &str) -> Result<Figures, String> {
    let rows = rows(profile, By::Field, Measure::Total, Frames::Folded);
    let matching: Vec<(&Row, &FieldDetail)> = rows
        .iter()
        .filter(|row| is_match(row, pattern))
        .filter_map(|row| match &row.detail {
            Detail::Field(detail) => Some((row, &**detail)),
            _ => None,
        })
        .collect();
    if matching.is_empty() {
        return Err(no_match(By::Field, pattern, &rows, recording));
    }
    let nodes: HashSet<u32> = matching.iter().map(|(_, detail)| detail.node).collect();
    let parent = |node: u32| {
        let field = profile.fields().nodes.get(node as usize);
        field.map_or(0, |field| field.parent)
    };
    let mut figures = Figures::default();
    for (row, detail) in matching {
        if detail.node == 0 {
            // What is in no field is not around the others.
            figures.add(&row.figures);
            continue;
        }
        if !is_inside(detail.node, &nodes, parent) {
            figures.add(&detail.with_inner);
        }
    }
    Ok(figures)
}

/// Whether one of `all` is around `at`; 0 is around nothing.
fn is_inside(mut at: u32, all: &HashSet<u32>, parent: impl Fn(u32) -> u32) -> bool {
    loop {
        // Parents come before children: the walk ends, in a damaged recording too.
        let around = parent(at).min(at.saturating_sub(1));
        if around == 0 || all.contains(&around) {
            return around != 0;
        }
        at = around;
    }
}

/// Whether a row is what is in no phase.
fn is_outside(row: &Row) -> bool {
    matches!(&row.detail, Detail::Phase(detail) if detail.scope.0 == 0)
}

/// Whether a row is meant: a type by either name, an owner with or without the word behind it.
pub(super) fn is_match(row: &Row, pattern: &Pattern) -> bool {
    let full = match &row.detail {
        Detail::Type(detail) => detail.full_name.as_deref(),
        Detail::Owner { .. } => row.key.strip_suffix(DEPENDENCY),
        _ => None,
    };
    pattern.matches(&row.key) || full.is_some_and(|full| pattern.matches(full))
}

/// Behind owners of other crates.
pub(super) const DEPENDENCY: &str = " (dependency)";

fn no_match(by: By, pattern: &Pattern, rows: &[Row], recording: &str) -> String {
    /// Names that are given as examples.
    const EXAMPLES: usize = 3;
    let by = by.name();
    let there: Vec<String> = rows
        .iter()
        .take(EXAMPLES)
        .map(|row| printable(&row.key).into_owned())
        .collect();
    let there = match there.is_empty() {
        true => "there are none".to_owned(),
        false => format!("there are {}", there.join(", ")),
    };
    format!(
        "no {by} of {recording} matches \"{}\": {there}; `heapglass report {recording} --by {by}` lists all",
        printable(pattern.text())
    )
}
