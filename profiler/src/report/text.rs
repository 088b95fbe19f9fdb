//! The report as text: header, totals, losses, and a table as wide as the terminal.
//!
//! Plain ASCII but for recorded names, so that it reads the same everywhere. Must never write a recorded name but
//! through [`crate::units::printable`], and never leave out a row without counting it.

use std::io::{self, Write};

use unicode_width::UnicodeWidthStr;

use super::page::Page;
use super::rows::{file_and_line, function_name, phase_path};
use super::{By, DEFAULT_TOP, Detail, Options, REALLOC_POLICY, Row, Style, header, losses, rows};
use crate::profile::{Figures, FrameId, Measure, Profile, ScopeId};
use crate::units::{Bytes, Count, Share, counted, printable};

/// Writes the whole report.
///
/// # Errors
/// What `out` returned.
pub fn write_text(profile: &Profile, options: &Options<'_>, out: impl Write) -> io::Result<()> {
    let mut page = Page::new(options, out);
    header::write(&mut page, profile, options)?;
    write_losses(&mut page, profile)?;
    page.blank()?;
    write_table(&mut page, profile, options)?;
    page.out.flush()
}

/// Writes the short report that ends a run: totals, peak, what the allocator did not see, losses, and the first
/// [`Options::top`] rows (five when it says nothing) without their stacks.
///
/// # Errors
/// What `out` returned.
pub fn write_summary(profile: &Profile, options: &Options<'_>, out: impl Write) -> io::Result<()> {
    let mut page = Page::new(options, out);
    header::write_figures(&mut page, profile)?;
    write_losses(&mut page, profile)?;
    let measure = options.measure;
    let rows = rows(profile, options.by, measure, options.keep_all);
    let whole = measure.of(&profile.totals);
    let top = options.top.unwrap_or(5);
    let shown: Vec<&Row> = rows
        .iter()
        .take(top)
        .filter(|row| measure.of(&row.figures) > 0)
        .collect();
    if !shown.is_empty() {
        let heading = format!(
            "  top {} by {}",
            counted(shown.len() as u64, options.by.name()),
            measure.title()
        );
        page.line(Style::Heading, &heading)?;
    }
    for row in shown {
        let value = measure.of(&row.figures);
        let start = format!(
            "  {:>8} {:>11}  ",
            Share::of(value, whole),
            amount(measure, value)
        );
        page.part(Style::Strong, &start)?;
        let text = match &row.detail {
            Detail::Site { owner, .. } => {
                site_name(profile, *owner, page.width.saturating_sub(start.len()))
            }
            _ => printable(&row.key).into_owned(),
        };
        page.end(&text, start.len())?;
    }
    page.out.flush()
}

fn write_losses<W: Write>(page: &mut Page<W>, profile: &Profile) -> io::Result<()> {
    for loss in losses(profile) {
        page.wrap(Style::Warning, "  ! ", &loss)?;
    }
    Ok(())
}

/// A column of figures.
struct Column {
    measure: Measure,
    title: &'static str,
    width: usize,
}

const COLUMNS: [Column; 7] = [
    Column {
        measure: Measure::Peak,
        title: "peak",
        width: 10,
    },
    Column {
        measure: Measure::Live,
        title: "live",
        width: 10,
    },
    Column {
        measure: Measure::Total,
        title: "total",
        width: 10,
    },
    Column {
        measure: Measure::Blocks,
        title: "blocks",
        width: 11,
    },
    Column {
        measure: Measure::Temporary,
        title: "temporary",
        width: 10,
    },
    Column {
        measure: Measure::Copied,
        title: "copied",
        width: 10,
    },
    Column {
        measure: Measure::Grows,
        title: "grows",
        width: 11,
    },
];

const SHARE_WIDTH: usize = 8;

/// The name of a row needs at least this many columns.
const NAME_WIDTH: usize = 24;

/// The columns that fit, the measure's own first; `copied` and `grows` only when asked for.
fn columns(measure: Measure, width: usize) -> Vec<&'static Column> {
    let mut used = SHARE_WIDTH + 2 + NAME_WIDTH;
    let own = COLUMNS.iter().filter(|column| column.measure == measure);
    let others = COLUMNS
        .iter()
        .take(5)
        .filter(|column| column.measure != measure);
    own.chain(others)
        .enumerate()
        .take_while(|(i, column)| {
            used += column.width + 1;
            *i == 0 || used <= width
        })
        .map(|(_, column)| column)
        .collect()
}

fn write_table<W: Write>(
    page: &mut Page<W>,
    profile: &Profile,
    options: &Options<'_>,
) -> io::Result<()> {
    let measure = options.measure;
    let whole = measure.of(&profile.totals);
    let rows = rows(profile, options.by, measure, options.keep_all);
    let columns = columns(measure, page.width);
    page.line(
        Style::Heading,
        &format!(
            "{}s by {} ({})",
            capital(options.by.name()),
            measure.title(),
            measure.name()
        ),
    )?;
    if rows.is_empty() {
        page.plain("  (none)")?;
    } else {
        let mut head = format!("{:>SHARE_WIDTH$}", "share");
        for column in &columns {
            head.push_str(&format!(" {:>1$}", column.title, column.width));
        }
        page.line(Style::Heading, &format!("{head}  {}", options.by.name()))?;
    }
    let top = options.top.unwrap_or(DEFAULT_TOP);
    // Rows that hold none of the measure say nothing: they are counted below.
    let shown = rows
        .iter()
        .take(top)
        .take_while(|row| measure.of(&row.figures) > 0)
        .count();
    for row in rows.iter().take(shown) {
        write_row(page, profile, row, &columns, measure, whole)?;
    }
    let rest = rows
        .iter()
        .skip(shown)
        .fold(Figures::default(), |mut sum, row| {
            sum.add(&row.figures);
            sum
        });
    if rows.len() > shown {
        let (count, value) = (rows.len() - shown, measure.of(&rest));
        let share = Share::of(value, whole).to_string();
        let noun = format!("more {}", options.by.name());
        let hint = if shown == top {
            format!(" (--top {top})")
        } else {
            String::new()
        };
        let more = format!(
            "... {}, {}{hint}",
            counted(count as u64, &noun),
            amount(measure, value)
        );
        page.line(Style::Faint, &format!("{share:>SHARE_WIDTH$} {more}"))?;
    }
    page.blank()?;
    legend(page, profile, options, &rows)
}

fn write_row<W: Write>(
    page: &mut Page<W>,
    profile: &Profile,
    row: &Row,
    columns: &[&Column],
    measure: Measure,
    whole: u64,
) -> io::Result<()> {
    let share = Share::of(measure.of(&row.figures), whole).to_string();
    page.part(Style::Faint, &format!("{share:>SHARE_WIDTH$}"))?;
    let mut used = SHARE_WIDTH;
    for (i, column) in columns.iter().enumerate() {
        let figure = amount(column.measure, column.measure.of(&row.figures));
        let cell = format!(" {figure:>0$}", column.width);
        used += cell.len();
        page.part(if i == 0 { Style::Strong } else { Style::Faint }, &cell)?;
    }
    page.part(Style::Faint, "  ")?;
    used += 2;
    match &row.detail {
        Detail::Site {
            frames,
            owner,
            scope,
            marks,
            ..
        } => {
            page.end(
                &owner_name(profile, *owner, page.width.saturating_sub(used)),
                used,
            )?;
            let indent = " ".repeat(SHARE_WIDTH + 1);
            let place = owner
                .and_then(|owner| profile.frames.get(owner.0 as usize))
                .and_then(file_and_line);
            let mut text = place
                .map(|place| format!("{}  ", printable(&place)))
                .unwrap_or_default();
            if *scope != ScopeId(0) {
                text.push_str(&format!("[{}]  ", printable(&phase_path(profile, *scope))));
            }
            text.push_str(&short_stack(profile, frames));
            for (set, mark) in [
                (marks.cut, "[cut]"),
                (marks.foreign, "[foreign stack]"),
                (marks.deep, "[deep]"),
                (marks.folded, "[folded]"),
            ] {
                if set {
                    text.push_str(" <- ");
                    text.push_str(mark);
                }
            }
            page.wrap(Style::Faint, &indent, &text)
        }
        Detail::Thread { count } => {
            let more = if *count == 1 {
                String::new()
            } else {
                format!(" ({})", counted(*count, "thread"))
            };
            page.end(&format!("{}{more}", printable(&row.key)), used)
        }
        Detail::Phase { scope, with_inner } => {
            page.end(&printable(&row.key), used)?;
            let mut parts = Vec::new();
            if let Some(scope) = profile
                .scopes
                .get(scope.0 as usize)
                .filter(|_| *scope != ScopeId(0))
            {
                parts.push(format!("entered {}", counted(scope.entered, "time")));
                if scope.input_bytes > 0 {
                    parts.push(format!("{} of input", Bytes(scope.input_bytes)));
                }
                if scope.records > 0 {
                    parts.push(counted(scope.records, "record"));
                }
                if *with_inner != row.figures {
                    let value = amount(measure, measure.of(with_inner));
                    parts.push(format!("with the phases inside it {value}"));
                }
            }
            if parts.is_empty() {
                return Ok(());
            }
            page.wrap(
                Style::Faint,
                &" ".repeat(SHARE_WIDTH + 1),
                &parts.join(", "),
            )
        }
    }
}

/// Innermost first, as a reader asks "who called that": `String::clone <- City::visit_name <- .. <- main`.
fn short_stack(profile: &Profile, frames: &[FrameId]) -> String {
    /// More frames than these are left out in the middle.
    const INNER: usize = 6;
    const OUTER: usize = 2;
    let name = |&id: &FrameId| {
        let function = profile
            .frames
            .get(id.0 as usize)
            .and_then(|f| profile.functions.get(f.function.0 as usize));
        let name = function.map_or("[unnamed]", |f| {
            if f.short.is_empty() {
                &f.name
            } else {
                &f.short
            }
        });
        printable(name).into_owned()
    };
    let mut names: Vec<String> = Vec::new();
    if frames.len() > INNER + OUTER + 1 {
        names.extend(frames.iter().rev().take(INNER).map(name));
        names.push(format!("({} frames)", frames.len() - INNER - OUTER));
        names.extend(frames.iter().take(OUTER).rev().map(name));
    } else {
        names.extend(frames.iter().rev().map(name));
    }
    names.join(" <- ")
}

/// The whole name of a site's owner, its short name when that is too long.
fn owner_name(profile: &Profile, owner: Option<FrameId>, columns: usize) -> String {
    let Some(frame) = owner.and_then(|owner| profile.frames.get(owner.0 as usize)) else {
        return "(no stack)".to_owned();
    };
    let name = printable(function_name(profile, frame));
    if name.width() <= columns {
        return name.into_owned();
    }
    let short = profile
        .functions
        .get(frame.function.0 as usize)
        .map_or("", |function| &function.short);
    if short.is_empty() {
        name.into_owned()
    } else {
        printable(short).into_owned()
    }
}

/// `City::visit_name  src/model.rs:20`
fn site_name(profile: &Profile, owner: Option<FrameId>, columns: usize) -> String {
    let place = owner
        .and_then(|owner| profile.frames.get(owner.0 as usize))
        .and_then(file_and_line)
        .map(|place| format!("  {}", printable(&place)))
        .unwrap_or_default();
    let name = owner_name(profile, owner, columns.saturating_sub(place.width()));
    format!("{name}{place}")
}

fn legend<W: Write>(
    page: &mut Page<W>,
    profile: &Profile,
    options: &Options<'_>,
    rows: &[Row],
) -> io::Result<()> {
    page.wrap(
        Style::Faint,
        "  ",
        "peak: bytes live at the program's largest moment; live: at the end; total: allocated altogether, each \
         realloc with its whole new size; blocks: how many that were; temporary: bytes of blocks freed before their \
         thread allocated another.",
    )?;
    match options.by {
        By::Site => page.wrap(Style::Faint, "  ", REALLOC_POLICY),
        By::Thread if !super::json::rows_sum_to_totals(profile, rows) => page.wrap(
            Style::Faint,
            "  ",
            "A block freed by another thread is subtracted there, and no thread goes below 0: live and peak of these \
             rows need not add up to the totals.",
        ),
        By::Thread => Ok(()),
        By::Phase => page.wrap(Style::Faint, "  ", "A row is a phase without the phases inside it, so rows add up."),
    }
}

/// A figure in the unit of its measure.
pub(super) fn amount(measure: Measure, value: u64) -> String {
    if measure.is_bytes() {
        Bytes(value).to_string()
    } else {
        Count(value).to_string()
    }
}

fn capital(word: &str) -> String {
    word.chars()
        .take(1)
        .flat_map(char::to_uppercase)
        .chain(word.chars().skip(1))
        .collect()
}
