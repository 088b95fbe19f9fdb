//! The report as text: header, totals, losses, and a table as wide as the terminal.
//!
//! The text is plain ASCII except for recorded names, so that it reads the same everywhere.
//! Recorded names must always pass through [`crate::units::printable`], and rows that are left out
//! must be counted.

use std::io::{self, Write};

mod arena;
mod footprints;
mod held;
mod holder;
mod legend;
mod row;
mod site;
mod tree;

use super::page::Page;
use super::{ReportOptions, Style, header};
use crate::profile::{Figures, Measure, Profile};
use crate::question::Answer;
use crate::table::{By, Row, SnapshotAt, rows};
use crate::table::{SHARE_WIDTH, columns};
use crate::units::{capital, counted};
use row::{site_details, write_row};

/// Writes the whole report: counters of the recording, or rows or holders of
/// [`ReportOptions::snapshot`] if the grouping or the measure is of snapshots.
///
/// # Errors
/// Returns the errors of `out`; `InvalidInput` if the question of the options [has no
/// answer](crate::question::RULES).
pub fn write_text(
    profile: &Profile,
    options: &ReportOptions<'_>,
    out: impl Write,
) -> io::Result<()> {
    let options = &ReportOptions {
        measure: options.by.measure(options.measure),
        ..*options
    };
    let mut page = Page::new(options);
    page.has_estimates = profile.capture().sampling.is_some();
    match options.rows(profile)? {
        Answer::Held(at, rows) => {
            write_moment(&mut page, profile, at);
            held::write(&mut page, profile, at, &rows);
            write_below_snapshot(&mut page, profile, at);
        }
        Answer::Holders(at, rows) => {
            write_moment(&mut page, profile, at);
            holder::write(&mut page, at, &rows);
            write_below_snapshot(&mut page, profile, at);
        }
        Answer::Counted(rows) => {
            header::write_brief(&mut page, profile);
            page.blank();
            write_table(&mut page, profile, rows);
            page.blank();
            header::write_estimates(&mut page, profile);
            write_losses(&mut page, profile);
            if options.has_details() {
                header::write_details(&mut page, profile);
                footprints::write(&mut page, profile);
            } else {
                header::write_hint(&mut page, profile);
            }
        }
    }
    page.finish(out)
}

/// Writes the moment of a page that shows a snapshot: its figures are not those of the peak.
fn write_moment(page: &mut Page<'_>, profile: &Profile, at: SnapshotAt<'_>) {
    let of = if at.count > 1 {
        format!(" of {}", at.count)
    } else {
        String::new()
    };
    let (program, name, moment) = (header::named(profile), at.name(), at.moment(profile));
    page.heading(&format!("{program}: snapshot {name}{of}, {moment}"));
    page.blank();
}

/// Writes what bounds the figures of a snapshot, and the details of its recording.
fn write_below_snapshot(page: &mut Page<'_>, profile: &Profile, at: SnapshotAt<'_>) {
    page.wrap(Style::Faint, "  ", &format!("basis: {}", at.basis()));
    page.blank();
    for note in at.notes() {
        page.warning(&note);
    }
    write_losses(page, profile);
    if page.options.has_details() {
        header::write_program(page, profile);
        header::write_usable(page, at, "");
    } else {
        let text = "--details adds the command and what the allocator gave; --explain explains the columns.";
        page.wrap(Style::Faint, "  ", text);
    }
}

/// Writes an entry of a summary: a name, and a text that continues below itself if it is wider than
/// [`ReportOptions::width`].
///
/// # Errors
/// Returns the errors of `out`.
pub fn write_entry(
    style: Style,
    name: &str,
    text: &str,
    options: &ReportOptions<'_>,
    out: impl Write,
) -> io::Result<()> {
    let mut page = Page::new(options);
    page.entry(style, name, text);
    page.finish(out)
}

/// Writes the short report that ends a run: totals, peak, what the allocator did not see, losses,
/// and the first [`ReportOptions::top`] rows (five when it says nothing) without their stacks.
///
/// # Errors
/// Returns the errors of `out`.
pub fn write_summary(
    profile: &Profile,
    options: &ReportOptions<'_>,
    out: impl Write,
) -> io::Result<()> {
    let mut page = Page::new(options);
    page.has_estimates = profile.capture().sampling.is_some();
    header::write_figures(&mut page, profile);
    header::write_estimates(&mut page, profile);
    write_losses(&mut page, profile);
    let measure = page.options.measure;
    let rows = rows(profile, page.options.by, measure, page.options.frames);
    let whole = measure.of(profile.totals());
    let top = page.options.top.unwrap_or(5);
    let shown: Vec<&Row> = rows
        .iter()
        .take(top)
        .filter(|row| measure.of(&row.figures) > 0)
        .collect();
    if !shown.is_empty() {
        page.blank();
        page.line(
            Style::Heading,
            &format!("  {}", capital(measure.title_in(profile.process().state))),
        );
        site::write(&mut page, profile, &shown, false);
        write_more(&mut page, whole, &rows[shown.len()..]);
    }
    page.finish(out)
}

fn write_losses(page: &mut Page<'_>, profile: &Profile) {
    for loss in profile.losses() {
        page.warning(loss);
    }
}

fn write_table(page: &mut Page<'_>, profile: &Profile, mut rows: Vec<Row>) {
    let measure = page.options.measure;
    let by = page.options.by;
    if by == By::Arena {
        arena::write(page, profile, &rows);
        return;
    }
    // The one row of all bytes would say nothing; what is missing is said.
    if by != By::Field || rows.len() >= 2 {
        let heading = format!(
            "{}s by {}",
            capital(by.name()),
            measure.title_in(profile.process().state)
        );
        page.line(Style::Heading, &heading);
        let at = page.options.snapshot.filter(|_| by == By::Type);
        let frames = page.options.frames;
        let retained = at.map(|at| held::add_to_types(frames, profile, at, &mut rows));
        match by {
            _ if rows.is_empty() => page.plain("  (none)"),
            By::Field => tree::write(page, profile, &rows),
            By::Site => write_sites(page, profile, &rows),
            _ => write_rows(page, profile, &rows),
        }
        if let Some(retained) = retained {
            page.blank();
            page.wrap(Style::Faint, "  ", &retained);
        }
    }
    legend::write(page, profile, &rows);
}

fn write_rows(page: &mut Page<'_>, profile: &Profile, rows: &[Row]) {
    let measure = page.options.measure;
    let whole = measure.of(profile.totals());
    let state = profile.process().state;
    let columns = columns(page.options.by, (measure, state), whole, page.width, rows);
    let name = match page.options.by {
        By::Type => "allocated as",
        by => by.name(),
    };
    page.head(&columns, name);
    // Rows that hold none of the measure say nothing: they are counted below. A phase that only
    // frees says that.
    let by_phase = page.options.by == By::Phase;
    let shown = rows
        .iter()
        .take(page.top())
        .take_while(|row| by_phase || measure.of(&row.figures) > 0)
        .count();
    let visible: Vec<&Row> = rows.iter().take(shown).collect();
    let used = columns.iter().map(|column| column.heading.width() + 1);
    let names = row::names(page, &visible, used.sum());
    for (row, name) in visible.into_iter().zip(&names) {
        write_row(page, profile, (row, name), &columns, measure);
    }
    write_rest(page, whole, rows[shown..].iter(), shown);
}

fn write_sites(page: &mut Page<'_>, profile: &Profile, rows: &[Row]) {
    let measure = page.options.measure;
    let whole = measure.of(profile.totals());
    let shown: Vec<&Row> = rows
        .iter()
        .take(page.top())
        .take_while(|row| measure.of(&row.figures) > 0)
        .collect();
    if page.options.explain {
        for row in &shown {
            site::write(page, profile, &[row], true);
            site_details(page, profile, row);
        }
    } else if !shown.is_empty() {
        site::write(page, profile, &shown, true);
    }
    write_rest(page, whole, rows[shown.len()..].iter(), shown.len());
}

/// The rows that the summary has no room for, as one.
fn write_more(page: &mut Page<'_>, whole: u64, rest: &[Row]) {
    let measure = page.options.measure;
    let some = rest
        .iter()
        .filter(|row| measure.of(&row.figures) > 0)
        .count();
    if some == 0 {
        return;
    }
    let (share, amount) = sum_of(measure, whole, rest.iter());
    let more = format!("{share:>SHARE_WIDTH$} {amount:>10} {:>9}  {some} more", "");
    page.line(Style::Faint, &more);
}

/// Writes the number of rows that are not shown, and their sum.
fn write_rest<'r>(
    page: &mut Page<'_>,
    whole: u64,
    rest: impl ExactSizeIterator<Item = &'r Row>,
    shown: usize,
) {
    if rest.len() == 0 {
        return;
    }
    let measure = page.options.measure;
    let noun = match page.options.by {
        // A row of sites that read the same, of which other places count each.
        By::Site => "row",
        by => by.name(),
    };
    let rows = counted(rest.len() as u64, &format!("more {noun}"));
    let (share, amount) = sum_of(measure, whole, rest);
    let top = page.top();
    let hint = if shown == top {
        format!(" (--top {top})")
    } else {
        String::new()
    };
    let more = format!("{share:>SHARE_WIDTH$} ... {rows}, {amount}{hint}");
    page.line(Style::Faint, &more);
}

fn sum_of<'r>(
    measure: Measure,
    whole: u64,
    rows: impl Iterator<Item = &'r Row>,
) -> (String, String) {
    let mut sum = Figures::default();
    rows.for_each(|row| sum.add(&row.figures));
    let share = measure.share(&sum, whole);
    let share = share.map_or_else(|| "-".to_owned(), |share| share.to_string());
    (share, measure.text(&sum))
}
