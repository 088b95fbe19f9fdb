//! The results of limits as Markdown for a comment on a pull request.
//!
//! A recorded name must never become mark-up: no link, no mention, no table cell of its own.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::text::{allowed, names, subject, value};
use super::{Check, Outcome, Status};
use crate::diff::{Per, amount};
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
        let before = outcome
            .base
            .map(|base| amount(outcome.measure, base))
            .unwrap_or_default();
        let _ = writeln!(
            page,
            "| {mark} | {} | {} | {} | {before} |",
            name(outcome),
            amount(outcome.measure, outcome.value),
            allowed(outcome.measure, outcome.most)
        );
    }
    for outcome in check.failed() {
        let title = match outcome.base {
            Some(_) => "what grew most",
            None => "its largest sites",
        };
        let _ = writeln!(page, "\n{}, {title}:\n", name(outcome));
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

fn name(outcome: &Outcome) -> String {
    let per = outcome.per.map(Per::words).unwrap_or_default();
    let name = format!(
        "{}, {} {per}",
        escape(subject(outcome)),
        outcome.measure.name()
    );
    name.trim_end().to_owned()
}

/// A recorded name in the type of code.
fn code(name: &str) -> String {
    if name.is_empty() {
        String::new()
    } else {
        format!("<code>{}</code>", escape(&printable(name)))
    }
}

/// All that Markdown or HTML might act on, as character references.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | ' ' | '.' | ',' | ';' | '/' | '-' | '(' | ')' => {
                escaped.push(c);
            }
            c if !c.is_ascii() => escaped.push(c),
            // Infallible: writing to a String.
            c => drop(write!(escaped, "&#{};", u32::from(c))),
        }
    }
    // An address of the web becomes a link by itself.
    escaped.replace("www.", "www&#46;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_becomes_markup() {
        let escaped = escape("a|b `c` <img> @user #1 [x](y) *z* _u_ https://x.y www.x.y");
        for mark in ['|', '`', '<', '>', '@', '[', '*', '_'] {
            assert!(!escaped.contains(mark), "{mark}: {escaped}");
        }
        assert!(
            !escaped.contains("://") && !escaped.contains("www."),
            "{escaped}"
        );
        assert_eq!(code(""), "");
    }
}
