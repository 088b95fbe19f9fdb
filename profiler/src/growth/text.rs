//! Growth as text.

use std::io::{self, Write};

use super::{Found, Grown, Growth};
use crate::diff::write_identity;
use crate::profile::{Measure, Number};
use crate::report::page::Page;
use crate::report::{ReportOptions, Style};
use crate::table::{bytes_per_second, per_second, program_name};
use crate::units::{Bytes, Count, Nanos, capital, counted, printable};

/// Columns of a figure.
const FIGURE: usize = 11;

/// Writes the two moments, the growth between them, and the rows that differ; `options` give the
/// width, the mark-up and the number of rows.
///
/// # Errors
/// Returns the errors of `out`.
pub fn write_text(
    growth: &Growth<'_>,
    options: &ReportOptions<'_>,
    out: impl Write,
) -> io::Result<()> {
    let profile = growth.profile;
    let mut page = Page::new(options);
    let mut heading = format!("{}: growth of live bytes", program_name(profile));
    if let Some(recording) = options.recording {
        heading.push_str(&format!("; {}", printable(recording)));
    }
    page.line(Style::Heading, &heading);
    for loss in profile.losses() {
        page.warning(loss);
    }
    if !profile.capture().is_exact() {
        let mode = printable(&profile.capture().mode);
        page.warning(&format!("Mode {mode}: figures are estimates."));
    }
    write_moment(&mut page, growth, "from", &growth.from, growth.total.from);
    write_moment(&mut page, growth, "to", &growth.to, growth.total.to);
    let (bytes, _) = growth.total.difference();
    let mut grew = signed(Measure::Live, bytes);
    if let Some(blocks) = growth.blocks_text(&growth.total) {
        grew.push_str(&format!(" in {blocks} blocks"));
    }
    grew.push_str(&format!(", in {}", Nanos(growth.span_ns())));
    if let Some((bytes, blocks)) = growth.rate_texts(&growth.total) {
        grew.push_str(&format!(": {bytes}"));
        grew.extend(blocks.map(|blocks| format!(" and {blocks}")));
    }
    page.entry(Style::Strong, "growth", &grew);
    if let Some(allocated) = growth.allocated_bytes() {
        let rate = growth.per_second(i64::try_from(allocated).unwrap_or(i64::MAX));
        let rate = rate.map_or(String::new(), |rate| {
            format!(": {}", bytes_per_second(rate))
        });
        let allocated = format!("{} by the whole program{rate}", Bytes(allocated));
        page.entry(Style::Faint, "allocated", &allocated);
    }
    page.blank();
    write_rows(&mut page, growth);
    page.finish(out)
}

/// `from        mark "warm" at 5.20 s: 2.4 MiB live in 10,020 blocks`
fn write_moment(
    page: &mut Page<'_>,
    growth: &Growth<'_>,
    title: &str,
    found: &Found,
    (bytes, blocks): (u64, u64),
) {
    let text = format!(
        "{}: {} live in {}",
        found.text(growth.profile),
        Bytes(bytes),
        Number {
            value: blocks,
            is_lower_bound: !growth.knows_blocks(),
        }
        .of("block")
    );
    page.entry(Style::Strong, title, &text);
}

fn write_rows(page: &mut Page<'_>, growth: &Growth<'_>) {
    let grew = growth
        .rows
        .iter()
        .filter(|row| row.difference() > (0, 0))
        .count();
    let title = format!(
        "{}s by growth: {grew} grew, {} shrank, {} equal",
        capital(growth.by.name()),
        growth.rows.len() - grew,
        growth.equal_rows
    );
    page.wrap(Style::Heading, "", &title);
    if growth.rows.is_empty() {
        page.plain("  (no differences)");
        return;
    }
    let head = cells(
        page.width,
        ["growth", "a second", "blocks", "then", "now"].map(str::to_owned),
    );
    page.line(Style::Heading, &format!("{head}  {}", growth.by.name()));
    let top = page.top();
    for row in growth.rows.iter().take(top) {
        let used = figures(page, growth, &row.grown);
        write_identity(page, &row.identity, None, used);
    }
    if growth.rows.len() > top {
        let rest = (growth.rows.len() - top) as u64;
        let rest = counted(rest, &format!("more {}", growth.by.name()));
        page.line(Style::Faint, &format!("  ... {rest} (--top {top})"));
    }
}

/// Returns the figures of a row in columns; a narrow page leaves some out.
fn cells(width: usize, [growth, rate, blocks, then, now]: [String; 5]) -> String {
    let mut cells = format!("{growth:>FIGURE$}");
    if width >= 50 {
        cells.push_str(&format!(" {rate:>FIGURE$}"));
    }
    cells.push_str(&format!(" {blocks:>FIGURE$}"));
    if width >= 100 {
        cells.push_str(&format!(" {then:>FIGURE$} {now:>FIGURE$}"));
    }
    cells
}

fn figures(page: &mut Page<'_>, growth: &Growth<'_>, grown: &Grown) -> usize {
    let (bytes, _) = grown.difference();
    let rate = growth
        .per_second(bytes)
        .map_or_else(String::new, signed_rate);
    let cells = cells(
        page.width,
        [
            signed(Measure::Live, bytes),
            rate,
            growth.blocks_text(grown).unwrap_or_else(|| "-".to_owned()),
            Bytes(grown.from.0).to_string(),
            Bytes(grown.to.0).to_string(),
        ],
    );
    let (first, rest) = cells.split_at(FIGURE.min(cells.len()));
    let style = if bytes > 0 {
        Style::Warning
    } else {
        Style::Strong
    };
    page.part(style, first);
    page.part(Style::Faint, rest);
    page.part(Style::Faint, "  ");
    cells.len() + 2
}

fn signed(measure: Measure, difference: i64) -> String {
    measure.difference(difference.into())
}

fn sign(rate: f64) -> &'static str {
    match rate {
        _ if rate > 0.0 => "+",
        _ if rate < 0.0 => "-",
        _ => "",
    }
}

/// Spells a growth in bytes for each second.
pub(super) fn signed_rate(rate: f64) -> String {
    format!("{}{}", sign(rate), bytes_per_second(rate.abs()))
}

/// Spells a growth in blocks for each second.
pub(super) fn signed_count(rate: f64) -> String {
    format!("{}{}", sign(rate), count_per_second(rate.abs()))
}

/// Spells a number of blocks for each second: `20,000`, `9.9`.
pub(super) fn count_per_second(rate: f64) -> String {
    if rate < 10.0 {
        per_second(rate)
    } else {
        Count(rate.round() as u64).to_string()
    }
}
