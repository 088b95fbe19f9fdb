//! The rows of the report as a table, with figures as plain numbers. Rows, groups and keys are
//! those of the report.

use std::io::{self, Write};

use serde_json::Value;

use super::ReportOptions;
use super::rows::{details, row_values};
use crate::profile::{FIGURES, Profile};
use crate::question::Answer;
use crate::table::{By, HeldFigures, HolderRow, HolderRowName, Row};
use crate::units::printable;

pub(super) fn write(
    profile: &Profile,
    options: &ReportOptions<'_>,
    out: impl Write,
) -> io::Result<()> {
    let rows: Vec<(Row, Option<HeldFigures>)> = match options.rows(profile)? {
        Answer::Holders(_, rows) => return write_holders(&rows, out),
        Answer::Held(_, rows) => {
            let rows = rows.into_iter();
            rows.map(|row| (row.row, Some(row.held))).collect()
        }
        Answer::Counted(rows) => rows.into_iter().map(|row| (row, None)).collect(),
    };
    let mut table = csv::Writer::from_writer(out);
    // An estimate stands before the ends of its interval.
    let ends: &[&str] = match profile.capture().sampling {
        Some(_) if options.by != By::Arena => &["", "_low", "_high"],
        _ => &[""],
    };
    let figures = FIGURES
        .into_iter()
        .flat_map(|(key, _)| ends.iter().map(move |end| format!("{key}{end}")));
    let details = details(options.by).split_whitespace();
    let is_held = options.measure.is_of_snapshots();
    let of_snapshot = is_held
        .then(|| HeldFigures::default().by_key().map(|(key, _)| key))
        .into_iter()
        .flatten();
    let columns = ["key"].into_iter().chain(of_snapshot).map(str::to_owned);
    let columns: Vec<String> = columns
        .chain(figures)
        .chain(details.map(str::to_owned))
        .collect();
    let titles = columns.iter().map(|column| column.replace('/', "_"));
    table.write_record(titles).map_err(error)?;
    let places: Vec<String> = columns.iter().map(|column| format!("/{column}")).collect();
    for (row, held) in rows {
        let json = row_values(profile, (options.by, options.measure), &row, held.as_ref())?;
        let cells = places.iter().map(|place| cell(json.pointer(place)));
        table.write_record(cells).map_err(error)?;
    }
    table.flush()
}

/// Writes a row for each holder, parents before what they hold.
fn write_holders(rows: &[HolderRow], out: impl Write) -> io::Result<()> {
    let mut table = csv::Writer::from_writer(out);
    let nothing = rows.first().map(|row| row.held.clone()).unwrap_or_default();
    let figures = nothing.by_key().map(|(key, _)| key);
    let titles = ["key", "kind", "parent"].into_iter().chain(figures);
    let titles = titles.chain(["place", "type", "what", "where", "owner", "source"]);
    table.write_record(titles).map_err(error)?;
    for row in rows {
        let parent = row.parent.map(|parent| rows[parent].key(rows));
        let mut cells = vec![
            row.key(rows),
            row.name.kind().to_owned(),
            parent.unwrap_or_default(),
        ];
        let figures = row
            .held
            .by_key()
            .map(|(_, figure)| figure.map(|figure| figure.to_string()));
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

/// An error of the table as one of output, so that a broken pipe stays one.
fn error(error: csv::Error) -> io::Error {
    let text = error.to_string();
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        _ => io::Error::other(text),
    }
}

/// A name, a number, or nothing where a row has neither.
fn cell(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(name)) => printable(name).into_owned(),
        Some(Value::Number(figure)) => figure.to_string(),
        _ => String::new(),
    }
}
