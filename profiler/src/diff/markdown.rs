//! A comparison as Markdown for a comment on a pull request: the totals and the rows that differ
//! most.
//!
//! Hosting services refuse long comments, so the length is bounded whatever the names are.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::series::{Change, Verdict};
use super::text::{amount, difference, rows_title};
use super::{Diff, Recording, RowKind};
use crate::profile::Measure;
use crate::report::markdown::{code_cut, escape};
use crate::units::{counted, printable};

/// Rows if no other number is wanted.
const ROWS: usize = 10;
/// Characters of a name.
const LONGEST_NAME: usize = 160;
/// Recordings of a side that are named.
const RECORDINGS: usize = 3;
/// Warnings that are written, and characters of each.
const WARNINGS: usize = 8;
const LONGEST_WARNING: usize = 400;
/// Bytes after which no row is added. GitHub takes comments of 65,536 characters.
const LONGEST: usize = 40_000;
/// The measures of the table of totals.
const TOTALS: [Measure; 5] = [
    Measure::Peak,
    Measure::Live,
    Measure::Total,
    Measure::Blocks,
    Measure::Temporary,
];

pub(super) fn write(diff: &Diff<'_>, top: Option<usize>, mut out: impl Write) -> io::Result<()> {
    let mut page = String::new();
    let _ = writeln!(page, "### heapglass: {}\n", escape(&summary(diff)));
    let _ = writeln!(page, "{} to {}\n", side(&diff.base), side(&diff.new));
    page.push_str("| | base | new | difference | |\n|---|---:|---:|---:|---|\n");
    for (measure, change) in diff.totals.iter().filter(|of| TOTALS.contains(&of.0)) {
        let name = measure.name_in(diff.naming_state());
        write_figures(&mut page, name, *measure, change);
    }
    write_rows(&mut page, diff, top.unwrap_or(ROWS));
    for warning in diff.warnings.iter().take(WARNINGS) {
        let kept: String = warning.chars().take(LONGEST_WARNING).collect();
        let _ = writeln!(page, "\n{}", escape(&printable(&kept)));
    }
    let more = diff.warnings.len().saturating_sub(WARNINGS);
    if more > 0 {
        let _ = writeln!(page, "\n{}", counted(more as u64, "more warning"));
    }
    out.write_all(page.as_bytes())?;
    out.flush()
}

/// `peak +1.8 MiB (+14.6 %)`, with the measure of the rows.
fn summary(diff: &Diff<'_>) -> String {
    let measure = diff.options.measure;
    let name = measure.name_in(diff.naming_state());
    let change = diff.totals.iter().find(|(of, _)| *of == measure);
    match change {
        _ if diff.is_equal() => "nothing differs".to_owned(),
        None => name.to_owned(),
        Some((_, change)) => {
            let percent = match change.percent() {
                percent if percent.is_empty() => String::new(),
                percent => format!(" ({percent})"),
            };
            let verdict = verdict(change);
            format!("{name} {}{percent}{verdict}", difference(measure, change))
        }
    }
}

/// Returns what a reader must know of a difference that may be none.
fn verdict(change: &Change) -> &'static str {
    match change.verdict {
        Verdict::WithinBound => ", within the error bounds",
        Verdict::WithinSpread => ", within the spread of the recordings",
        _ => "",
    }
}

fn side(side: &[Recording<'_>]) -> String {
    let mut names: Vec<String> = side
        .iter()
        .take(RECORDINGS)
        .map(|one| code_cut(one.name, LONGEST_NAME))
        .collect();
    if side.len() > RECORDINGS {
        let more = (side.len() - RECORDINGS) as u64;
        names.push(counted(more, "more recording"));
    }
    names.join(", ")
}

fn write_figures(page: &mut String, name: &str, measure: Measure, change: &Change) {
    let remark = verdict(change).trim_start_matches(", ");
    let remark = match change.percent() {
        percent if remark.is_empty() => percent,
        percent => format!("{percent}; {remark}"),
    };
    let _ = writeln!(
        page,
        "| {name} | {} | {} | {} | {} |",
        amount(measure, change.base.median),
        amount(measure, change.new.median),
        difference(measure, change),
        escape(&remark),
    );
}

fn write_rows(page: &mut String, diff: &Diff<'_>, top: usize) {
    let measure = diff.options.measure;
    let [title, kinds] = rows_title(diff);
    let _ = writeln!(page, "\n{}: {kinds}\n", escape(&title));
    if diff.rows.is_empty() {
        return;
    }
    page.push_str("| difference | | base | new | what | where | owner | line |\n");
    page.push_str("|---:|---|---:|---:|---|---|---|---|\n");
    let mut written = 0;
    for row in diff.rows.iter().take(top) {
        if page.len() > LONGEST {
            break;
        }
        let change = &row.change;
        let [base, new] = [
            (RowKind::Added, &change.base),
            (RowKind::Removed, &change.new),
        ]
        .map(|(missing, series)| {
            if row.kind == missing {
                "-".to_owned()
            } else {
                amount(measure, series.median)
            }
        });
        let kind = match row.kind {
            RowKind::Added => "added".to_owned(),
            RowKind::Removed => "removed".to_owned(),
            RowKind::Changed => escape(&format!("{}{}", change.percent(), verdict(change))),
        };
        let identity = &row.identity;
        let source = identity.source.as_deref().unwrap_or_default();
        let [what, location, owner, source] =
            [&identity.name, &identity.location, &identity.owner, source]
                .map(|name| code_cut(name, LONGEST_NAME));
        let _ = writeln!(
            page,
            "| {} | {kind} | {base} | {new} | {what} | {location} | {owner} | {source} |",
            difference(measure, change)
        );
        written += 1;
    }
    let more = diff.rows.len() - written;
    if more > 0 {
        let more = counted(more as u64, &format!("more {}", diff.options.by.name()));
        let _ = writeln!(page, "\n{more}");
    }
}
