//! Rows by site: what was allocated, where, and the line of the program that owns it; in one line each where that fits,
//! else in two.
//!
//! Must never cut a name but in the summary, whose column "where" is cut first.

use unicode_width::UnicodeWidthStr;

use super::Page;
use crate::profile::Profile;
use crate::report::page::clip_middle;
use crate::report::{Detail, Row, SiteDetail, Style};
use crate::table::site_columns;
use crate::units::{counted, printable};

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
    fn of(detail: &SiteDetail, one_line: bool) -> Names {
        Names {
            what: printable(&detail.label.what).into_owned(),
            location: printable(&detail.label.location).into_owned(),
            owner: printable(&detail.label.owner_and_source()).into_owned(),
            stacks: match detail.stacks {
                // The summary's rows say no number of stacks: it is no answer.
                2.. if !one_line => format!("({})", counted(detail.stacks, "stack")),
                _ => String::new(),
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
pub(super) fn write(page: &mut Page<'_>, profile: &Profile, rows: &[&Row], one_line: bool) {
    let measure = page.options.measure;
    let names = rows.iter().filter_map(|row| match &row.detail {
        Detail::Site(detail) => Some(Names::of(detail, one_line)),
        _ => None,
    });
    let names: Vec<Names> = names.collect();
    let whole = measure.of(&profile.totals);
    let with_blocks = site_columns(measure, whole, true);
    let figures = with_blocks.iter().map(|column| column.heading.width() + 1);
    let figures = figures.sum::<usize>() + 2;
    // A narrow terminal has no room for blocks, and names below the figures.
    let narrow = page.width < 2 * figures;
    let columns = if narrow {
        site_columns(measure, whole, false)
    } else {
        with_blocks
    };
    let widths = widths(&names, page.width.saturating_sub(figures), one_line);
    let widths = widths.filter(|_| !narrow);
    let head = match &widths {
        Some(widths) => format!(
            "{}{}owner",
            column("what", widths.what),
            column("where", widths.location)
        ),
        None if narrow => "below: what, where, owner".to_owned(),
        None => "what  where; below: owner".to_owned(),
    };
    page.head(&columns, &head);
    for (row, names) in rows.iter().zip(&names) {
        page.figures(&columns, row);
        if narrow {
            page.blank();
            page.part(Style::Faint, "    ");
            two_lines(page, names, "    ");
            continue;
        }
        page.part(Style::Faint, "  ");
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
                page.end(line.trim_end(), figures);
            }
            None => two_lines(page, names, &" ".repeat(figures)),
        }
    }
}

/// The columns of names where one line is enough.
fn widths(names: &[Names], room: usize, one_line: bool) -> Option<Widths> {
    let widest = |of: fn(&Names) -> &str, title: &str| {
        let names = names.iter().map(|names| of(names).width());
        names.max().unwrap_or(0).max(title.len())
    };
    let what = widest(|names| &names.what, "what");
    let location = widest(|names| &names.location, "where");
    let owner = widest(|names| &names.owner, "owner");
    let stacks = widest(|names| &names.stacks, "");
    if what + location + owner + stacks + 6 <= room {
        return Some(Widths { what, location });
    }
    let rest = room.saturating_sub(what + owner + 4);
    one_line.then_some(Widths {
        what,
        location: if rest < LEAST_LOCATION { 0 } else { rest },
    })
}

/// What and where behind the figures, the owner below; broken at blanks where it is longer than that.
fn two_lines(page: &mut Page<'_>, names: &Names, indent: &str) {
    let (owner, source) = names.owner.split_once("  ").unwrap_or((&names.owner, ""));
    let below = [owner, source, &names.stacks];
    if !names.what.is_empty() || !names.location.is_empty() {
        page.parts_after(Style::Strong, indent, &[&names.what, &names.location]);
        page.part(Style::Faint, indent);
    }
    page.parts_after(Style::Faint, indent, &below);
}

/// A text in a column and the blanks behind it; nothing where there is no column.
fn column(text: &str, columns: usize) -> String {
    if columns == 0 {
        return String::new();
    }
    let missing = columns.saturating_sub(text.width());
    format!("{text}{}  ", " ".repeat(missing))
}
