//! A comparison as text: the two sides, the totals, and the rows that differ.
//!
//! Must never write a recorded name but through [`printable`], nor a difference of a peak without its bound.

use std::io::{self, Write};

use super::series::{Amount, Change, Verdict};
use super::{Diff, Per, RowChange, Series, input, peak_bound};
use crate::profile::Measure;
use crate::report::page::{Page, capital};
use crate::report::{self, Style};
use crate::table::{By, bytes_each};
use crate::units::{Bytes, counted, printable};

/// Columns of a figure and of a difference.
const FIGURE: usize = 11;
/// Columns of a difference in percent.
const PERCENT: usize = 9;

/// Writes the comparison; `options` give the width, the mark-up and the number of rows.
///
/// # Errors
/// What `out` returned.
pub fn write_text(
    diff: &Diff<'_>,
    options: &report::Options<'_>,
    out: impl Write,
) -> io::Result<()> {
    let mut page = Page::new(options, out);
    for (name, side) in [("base", &diff.base), ("new", &diff.new)] {
        for (number, one) in side.iter().enumerate() {
            let name = if number == 0 { name } else { "" };
            page.entry(Style::Faint, name, &recording(one))?;
        }
    }
    for warning in &diff.warnings {
        page.wrap(Style::Warning, "  ! ", warning)?;
    }
    page.blank()?;
    if diff.is_equal() {
        let rows = diff.equal_rows + diff.rows_without_figure;
        page.wrap(
            Style::Strong,
            "",
            &format!(
                "Nothing differs: all totals and all figures of {} are equal.",
                counted(rows as u64, diff.options.by.name())
            ),
        )?;
        return page.out.flush();
    }
    heading(&mut page, "total")?;
    for (measure, change) in &diff.totals {
        line(&mut page, *measure, change, measure.name())?;
        remark(&mut page, *measure, change)?;
    }
    for (per, totals) in &diff.per_input {
        heading(&mut page, &format!("total {}", per.words()))?;
        for (measure, change) in totals.iter().take(4) {
            line(&mut page, *measure, change, measure.name())?;
        }
    }
    page.blank()?;
    write_rows(&mut page, diff, options)?;
    page.out.flush()
}

/// `app.hg: shop, peak within 1.2 KiB, 20,000 records`
fn recording(one: &super::Recording<'_>) -> String {
    let program = match one.profile.process.program.as_str() {
        "" => "(unknown program)",
        program => program,
    };
    let mut said = vec![format!("{}: {}", printable(one.name), printable(program))];
    match peak_bound(one.profile) {
        0 => {}
        bound => said.push(format!("peak within {}", Bytes(bound))),
    }
    let input = input(one.profile);
    if input.input_bytes > 0 {
        said.push(format!("{} of input", Bytes(input.input_bytes)));
    }
    if input.records > 0 {
        said.push(counted(input.records, "record"));
    }
    said.join(", ")
}

/// The columns that a narrow page leaves out.
struct Shown {
    percent: bool,
    base: bool,
}

impl Shown {
    fn on(width: usize) -> Shown {
        Shown {
            percent: width >= 60,
            base: width >= 50,
        }
    }
}

fn heading<W: Write>(page: &mut Page<'_, W>, last: &str) -> io::Result<()> {
    let shown = Shown::on(page.width);
    let mut head = format!("{:>FIGURE$}", "difference");
    if shown.percent {
        head.push_str(&" ".repeat(1 + PERCENT));
    }
    if shown.base {
        head.push_str(&format!(" {:>FIGURE$}", "base"));
    }
    head.push_str(&format!(" {:>FIGURE$}  {last}", "new"));
    page.line(Style::Heading, &head)
}

/// The columns of figures; the name stands behind them.
fn figures<W: Write>(
    page: &mut Page<'_, W>,
    measure: Measure,
    change: &Change,
    sides: [bool; 2],
) -> io::Result<usize> {
    let cell = |series: &Series, is_there: bool| match is_there {
        true => amount(measure, series.median()),
        false => "-".to_owned(),
    };
    let style = match change.verdict {
        Verdict::More => Style::Warning,
        Verdict::Less => Style::Strong,
        _ => Style::Faint,
    };
    page.part(style, &format!("{:>FIGURE$}", difference(measure, change)))?;
    let shown = Shown::on(page.width);
    let mut text = String::new();
    if shown.percent {
        text.push_str(&format!(" {:>PERCENT$}", change.percent()));
    }
    if shown.base {
        text.push_str(&format!(" {:>FIGURE$}", cell(&change.base, sides[0])));
    }
    text.push_str(&format!(" {:>FIGURE$}  ", cell(&change.new, sides[1])));
    page.part(Style::Faint, &text)?;
    Ok(FIGURE + text.len())
}

fn line<W: Write>(
    page: &mut Page<'_, W>,
    measure: Measure,
    change: &Change,
    name: &str,
) -> io::Result<()> {
    let used = figures(page, measure, change, [true, true])?;
    page.end(name, used)
}

/// Below a line: what bounds the difference.
fn remark<W: Write>(page: &mut Page<'_, W>, measure: Measure, change: &Change) -> io::Result<()> {
    let mut said = Vec::new();
    match change.verdict {
        Verdict::WithinSpread => said.push("within the spread of the recordings".to_owned()),
        Verdict::WithinBound => said.push(format!(
            "within the error bounds of the two peaks ({})",
            rounded(measure, change.bound)
        )),
        Verdict::More | Verdict::Less if change.bound > 0.0 => said.push(format!(
            "to within {}, the error bounds of the two peaks",
            rounded(measure, change.bound)
        )),
        _ => {}
    }
    for (name, series) in [("base", &change.base), ("new", &change.new)] {
        if series.is_spread() {
            said.push(format!(
                "{name} {} to {}",
                amount(measure, series.min()),
                amount(measure, series.max())
            ));
        }
    }
    match said.is_empty() {
        true => Ok(()),
        false => page.wrap(Style::Faint, &" ".repeat(FIGURE + 1), &said.join("; ")),
    }
}

fn write_rows<W: Write>(
    page: &mut Page<'_, W>,
    diff: &Diff<'_>,
    options: &report::Options<'_>,
) -> io::Result<()> {
    let (by, measure) = (diff.options.by, diff.options.measure);
    let [added, removed, changed] = diff.kinds();
    let per = diff.options.per.map_or("", Per::words);
    let title = format!(
        "{}s by difference in {} {per}",
        capital(by.name()),
        measure.title()
    );
    page.wrap(
        Style::Heading,
        "",
        &format!(
            "{}: {changed} changed, {added} added, {removed} removed, {} equal",
            title.trim_end(),
            diff.equal_rows
        ),
    )?;
    if diff.rows.is_empty() {
        page.plain("  (none differs)")?;
    } else {
        heading(page, by.name())?;
    }
    let top = options.top.unwrap_or(report::DEFAULT_TOP);
    for row in diff.rows.iter().take(top) {
        write_row(page, measure, row)?;
    }
    if diff.rows.len() > top {
        let rest = counted(
            (diff.rows.len() - top) as u64,
            &format!("more {}", by.name()),
        );
        page.line(Style::Faint, &format!("  ... {rest} (--top {top})"))?;
    }
    if diff.other_rows > 0 {
        let rows = counted(diff.other_rows as u64, by.name());
        page.wrap(
            Style::Faint,
            "  ",
            &format!("Equal in this measure, different in another figure: {rows}; see --measure."),
        )?;
    }
    if diff.rows_without_figure > 0 {
        let rows = counted(diff.rows_without_figure as u64, by.name());
        let what = match diff.options.per {
            Some(per) => format!("no figure {}", per.words()),
            None => "no such figure".to_owned(),
        };
        page.line(Style::Faint, &format!("  {rows} left out: {what}."))?;
    }
    if by == By::Arena {
        page.line(Style::Faint, &format!("  {}", report::ARENA_FIGURES))?;
    }
    Ok(())
}

fn write_row<W: Write>(
    page: &mut Page<'_, W>,
    measure: Measure,
    row: &RowChange,
) -> io::Result<()> {
    let sides = [!row.is_added(), !row.is_removed()];
    let used = figures(page, measure, &row.change, sides)?;
    let identity = &row.identity;
    let kind = match sides {
        [false, _] => "(added)",
        [_, false] => "(removed)",
        _ => "",
    };
    let source = identity.source.as_deref().unwrap_or_default();
    let parts = [identity.name(), &identity.location, &identity.owner, source];
    let parts: Vec<_> = parts.iter().map(|part| printable(part)).collect();
    let mut parts: Vec<&str> = parts.iter().map(|part| &**part).collect();
    parts.push(kind);
    // A narrow terminal has the names below the figures.
    if page.width < used + 30 {
        page.blank()?;
        page.part(Style::Faint, "    ")?;
        page.parts_after(Style::Faint, "    ", &parts)?;
    } else {
        page.parts_after(Style::Faint, &" ".repeat(used), &parts)?;
    }
    remark(page, measure, &row.change)
}

/// A figure for people; divided by the input with decimals.
pub(crate) fn amount(measure: Measure, amount: Amount) -> String {
    match amount.count {
        1 => measure.amount(amount.value),
        _ if measure.is_bytes() => each_byte(amount.ratio()),
        _ => format!("{:.2}", amount.ratio()),
    }
}

/// Bytes for one record or input byte: `0.35 B`, `12.3 B`, `1.2 KiB`.
pub(crate) fn each_byte(bytes: f64) -> String {
    match bytes.abs() < 10.0 {
        true => format!("{bytes:.2} B"),
        false => bytes_each(bytes),
    }
}

fn rounded(measure: Measure, value: f64) -> String {
    match measure.is_bytes() {
        true if value >= 100.0 => Bytes(value.ceil() as u64).to_string(),
        true => each_byte(value),
        false => format!("{value:.2}"),
    }
}

/// `+1.8 MiB`, `-12`, `0`.
fn difference(measure: Measure, change: &Change) -> String {
    if let Some(exact) = change.exact_difference() {
        return measure.difference(exact);
    }
    let difference = change.difference();
    match measure.is_bytes() {
        true if difference > 0.0 => format!("+{}", each_byte(difference)),
        true => each_byte(difference),
        false => format!("{difference:+.2}"),
    }
}
