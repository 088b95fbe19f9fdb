//! The results of limits as text.

use std::io::{self, Write};

use super::offenders::Offender;
use super::{Check, Most, Outcome, Status};
use crate::diff::{self, Amount, amount};
use crate::profile::{Measure, State};
use crate::report::page::Page;
use crate::report::{ReportOptions, Style};
use crate::units::{bytes_apart, printable, read_apart};

/// Writes each limit with what was measured, and below those that failed where it comes from.
///
/// # Errors
/// Returns the errors of `out`.
pub fn write_text(check: &Check, options: &ReportOptions<'_>, out: impl Write) -> io::Result<()> {
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
        page.wrap(
            style,
            &format!("  {word}  "),
            &sentence(outcome, check.state),
        );
        for offender in &outcome.offenders {
            let value = value(outcome, offender);
            page.part(Style::Strong, &format!("{value:>20}  "));
            let names = names(offender).map(printable);
            let names = names.each_ref().map(|name| &**name);
            page.parts_after(Style::Faint, &" ".repeat(22), &names);
        }
    }
    let recording = printable(&check.recording);
    page.line(Style::Heading, &format!("{recording}: {}", check.verdict()));
    page.finish(out)
}

/// `program: peak 12.3 MiB, at most 10.0 MiB: 2.3 MiB (23.0 %) too much`
pub(super) fn sentence(outcome: &Outcome, state: State) -> String {
    let measure = outcome.measure;
    let [value, most, base] = spelled(outcome);
    let name = measure.name_in(state);
    let mut text = format!("{}: {name} {value}", subject(outcome));
    if let Some(per) = outcome.per {
        text.push_str(&format!(" {}", per.words()));
    }
    text.push_str(&format!(", at most {most}"));
    if outcome.base.is_some() {
        text.push_str(&format!(" (before: {base})"));
    }
    // A bound of whole bytes is one.
    let bound = match outcome.per {
        None => measure.amount(outcome.bound as u64),
        Some(_) => each(measure, outcome.bound),
    };
    let is_bounded = outcome.bound > 0.0;
    match outcome.status {
        Status::Passed => {}
        Status::Unsure if is_bounded => {
            let why = "undecided, because the error bound of the peak is";
            text.push_str(&format!(": {why} {bound}"));
        }
        Status::Unsure => text.push_str(": within the spread of the earlier recordings"),
        Status::Failed => {
            let many = if measure.is_bytes() { "much" } else { "many" };
            text.push_str(&format!(": {} too {many}", over(outcome)));
            if is_bounded {
                text.push_str(&format!(", to within {bound}"));
            }
        }
    }
    text
}

/// Returns the subject of the limit for a sentence.
pub(super) fn subject(outcome: &Outcome) -> &str {
    match outcome.subject.as_str() {
        "total" => "program",
        subject => subject,
    }
}

/// Formats the excess over the limit: `2.3 MiB (23.0 %)`.
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
        part if part < 0.0005 => format!("{more_text} (<0.1 %)"),
        part if part < 10.0 => format!("{more_text} ({:.1} %)", part * 100.0),
        _ => more_text,
    }
}

/// Spells the figure, the largest allowed one, and the earlier one (empty if there is none), so
/// that figures that differ read differently.
pub(super) fn spelled(outcome: &Outcome) -> [String; 3] {
    let measure = outcome.measure;
    let mut texts = [
        amount(measure, outcome.value),
        match outcome.most {
            Most::Whole(most) => measure.amount(most),
            Most::Each(most) => each(measure, most),
        },
    ]
    .to_vec();
    texts.extend(outcome.base.map(|base| amount(measure, base)));
    let mut figures = vec![outcome.value.ratio(), outcome.most.ratio()];
    figures.extend(outcome.base.map(Amount::ratio));
    if !read_apart(&figures, &texts) {
        let is_whole = figures.iter().all(|figure| figure.fract() == 0.0);
        texts = if measure.is_bytes() && is_whole {
            let whole = figures.iter().map(|&figure| figure as u64);
            bytes_apart(&whole.collect::<Vec<u64>>())
        } else {
            let unit = if measure.is_bytes() { " B" } else { "" };
            let digits = |figure: &f64| format!("{figure:.6}{unit}");
            figures.iter().map(digits).collect()
        };
    }
    let mut texts = texts.into_iter();
    [(); 3].map(|()| texts.next().unwrap_or_default())
}

/// A figure with decimals, as long as those tell anything.
fn each(measure: Measure, value: f64) -> String {
    let is_whole = value >= if measure.is_bytes() { 1024.0 } else { 1000.0 };
    if is_whole {
        measure.amount(value as u64)
    } else {
        diff::each(measure, value)
    }
}

/// Formats the figure of a site, or its growth.
pub(super) fn value(outcome: &Outcome, offender: &Offender) -> String {
    let sign = if outcome.base.is_some() { "+" } else { "" };
    format!("{sign}{}", outcome.measure.amount(offender.value))
}

/// Returns the four names of an offender: what, where, owner, file and line.
pub(super) fn names(offender: &Offender) -> [&str; 4] {
    let label = &offender.label;
    let source = label.source.as_deref().unwrap_or_default();
    [&label.what, &label.location, &label.owner, source]
}
