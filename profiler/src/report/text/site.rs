//! Rows by site: what was allocated, where, and the line of the program that owns it; in one line each where that fits,
//! else in two.
//!
//! Must never cut a name but in the summary, whose column "where" is cut first.

use std::io::{self, Write};

use unicode_width::UnicodeWidthStr;

use super::Page;
use crate::profile::{Figures, Measure, Profile};
use crate::report::page::clip_middle;
use crate::report::{Detail, Row, SiteLabel, Style};
use crate::table::SHARE_WIDTH;
use crate::units::{Count, Share, counted, printable};

const AMOUNT: usize = 10;
const BLOCKS: usize = 11;
/// The figures and the blank behind them.
const FIGURES: usize = SHARE_WIDTH + 1 + AMOUNT + 1 + BLOCKS + 2;
/// With less room than this, the summary leaves "where" out.
const LEAST_LOCATION: usize = 8;

/// The three names of a row, free of control characters.
struct Names {
    what: String,
    location: String,
    owner: String,
    /// How many stacks read the same; empty of one.
    stacks: String,
}

impl Names {
    fn of(label: &SiteLabel, stacks: u64) -> Names {
        Names {
            what: printable(&label.what).into_owned(),
            location: printable(&label.location).into_owned(),
            owner: printable(&label.owner_and_source()).into_owned(),
            stacks: match stacks {
                0 | 1 => String::new(),
                _ => format!("({})", counted(stacks, "stack")),
            },
        }
    }
}

/// How wide the columns of names are; `None` in a table of two lines a row.
struct Widths {
    what: usize,
    location: usize,
}

/// Writes the rows under a heading; `one_line` shortens "where" rather than take a second line.
pub(super) fn write<W: Write>(
    page: &mut Page<'_, W>,
    profile: &Profile,
    rows: &[&Row],
    measure: Measure,
    one_line: bool,
) -> io::Result<()> {
    let whole = measure.of(&profile.totals);
    let names: Vec<Names> = rows
        .iter()
        .filter_map(|row| match &row.detail {
            // The summary's rows say no number of stacks: it is no answer.
            Detail::Site(detail) => {
                let stacks = if one_line { 0 } else { detail.stacks };
                Some(Names::of(&detail.label, stacks))
            }
            _ => None,
        })
        .collect();
    // A narrow terminal has no room for blocks, and names below the figures.
    let narrow = page.width < 2 * FIGURES;
    let room = page.width.saturating_sub(FIGURES);
    let widest = |of: fn(&Names) -> &str, title: &str| {
        let names = names.iter().map(|names| of(names).width());
        names.max().unwrap_or(0).max(title.len())
    };
    let what = widest(|names| &names.what, "what");
    let location = widest(|names| &names.location, "where");
    let owner = widest(|names| &names.owner, "owner");
    let stacks = widest(|names| &names.stacks, "");
    let widths = if narrow {
        None
    } else if what + location + owner + stacks + 6 <= room {
        Some(Widths { what, location })
    } else if one_line {
        let rest = room.saturating_sub(what + owner + 4);
        Some(Widths {
            what,
            location: if rest < LEAST_LOCATION { 0 } else { rest },
        })
    } else {
        None
    };
    let (_, unit) = measure.blocks(&Figures::default());
    let unit = if measure.is_bytes() { unit } else { "" };
    let mut head = format!("{:>SHARE_WIDTH$} {:>AMOUNT$}", "share", measure.name());
    if !narrow {
        head.push_str(&format!(" {unit:>BLOCKS$}  "));
    }
    head.push_str(&match &widths {
        Some(widths) => format!(
            "{}{}owner",
            column("what", widths.what),
            column("where", widths.location)
        ),
        None if narrow => "  below: what, where, owner".to_owned(),
        None => "what  where; below: owner".to_owned(),
    });
    page.line(Style::Heading, &head)?;
    for (row, names) in rows.iter().zip(&names) {
        let value = measure.of(&row.figures);
        page.part(
            Style::Faint,
            &format!("{:>SHARE_WIDTH$} ", Share::of(value, whole).to_string()),
        )?;
        page.part(
            Style::Strong,
            &format!("{:>AMOUNT$}", measure.amount(value)),
        )?;
        let blocks = match measure.is_bytes() {
            true => Count(measure.blocks(&row.figures).0).to_string(),
            false => String::new(),
        };
        if narrow {
            page.end("", 0)?;
            page.part(Style::Faint, "    ")?;
            two_lines(page, names, "    ")?;
            continue;
        }
        page.part(Style::Faint, &format!(" {blocks:>BLOCKS$}  "))?;
        match &widths {
            Some(widths) => {
                let location = clip_middle(&names.location, widths.location);
                let line = format!(
                    "{}{}{}  {}",
                    column(&names.what, widths.what),
                    column(&location, widths.location),
                    names.owner,
                    names.stacks
                );
                page.end(line.trim_end(), FIGURES)?;
            }
            None => two_lines(page, names, &" ".repeat(FIGURES))?,
        }
    }
    Ok(())
}

/// What and where behind the figures, the owner below; broken at blanks where it is longer than that.
fn two_lines<W: Write>(page: &mut Page<'_, W>, names: &Names, indent: &str) -> io::Result<()> {
    let (owner, source) = names.owner.split_once("  ").unwrap_or((&names.owner, ""));
    let below = [owner, source, &names.stacks];
    if names.what.is_empty() && names.location.is_empty() {
        return page.parts_after(Style::Faint, indent, &below);
    }
    page.parts_after(Style::Strong, indent, &[&names.what, &names.location])?;
    page.part(Style::Faint, indent)?;
    page.parts_after(Style::Faint, indent, &below)
}

/// A text in a column and the blanks behind it; nothing where there is no column.
fn column(text: &str, columns: usize) -> String {
    if columns == 0 {
        return String::new();
    }
    let missing = columns.saturating_sub(text.width());
    format!("{text}{}  ", " ".repeat(missing))
}
