//! A comparison as text: the two sides, the totals, and the rows that differ.
//!
//! Recorded names must always pass through [`printable`], and the difference of a peak must always
//! have its bound.

use std::io::{self, Write};

use super::series::{Amount, Change, Verdict};
use super::{
    Diff, Identity, Per, PhaseFigure, PhaseFigureChange, RowChange, RowKind, Series, input,
    peak_bound,
};
use crate::profile::Measure;
use crate::report::page::Page;
use crate::report::{ARENA_FIGURES, ReportOptions, Style};
use crate::table::{By, bytes_each, bytes_per_second, per_second, program_name};
use crate::units::{Bytes, Nanos, capital, counted, printable, without_sign_of_zero};

/// Columns of a figure and of a difference.
const FIGURE: usize = 11;
/// Columns of a difference in percent.
const PERCENT: usize = 9;
/// Columns of a figure of a phase: a speed is the longest.
const PHASE_FIGURE: usize = 12;

pub(super) fn write(
    diff: &Diff<'_>,
    options: &ReportOptions<'_>,
    out: impl Write,
) -> io::Result<()> {
    let mut page = Page::new(options);
    for (name, side) in [("base", &diff.base), ("new", &diff.new)] {
        for (number, one) in side.iter().enumerate() {
            let name = if number == 0 { name } else { "" };
            page.entry(Style::Faint, name, &recording(one));
        }
    }
    for warning in &diff.warnings {
        page.warning(warning);
    }
    page.blank();
    if diff.is_equal() {
        let rows = diff.equal_rows + diff.rows_without_figure;
        let rows = counted(rows as u64, diff.options.by.name());
        let equal = format!("Nothing differs: all totals and all figures of {rows} are equal.");
        page.wrap(Style::Strong, "", &equal);
        write_phases(&mut page, diff);
        return page.finish(out);
    }
    heading(&mut page, "total");
    for (measure, change) in &diff.totals {
        write_total(&mut page, diff, *measure, change);
        remark(&mut page, *measure, change);
    }
    for (per, totals) in &diff.per_input {
        heading(&mut page, &format!("total {}", per.words()));
        for (measure, change) in totals.iter().take(4) {
            write_total(&mut page, diff, *measure, change);
        }
    }
    page.blank();
    write_rows(&mut page, diff);
    write_phases(&mut page, diff);
    page.finish(out)
}

/// `app.hg: shop, peak within 1.2 KiB, 20,000 records`
fn recording(one: &super::Recording<'_>) -> String {
    let program = program_name(one.profile);
    let mut said = vec![format!("{}: {program}", printable(one.name))];
    match peak_bound(one.profile) {
        0 => {}
        bound => said.push(format!("peak within {}", Bytes(bound))),
    }
    let input = input(one.profile);
    for per in [Per::InputByte, Per::Record] {
        said.extend(per.count(input).map(|count| per.amount(count)));
    }
    said.join(", ")
}

/// Returns the text after a difference: the percentage and the figures of the sides; a narrow page
/// leaves some out.
fn behind(width: usize, [percent, base, new]: [&str; 3]) -> String {
    let mut cells = String::new();
    if width >= 60 {
        cells.push_str(&format!(" {percent:>PERCENT$}"));
    }
    if width >= 50 {
        cells.push_str(&format!(" {base:>FIGURE$}"));
    }
    format!("{cells} {new:>FIGURE$}  ")
}

pub(super) fn heading(page: &mut Page<'_>, last: &str) {
    let behind = behind(page.width, ["", "base", "new"]);
    let heading = format!("{:>FIGURE$}{behind}{last}", "difference");
    page.line(Style::Heading, &heading);
}

/// The figures of a line, of the sides that have it; the name stands behind them.
pub(super) fn figures(
    page: &mut Page<'_>,
    measure: Measure,
    change: &Change,
    sides: [bool; 2],
) -> usize {
    let style = match change.verdict {
        Verdict::More => Style::Warning,
        Verdict::Less => Style::Strong,
        _ => Style::Faint,
    };
    let side = |series: &Series, has_it: bool| {
        if has_it && change.is_known() {
            amount(measure, series.median)
        } else if has_it {
            format!(">={}", amount(measure, series.median))
        } else {
            "-".to_owned()
        }
    };
    let (base, new) = (side(&change.base, sides[0]), side(&change.new, sides[1]));
    let difference = format!("{:>FIGURE$}", difference(measure, change));
    let behind = behind(page.width, [&change.percent(), &base, &new]);
    page.part(style, &difference);
    page.part(Style::Faint, &behind);
    difference.len() + behind.len()
}

fn write_total(page: &mut Page<'_>, diff: &Diff<'_>, measure: Measure, change: &Change) {
    let used = figures(page, measure, change, [true, true]);
    page.end(measure.name_in(diff.naming_state()), used);
}

/// Below a line: what bounds the difference.
fn remark(page: &mut Page<'_>, measure: Measure, change: &Change) {
    let bound = rounded(measure, change.bound);
    let mut said = match change.verdict {
        Verdict::NotKnown => vec!["both are lower bounds".to_owned()],
        verdict if change.interval.is_some() => {
            let (low, high) = change.interval.unwrap_or_default();
            let end = |bytes: f64| measure.difference(bytes.round() as i128);
            let what = match verdict {
                Verdict::WithinBound => "within the intervals of both estimates",
                _ => "of estimates",
            };
            vec![format!("{what}: {} to {} (95 %)", end(low), end(high))]
        }
        Verdict::WithinSpread => vec!["within the spread of the recordings".to_owned()],
        Verdict::WithinBound => vec![format!(
            "within the error bounds of the two peaks ({bound})"
        )],
        Verdict::More | Verdict::Less if change.bound > 0.0 => {
            vec![format!(
                "to within {bound}, the error bounds of the two peaks"
            )]
        }
        _ => Vec::new(),
    };
    for (name, series) in [("base", &change.base), ("new", &change.new)] {
        if series.is_spread() {
            let (min, max) = (amount(measure, series.min), amount(measure, series.max));
            said.push(format!("{name} {min} to {max}"));
        }
    }
    if !said.is_empty() {
        page.wrap(Style::Faint, &" ".repeat(FIGURE + 1), &said.join("; "));
    }
}

/// Returns the title of the rows, and how many there are of each kind.
pub(super) fn rows_title(diff: &Diff<'_>) -> [String; 2] {
    let [added, removed, changed] = diff.kinds();
    let per = diff.options.per.map_or("", Per::words);
    let (rows, equal) = (capital(diff.options.by.name()), diff.equal_rows);
    let title = diff.options.measure.title_in(diff.naming_state());
    let title = format!("{rows}s by difference in {title} {per}");
    let kinds = format!("{changed} changed, {added} added, {removed} removed, {equal} equal");
    [title.trim_end().to_owned(), kinds]
}

fn write_rows(page: &mut Page<'_>, diff: &Diff<'_>) {
    let (by, measure) = (diff.options.by, diff.options.measure);
    page.wrap(Style::Heading, "", &rows_title(diff).join(": "));
    if diff.rows.is_empty() {
        page.plain("  (no differences)");
    } else {
        heading(page, by.name());
    }
    let top = page.top();
    for row in diff.rows.iter().take(top) {
        write_row(page, measure, row);
    }
    if diff.rows.len() > top {
        let rest = (diff.rows.len() - top) as u64;
        let rest = counted(rest, &format!("more {}", by.name()));
        page.line(Style::Faint, &format!("  ... {rest} (--top {top})"));
    }
    if diff.other_rows > 0 {
        let rows = counted(diff.other_rows as u64, by.name());
        let other = format!(
            "{rows} equal in this measure, but different in another figure; see --measure."
        );
        page.wrap(Style::Faint, "  ", &other);
    }
    if diff.rows_without_figure > 0 {
        let rows = counted(diff.rows_without_figure as u64, by.name());
        let what = match diff.options.per {
            Some(per) => format!("no figure {}", per.words()),
            None => "no such figure".to_owned(),
        };
        page.line(Style::Faint, &format!("  {rows} left out: {what}."));
    }
    if by == By::Arena {
        page.line(Style::Faint, &format!("  {}", ARENA_FIGURES));
    }
}

/// Writes the time, the speed and the cost per record of each phase.
fn write_phases(page: &mut Page<'_>, diff: &Diff<'_>) {
    if diff.phases.is_empty() {
        return;
    }
    page.blank();
    let title = "Time, speed and cost of phases, with the phases inside them";
    page.wrap(Style::Heading, "", title);
    let columns = ["change", "base", "new"];
    page.line(Style::Heading, &format!("{}phase", phase_cells(columns)));
    let top = page.top();
    for phase in diff.phases.iter().take(top) {
        for figure in &phase.figures {
            write_phase_figure(page, &printable(&phase.key), figure);
        }
    }
    if diff.phases.len() > top {
        let rest = counted((diff.phases.len() - top) as u64, "more phase");
        page.line(Style::Faint, &format!("  ... {rest} (--top {top})"));
    }
    let note = "Times differ from run to run: compare the medians of several recordings \
        (--and-base, --and-new).";
    let is_alone = diff.base.len() < 2 || diff.new.len() < 2;
    let mut timed = diff.phases.iter().flat_map(|phase| &phase.figures);
    if is_alone && timed.any(|of| of.figure == PhaseFigure::Elapsed) {
        page.wrap(Style::Faint, "  ", note);
    }
}

fn phase_cells([change, base, new]: [&str; 3]) -> String {
    format!("{change:>PERCENT$} {base:>PHASE_FIGURE$} {new:>PHASE_FIGURE$}  ")
}

fn write_phase_figure(page: &mut Page<'_>, phase: &str, of: &PhaseFigureChange) {
    let change = of.change();
    let percent = change.as_ref().map(Change::percent).unwrap_or_default();
    let side = |series: &Option<Series>| {
        let median = series.as_ref().map(|series| series.median);
        median.map_or_else(|| "-".to_owned(), |median| phase_amount(of.figure, median))
    };
    let cells = phase_cells([&percent, &side(&of.base), &side(&of.new)]);
    page.part(Style::Faint, &cells);
    let is_spread = change.is_some_and(|change| change.verdict == Verdict::WithinSpread);
    let spread = if is_spread {
        " (within the spread)"
    } else {
        ""
    };
    let name = format!("{phase}: {}{spread}", of.figure.name());
    page.end(&name, cells.len());
}

fn phase_amount(figure: PhaseFigure, amount: Amount) -> String {
    let ratio = amount.ratio();
    match figure {
        PhaseFigure::Elapsed => Nanos(amount.value).to_string(),
        PhaseFigure::BytesPerSecond => bytes_per_second(ratio),
        PhaseFigure::RecordsPerSecond => per_second(ratio),
        PhaseFigure::BlocksPerRecord => each(Measure::Blocks, ratio),
        PhaseFigure::BytesPerRecord | PhaseFigure::BytesPerInputByte => each(Measure::Total, ratio),
    }
}

fn write_row(page: &mut Page<'_>, measure: Measure, row: &RowChange) {
    let sides = [row.kind != RowKind::Added, row.kind != RowKind::Removed];
    let change = &row.change;
    let used = figures(page, measure, change, sides);
    write_identity(page, &row.identity, Some(row.kind), used);
    remark(page, measure, change);
}

/// Writes the names of a row behind its figures, which take up `used` columns.
pub(crate) fn write_identity(
    page: &mut Page<'_>,
    identity: &Identity,
    kind: Option<RowKind>,
    used: usize,
) {
    let source = identity.source.as_deref().unwrap_or_default();
    let parts = [
        identity.name.as_str(),
        &identity.location,
        &identity.owner,
        source,
    ];
    let [name, location, owner, source] = parts.map(printable);
    let kind = match kind {
        Some(RowKind::Added) => "(added)",
        Some(RowKind::Removed) => "(removed)",
        Some(RowKind::Changed) | None => "",
    };
    let parts = [&name, &location, &owner, &source, kind];
    // A narrow terminal has the names below the figures.
    if page.width < used + 30 {
        page.blank();
        page.part(Style::Faint, "    ");
        page.parts_after(Style::Faint, "    ", &parts);
    } else {
        page.parts_after(Style::Faint, &" ".repeat(used), &parts);
    }
}

/// A figure for people; divided by the input with decimals.
pub(crate) fn amount(measure: Measure, amount: Amount) -> String {
    match amount.count {
        1 => measure.amount(amount.value),
        _ => each(measure, amount.ratio()),
    }
}

/// A figure for one record or input byte: `0.35 B`, `12.3 B`, `1.2 KiB`, `8.50`.
pub(crate) fn each(measure: Measure, value: f64) -> String {
    if !measure.is_bytes() {
        format!("{value:.2}")
    } else if value.abs() < 10.0 {
        without_sign_of_zero(format!("{value:.2} B"))
    } else {
        bytes_each(value)
    }
}

fn rounded(measure: Measure, value: f64) -> String {
    if measure.is_bytes() && value >= 100.0 {
        Bytes(value.ceil() as u64).to_string()
    } else {
        each(measure, value)
    }
}

/// `+1.8 MiB`, `-12`, `0`.
pub(super) fn difference(measure: Measure, change: &Change) -> String {
    if !change.is_known() {
        return "not known".to_owned();
    }
    if let Some(exact) = change.exact_difference() {
        return measure.difference(exact);
    }
    let difference = change.difference();
    if !measure.is_bytes() {
        format!("{difference:+.2}")
    } else if difference > 0.0 {
        format!("+{}", each(measure, difference))
    } else {
        each(measure, difference)
    }
}
