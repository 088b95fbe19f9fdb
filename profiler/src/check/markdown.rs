//! The results of limits as Markdown for a comment on a pull request.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::text::{names, spelled, subject, value};
use super::{Check, Outcome, Status};
use crate::diff::Per;
use crate::profile::State;
use crate::report::markdown::{code, escape};
use crate::units::printable;

/// Writes a heading, a table of all limits, and for each that failed where it comes from.
///
/// # Errors
/// Returns the errors of `out`.
pub fn write_markdown(check: &Check, mut out: impl Write) -> io::Result<()> {
    let mut page = String::new();
    // Infallible: writing to a String.
    let _ = writeln!(page, "### heapglass: {}\n", check.verdict());
    let _ = writeln!(page, "Recording {}\n", code(&check.recording));
    page.push_str("| | limit | measured | at most | before |\n|---|---|---:|---:|---:|\n");
    for outcome in &check.outcomes {
        let mark = match outcome.status {
            Status::Passed => "ok",
            Status::Unsure => "ok?",
            Status::Failed => "**failed**",
        };
        let [value, most, before] = spelled(outcome);
        let _ = writeln!(
            page,
            "| {mark} | {} | {value} | {most} | {before} |",
            name(outcome, check.state)
        );
    }
    for outcome in check.failed() {
        let title = match outcome.base {
            Some(_) => "what grew most",
            None => "its largest sites",
        };
        let _ = writeln!(page, "\n{}, {title}:\n", name(outcome, check.state));
        page.push_str("| | what | where | owner | line |\n|---:|---|---|---|---|\n");
        for offender in &outcome.offenders {
            let [what, location, owner, source] = names(offender).map(code);
            let value = value(outcome, offender);
            let _ = writeln!(
                page,
                "| {value} | {what} | {location} | {owner} | {source} |"
            );
        }
    }
    if check
        .outcomes
        .iter()
        .any(|outcome| outcome.status == Status::Unsure)
    {
        page.push_str(
            "\n`ok?`: within the error bound of the peak, or the spread of several recordings.\n",
        );
    }
    for warning in &check.warnings {
        let _ = writeln!(page, "\n{}", escape(&printable(warning)));
    }
    out.write_all(page.as_bytes())?;
    out.flush()
}

fn name(outcome: &Outcome, state: State) -> String {
    let per = outcome.per.map(Per::words).unwrap_or_default();
    let name = format!(
        "{}, {} {per}",
        escape(subject(outcome)),
        outcome.measure.name_in(state)
    );
    name.trim_end().to_owned()
}
