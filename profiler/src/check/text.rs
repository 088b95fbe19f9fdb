//! What became of limits, as text.

use std::io::{self, Write};

use super::offenders::Offender;
use super::{Check, Most, Outcome, Status};
use crate::diff::{Amount, amount, each_byte};
use crate::profile::Measure;
use crate::report::page::Page;
use crate::report::{self, Style};
use crate::units::{Bytes, Count, printable};

/// Writes each limit with what was measured, and below those that failed where it comes from.
///
/// # Errors
/// What `out` returned.
pub fn write_text(check: &Check, options: &report::Options<'_>, out: impl Write) -> io::Result<()> {
    let mut page = Page::new(options);
    for warning in &check.warnings {
        page.warning(warning);
    }
    for outcome in &check.outcomes {
        let (style, word) = match outcome.status {
            Status::Passed => (Style::Faint, "ok    "),
            Status::Unsure => (Style::Strong, "ok ?  "),
            Status::Failed => (Style::Warning, "FAILED"),
        };
        page.wrap(style, &format!("  {word}  "), &sentence(outcome));
        for offender in &outcome.offenders {
            let value = value(outcome, offender);
            page.part(Style::Strong, &format!("{value:>20}  "));
            let names = names(offender);
            let names: Vec<_> = names.iter().map(|name| printable(name)).collect();
            let names: Vec<&str> = names.iter().map(|name| &**name).collect();
            page.parts_after(Style::Faint, &" ".repeat(22), &names);
        }
    }
    let recording = printable(&check.recording);
    page.line(Style::Heading, &format!("{recording}: {}", check.verdict()));
    page.finish(out)
}

/// `program: peak 12.3 MiB, at most 10.0 MiB: 2.3 MiB (23.0 %) too much`
pub(super) fn sentence(outcome: &Outcome) -> String {
    let per = outcome
        .per
        .map(|per| format!(" {}", per.words()))
        .unwrap_or_default();
    let measure = outcome.measure;
    let mut text = format!(
        "{}: {} {}{per}, at most {}",
        subject(outcome),
        measure.name(),
        amount(measure, outcome.value),
        allowed(measure, outcome.most)
    );
    if let Some(base) = outcome.base {
        text.push_str(&format!(" (before: {})", amount(measure, base)));
    }
    // A bound of whole bytes is one.
    let bound = match outcome.per {
        None => measure.amount(outcome.bound as u64),
        Some(_) => each(measure, outcome.bound),
    };
    match outcome.status {
        Status::Passed => {}
        Status::Unsure if outcome.bound > 0.0 => {
            text.push_str(&format!(
                ": cannot be told, the error bound of the peak is {bound}"
            ));
        }
        Status::Unsure => text.push_str(": within the spread of the recordings of before"),
        Status::Failed => {
            text.push_str(&format!(": {} too {}", over(outcome), many(measure)));
            if outcome.bound > 0.0 {
                text.push_str(&format!(", to within {bound}"));
            }
        }
    }
    text
}

/// What is limited, as a sentence says it.
pub(super) fn subject(outcome: &Outcome) -> &str {
    match outcome.subject.as_str() {
        "total" => "program",
        subject => subject,
    }
}

fn many(measure: Measure) -> &'static str {
    match measure.is_bytes() {
        true => "much",
        false => "many",
    }
}

/// By how much it is over: `2.3 MiB (23.0 %)`.
fn over(outcome: &Outcome) -> String {
    let measure = outcome.measure;
    let most = outcome.most.ratio();
    let more = outcome.value.ratio() - most;
    let more_text = match (outcome.most, outcome.value) {
        (Most::Whole(most), Amount { value, count: 1 }) => {
            measure.amount(value.saturating_sub(most))
        }
        _ => each(measure, more),
    };
    match more / most {
        part if part < 10.0 => format!("{more_text} ({:.1} %)", part * 100.0),
        _ => more_text,
    }
}

pub(super) fn allowed(measure: Measure, most: Most) -> String {
    match most {
        Most::Whole(most) => measure.amount(most),
        Most::Each(most) => each(measure, most),
    }
}

fn each(measure: Measure, value: f64) -> String {
    match measure.is_bytes() {
        true if value >= 1024.0 => Bytes(value as u64).to_string(),
        true => each_byte(value),
        false if value >= 1000.0 => Count(value as u64).to_string(),
        false => format!("{value:.2}"),
    }
}

/// What a site counts for, or how much it grew.
pub(super) fn value(outcome: &Outcome, offender: &Offender) -> String {
    let sign = if outcome.base.is_some() { "+" } else { "" };
    format!("{sign}{}", outcome.measure.amount(offender.value))
}

/// What, where, owner, file and line.
pub(super) fn names(offender: &Offender) -> [&str; 4] {
    [
        &offender.what,
        &offender.location,
        &offender.owner,
        offender.source.as_deref().unwrap_or_default(),
    ]
}
