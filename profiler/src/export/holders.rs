//! The holders of a snapshot: as a table, and as folded lines of the names of their paths.

use std::io::{self, Write};

use super::csv::error;
use crate::calltree::push_name;
use crate::profile::Profile;
use crate::table::{HeldMeasure, HolderRowName, SnapshotAt, holders};
use crate::units::printable;

/// Writes one line for each holder that has bytes of its own: `stack of main;Catalog;.products[]
/// 96`.
pub(super) fn write_folded(
    profile: &Profile,
    at: SnapshotAt<'_>,
    measure: HeldMeasure,
    mut out: impl Write,
) -> io::Result<()> {
    let rows = holders(profile, at.snapshot);
    let mut line = String::new();
    for row in &rows {
        let own = match measure {
            HeldMeasure::Retained => row.held.own.bytes,
            HeldMeasure::Unused => row.held.own.unused_bytes,
        };
        if own == 0 {
            continue;
        }
        line.clear();
        for step in row.steps(&rows) {
            if !line.is_empty() {
                line.push(';');
            }
            push_name(&mut line, &step);
        }
        writeln!(out, "{line} {own}")?;
    }
    out.flush()
}

/// Writes a row for each holder, parents before what they hold.
pub(super) fn write_csv(profile: &Profile, at: SnapshotAt<'_>, out: impl Write) -> io::Result<()> {
    let rows = holders(profile, at.snapshot);
    let mut table = csv::Writer::from_writer(out);
    let nothing = rows.first().map(|row| row.held.clone()).unwrap_or_default();
    let figures = nothing.by_key().map(|(key, _)| key);
    let titles = ["key", "kind", "parent"].into_iter().chain(figures);
    let titles = titles.chain(["place", "type", "what", "where", "owner", "source"]);
    table.write_record(titles).map_err(error)?;
    for row in &rows {
        let parent = row.parent.map(|parent| rows[parent].key(&rows));
        let mut cells = vec![
            row.key(&rows),
            row.name.kind().to_owned(),
            parent.unwrap_or_default(),
        ];
        let figures = row.held.by_key();
        let figures = figures.map(|(_, figure)| figure.map(|figure| figure.to_string()));
        cells.extend(figures.map(Option::unwrap_or_default));
        let mut names = [const { String::new() }; 6];
        match &row.name {
            HolderRowName::Place { path, type_key } => {
                names[0].clone_from(path);
                names[1] = type_key.clone().unwrap_or_default();
            }
            HolderRowName::Site(label) => {
                names[2].clone_from(&label.what);
                names[3].clone_from(&label.location);
                names[4].clone_from(&label.owner);
                names[5] = label.source.clone().unwrap_or_default();
            }
            _ => {}
        }
        cells.extend(names);
        let cells = cells.iter().map(|cell| printable(cell).into_owned());
        table.write_record(cells).map_err(error)?;
    }
    table.flush()
}
