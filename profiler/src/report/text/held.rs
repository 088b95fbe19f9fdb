//! The figures of rows in a snapshot.
//!
//! These figures must always stand below the snapshot's own moment, and the page must say that
//! retained bytes of rows do not add up.

use super::site;
use super::{Page, row};
use crate::profile::{Frames, Measure, Profile};
use crate::report::Style;
use crate::table::{
    By, Detail, HeldFigures, HeldRow, Row, SHARE_WIDTH, SnapshotAt, held_by, held_columns,
    neighbours_text,
};
use crate::units::{Bytes, capital, counted};

/// Explains the figures of a snapshot.
pub(super) const RETAINED: &str = "retained: bytes of a row's own blocks, and of all blocks that would \
    be freed with them, because nothing else holds them.";
/// Explains bounds of retained bytes.
pub(super) const BOUND: &str = "retained with >= is a lower bound: the row also points to blocks whose owner \
    was not seen, such as those behind pointers of a form that is not known.";
/// Explains unused capacity.
pub(super) const UNUSED: &str = "unused: capacity of lists, tables and buffers that holds nothing. A \
    figure with >= is a lower bound: the fill of some blocks is not known.";
/// Explains neighbours.
pub(super) const NEIGHBOURS: &str = "neighbours: a block of the row and the one that a reader visits before it: \
    the one to which the pointer before points, or the block that holds both. Shares of pairs with less than a cache \
    line (64 B) or a page (4 KiB) between them, and of pairs whose second block is at the lower address.";
/// Explains what small holders do to figures by site.
const CUT: &str =
    "Small holders were summed up in this snapshot: retained bytes of rows are lower bounds.";

/// Writes the rows of a grouping with what they hold.
pub(super) fn write(page: &mut Page<'_>, profile: &Profile, at: SnapshotAt<'_>, rows: &[HeldRow]) {
    let options = page.options;
    let measure = options.measure;
    let by = capital(options.by.name());
    page.line(Style::Heading, &format!("{by}s by {}", measure.title()));
    if measure == Measure::Retained {
        let whole = Bytes(at.snapshot.bytes());
        let overlap = format!(
            "Rows do not add up to the {whole} of the snapshot: a row may retain blocks of other rows."
        );
        page.wrap(Style::Faint, "  ", &overlap);
    }
    let shown: Vec<&HeldRow> = rows
        .iter()
        .take(page.top())
        .take_while(|row| row.held.of(measure).unwrap_or(0) > 0)
        .collect();
    if shown.is_empty() {
        page.plain("  (none)");
    }
    let whole = at.whole(measure);
    let columns = |room: usize| held_columns(measure, whole, |row: &HeldRow| &row.held, room);
    let is_site = |row: &&HeldRow| matches!(row.row.detail, Detail::Site(_));
    if shown.first().is_some_and(is_site) {
        // Names of sites need half of the page.
        let columns = [(); 2].map(|()| columns((page.width / 2).saturating_sub(2)));
        site::write_with(
            page,
            profile,
            &shown,
            |row| &row.row,
            columns,
            (None, true),
            |page, row| write_neighbours(page, &row.held),
        );
    } else if !shown.is_empty() {
        let columns = columns(page.width.saturating_sub(NAME_WIDTH));
        page.head(&columns, options.by.name());
        let used = columns.iter().map(|column| column.heading.width() + 1);
        let named: Vec<&Row> = shown.iter().map(|row| &row.row).collect();
        let names = row::names(page, &named, used.sum());
        for (row, [_, name]) in shown.iter().zip(&names) {
            let used = page.figures(&columns, *row);
            page.place(used, 0, name);
            write_neighbours(page, &row.held);
        }
    }
    write_rest(page, rows, shown.len(), measure);
    write_unattributed(page, at, rows);
    page.blank();
    page.wrap(Style::Faint, "  ", RETAINED);
    if shown.iter().any(|row| row.held.retained_is_bound()) {
        page.wrap(Style::Faint, "  ", BOUND);
    }
    page.wrap(Style::Faint, "  ", UNUSED);
    if page.options.explain {
        page.wrap(Style::Faint, "  ", NEIGHBOURS);
    }
    if at.is_cut() {
        page.wrap(Style::Faint, "  ", CUT);
    }
}

/// Writes the neighbours of a row, if they are asked for.
pub(super) fn write_neighbours(page: &mut Page<'_>, held: &HeldFigures) {
    let text = neighbours_text(held).filter(|_| page.options.explain);
    if let Some(text) = text {
        page.wrap(Style::Faint, &" ".repeat(SHARE_WIDTH + 1), &text);
    }
}

/// The name of a row needs at least this many columns.
const NAME_WIDTH: usize = 26;

/// Writes the number of rows that are not shown. Only unused bytes of rows add up.
fn write_rest(page: &mut Page<'_>, rows: &[HeldRow], shown: usize, measure: Measure) {
    let rest = &rows[shown..];
    if rest.is_empty() {
        return;
    }
    let noun = format!("more {}", page.options.by.name());
    let mut more = format!("  ... {}", counted(rest.len() as u64, &noun));
    if measure == Measure::Unused {
        let unused = rest
            .iter()
            .map(|row| row.held.filled.unused_bytes)
            .fold(0, u64::saturating_add);
        more.push_str(&format!(", {}", Bytes(unused)));
    }
    if shown == page.top() {
        more.push_str(&format!(" (--top {shown})"));
    }
    page.line(Style::Faint, &more);
}

/// Writes the blocks of the snapshot that belong to no row.
fn write_unattributed(page: &mut Page<'_>, at: SnapshotAt<'_>, rows: &[HeldRow]) {
    let own = rows
        .iter()
        .map(|row| row.held.own.bytes)
        .fold(0, u64::saturating_add);
    let missing = at.snapshot.bytes().saturating_sub(own);
    if missing > 0 {
        let text = format!(
            "  ... {} of blocks whose site is not in the recording",
            Bytes(missing)
        );
        page.line(Style::Faint, &text);
    }
}

/// Puts beside each type what its blocks retain in the snapshot. Returns the sentence that says
/// which snapshot that is.
pub(super) fn add_to_types(
    frames: Frames,
    profile: &Profile,
    at: SnapshotAt<'_>,
    rows: &mut [Row],
) -> String {
    let held = held_by(profile, at.snapshot, By::Type, rows, frames);
    for (row, held) in rows.iter_mut().zip(held) {
        if let Detail::Type(detail) = &mut row.detail {
            detail.held = Some(held);
        }
    }
    format!(
        "retained: what the blocks of a type hold in snapshot {}, {}; rows do not add up. Basis: {}.",
        at.name(),
        at.moment(profile),
        at.basis()
    )
}
