//! Rows by site: the allocated type, the place, and the line of the program that owns it; on one
//! line each if that fits, else on two.
//!
//! If a line is too long, the phase goes first, unless two rows would then read the same. Then a
//! type loses its arguments, except for those that tell two rows apart. No other name is cut.

use std::collections::HashMap;

use unicode_width::UnicodeWidthStr;

use super::Page;
use crate::profile::{Measure, Profile, dominant_block_text};
use crate::report::Style;
use crate::table::{Column, Detail, Row};
use crate::table::{shortened_types, site_columns};
use crate::units::{counted, printable};

/// The three names of a row, free of control characters.
struct Names {
    what: String,
    location: String,
    /// The location without the phase.
    place: String,
    owner: String,
    /// Notes: the kind of the type if its name does not tell, the largest block if it holds most,
    /// and the number of stacks that read the same: `(12 stacks)`.
    notes: String,
}

impl Names {
    fn of(
        profile: &Profile,
        row: &Row,
        measure: Option<Measure>,
        with_stacks: bool,
    ) -> Option<Names> {
        let Detail::Site(detail) = &row.detail else {
            return None;
        };
        let dominant = measure
            .and_then(|measure| profile.dominant_block(&detail.sites, &row.figures, measure));
        let first = detail
            .sites
            .first()
            .and_then(|&site| profile.sites().get(site));
        let type_id = first.and_then(|site| profile.type_id_of(site));
        let mut notes: Vec<String> =
            Vec::from_iter(profile.note_of_type(type_id).map(str::to_owned));
        notes.extend(dominant.as_ref().map(dominant_block_text));
        if with_stacks && detail.stacks > 1 {
            notes.push(counted(detail.stacks, "stack"));
        }
        let notes = if notes.is_empty() {
            String::new()
        } else {
            format!("({})", notes.join(", "))
        };
        Some(Names {
            what: printable(&detail.label.what).into_owned(),
            location: printable(&detail.label.location).into_owned(),
            place: printable(detail.label.place()).into_owned(),
            owner: printable(&detail.label.owner_and_source()).into_owned(),
            notes,
        })
    }
}

/// The heading of types: a block that is reused for another type keeps the one that it was
/// allocated as.
const WHAT: &str = "allocated as";

/// The indentation of names in a narrow terminal.
const NARROW: &str = "    ";

/// The widths of the columns of names; `None` in a table of two lines a row.
struct Widths {
    what: usize,
    location: usize,
}

/// Writes the rows under a heading, with the number of stacks that read the same if `with_stacks`.
pub(super) fn write(page: &mut Page<'_>, profile: &Profile, rows: &[&Row], with_stacks: bool) {
    let measure = page.options.measure;
    let whole = measure.of(profile.totals());
    let are_estimates = profile.capture().sampling.is_some();
    let headed = (measure, profile.process().state);
    let columns =
        [true, false].map(|with_blocks| site_columns(headed, whole, with_blocks, are_estimates));
    write_with(
        page,
        profile,
        rows,
        |row| row,
        columns,
        (Some(measure), with_stacks),
        |_, _| (),
    );
}

/// Writes rows with columns of their own: those for a wide page, and those for a narrow one. The
/// largest block is named by `measure`, if there is one. `below` writes what stands below a row.
pub(super) fn write_with<T>(
    page: &mut Page<'_>,
    profile: &Profile,
    rows: &[&T],
    row_of: fn(&T) -> &Row,
    [wide, few]: [Vec<Column<T>>; 2],
    (measure, with_stacks): (Option<Measure>, bool),
    below: impl Fn(&mut Page<'_>, &T),
) {
    let mut names: Vec<Names> = rows
        .iter()
        .map(|row| row_of(row))
        .filter_map(|row| Names::of(profile, row, measure, with_stacks))
        .collect();
    let figures = wide
        .iter()
        .map(|column| column.heading.width() + 1)
        .sum::<usize>()
        + 2;
    // A narrow terminal has no room for blocks, and names below the figures.
    let narrow = page.width < 2 * figures;
    let columns = if narrow { few } else { wide };
    let room = page.width.saturating_sub(figures);
    let mut widths = widths_in(&names, room).filter(|_| !narrow);
    if widths.is_none() {
        let indent = if narrow { NARROW.width() } else { figures };
        let line = page.width.saturating_sub(indent);
        drop_phases(&mut names, line);
        drop_arguments(&mut names, line);
        widths = widths_in(&names, room).filter(|_| !narrow);
    }
    let head = match &widths {
        Some(widths) => format!(
            "{}{}owner",
            column(WHAT, widths.what),
            column("where", widths.location)
        ),
        None if narrow => format!("below: {WHAT}, where, owner"),
        None => format!("{WHAT}  where; below: owner"),
    };
    page.head(&columns, &head);
    for (row, names) in rows.iter().zip(&names) {
        page.figures(&columns, *row);
        if narrow {
            page.blank();
            page.part(Style::Faint, NARROW);
            two_lines(page, names, NARROW);
            below(page, row);
            continue;
        }
        page.part(Style::Faint, "  ");
        match &widths {
            Some(widths) => {
                let line = format!(
                    "{}{}{}  {}",
                    column(&names.what, widths.what),
                    column(&names.location, widths.location),
                    names.owner,
                    names.notes
                );
                page.end(line.trim_end(), figures);
            }
            None => two_lines(page, names, &" ".repeat(figures)),
        }
        below(page, row);
    }
}

/// The columns of names where one line is enough.
fn widths_in(names: &[Names], room: usize) -> Option<Widths> {
    let widest = |of: fn(&Names) -> &str, title: &str| {
        let names = names.iter().map(|names| of(names).width());
        names.max().unwrap_or(0).max(title.len())
    };
    let what = widest(|names| &names.what, WHAT);
    let location = widest(|names| &names.location, "where");
    let owner = widest(|names| &names.owner, "owner");
    let notes = widest(|names| &names.notes, "");
    (what + location + owner + notes + 6 <= room).then_some(Widths { what, location })
}

/// Leaves out phases if the type and the place of a row do not fit into one line, except where two
/// rows would read the same.
fn drop_phases(names: &mut [Names], room: usize) {
    let mut readers: HashMap<[&str; 3], usize> = HashMap::new();
    for row in names.iter() {
        *readers
            .entry([&row.what, &row.place, &row.owner])
            .or_default() += 1;
    }
    let is_wide = |row: &Names| row.what.width() + 2 + row.location.width() > room;
    if !names.iter().any(is_wide) {
        return;
    }
    let is_alone = |row: &Names| readers[&[row.what.as_str(), &row.place, &row.owner]] == 1;
    let drops: Vec<bool> = names.iter().map(is_alone).collect();
    for (row, drops) in names.iter_mut().zip(drops) {
        if drops {
            row.location.clone_from(&row.place);
        }
    }
}

/// Leaves out arguments of types that are wider than `room`.
fn drop_arguments(names: &mut [Names], room: usize) {
    let types: Vec<&str> = names.iter().map(|names| names.what.as_str()).collect();
    let short = shortened_types(&types, room);
    for (row, what) in names.iter_mut().zip(short) {
        row.what = what;
    }
}

/// Writes what and where after the figures, and the owner below. Longer texts break at blanks.
fn two_lines(page: &mut Page<'_>, names: &Names, indent: &str) {
    let (owner, source) = names.owner.split_once("  ").unwrap_or((&names.owner, ""));
    let below = [owner, source, &names.notes];
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
