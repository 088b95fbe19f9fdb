//! The rows of the report as a table, with figures as plain numbers. Rows, groups and keys are
//! those of the report.

use std::io::{self, Write};

use serde_json::Value;

use super::ReportOptions;
use super::rows::{details, row_values};
use crate::profile::{FIGURES, Profile};
use crate::table::{HeldFigures, Row, held_rows, rows};
use crate::units::printable;

pub(super) fn write(
    profile: &Profile,
    options: &ReportOptions<'_>,
    out: impl Write,
) -> io::Result<()> {
    let mut table = csv::Writer::from_writer(out);
    let figures = FIGURES.into_iter().map(|(key, _)| key);
    let details = details(options.by).split_whitespace();
    let held = options.snapshot.zip(options.held);
    // By phase, the net bytes of its threads have the key of a figure of the snapshot.
    let of_snapshot = held.map(|_| HeldFigures::default().by_key().map(|(key, _)| key));
    let of_snapshot = of_snapshot.into_iter().flatten();
    let columns = ["key"].into_iter().chain(of_snapshot).chain(figures);
    let columns: Vec<&str> = columns.chain(details).collect();
    let titles = columns.iter().map(|column| column.replace('/', "_"));
    table.write_record(titles).map_err(error)?;
    let places = columns.iter().map(|column| format!("/{column}"));
    let places: Vec<String> = places.collect();
    let rows: Vec<(Row, Option<HeldFigures>)> = match held {
        Some((at, measure)) => {
            let rows = held_rows(profile, at.snapshot, options.by, measure, options.frames);
            rows.into_iter()
                .map(|row| (row.row, Some(row.held)))
                .collect()
        }
        None => {
            let rows = rows(profile, options.by, options.measure, options.frames);
            rows.into_iter().map(|row| (row, None)).collect()
        }
    };
    for (row, held) in rows {
        let json = row_values(profile, (options.by, options.measure), &row, held.as_ref())?;
        let cells = places.iter().map(|place| cell(json.pointer(place)));
        table.write_record(cells).map_err(error)?;
    }
    table.flush()
}

/// An error of the table as one of output, so that a broken pipe stays one.
pub(super) fn error(error: csv::Error) -> io::Error {
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
