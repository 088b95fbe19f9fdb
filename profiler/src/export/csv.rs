//! The rows of the report as a table, figures as plain numbers: rows, groups and keys are those of the report.

use std::io::{self, Write};

use super::Options;
use crate::profile::{Figures, FrameId, Profile, ScopeId};
use crate::table::{By, Detail, by_key, rows};
use crate::units::printable;

/// A cell under the title of its column.
type Cell = (&'static str, String);

pub(super) fn write(profile: &Profile, options: &Options<'_>, out: impl Write) -> io::Result<()> {
    let rows = rows(profile, options.by, options.measure, options.frames);
    let mut table = csv::Writer::from_writer(out);
    let cells = |key: &str, figures: Figures, detail: &Detail| -> Vec<Cell> {
        // What arenas do not count is empty.
        let figure = |figure: Option<u64>| figure.map_or_else(String::new, |it| it.to_string());
        let figures = by_key(figures, options.by == By::Arena);
        let figures = figures.map(|(title, it)| (title, figure(it)));
        let key = [("key", printable(key).into_owned())].into_iter();
        key.chain(figures).chain(details(profile, detail)).collect()
    };
    // An empty row has the titles.
    let header = cells("", Figures::default(), &Detail::empty(options.by));
    let titles = header.iter().map(|(title, _)| *title);
    table.write_record(titles).map_err(error)?;
    for row in &rows {
        let cells = cells(&row.key, row.figures, &row.detail);
        let cells = cells.iter().map(|(_, cell)| &**cell);
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

/// What a row has besides its figures.
fn details(profile: &Profile, detail: &Detail) -> Vec<Cell> {
    let text = |text: &str| printable(text).into_owned();
    let name = |name: &Option<String>| text(name.as_deref().unwrap_or_default());
    match detail {
        Detail::Site(detail) => {
            let (label, phase) = (&detail.label, detail.phase);
            let phase = (phase != ScopeId(0)).then(|| profile.phases().path(profile, phase));
            let [function, krate, file, line] = place(profile, detail.owner);
            vec![
                ("what", text(&label.what)),
                ("where", text(&label.location)),
                ("owner", text(&label.owner)),
                function,
                krate,
                file,
                line,
                ("phase", name(&phase)),
                ("field", name(&detail.field)),
                ("type", name(&detail.type_key)),
                ("stacks", detail.stacks.to_string()),
            ]
        }
        Detail::Owner { owner, .. } => place(profile, *owner).into(),
        Detail::Function(detail) => {
            let Figures {
                total_bytes,
                live_bytes,
                peak_bytes,
                ..
            } = detail.inclusive;
            vec![
                ("crate", text(&detail.krate)),
                ("inclusive_total_bytes", total_bytes.to_string()),
                ("inclusive_live_bytes", live_bytes.to_string()),
                ("inclusive_peak_bytes", peak_bytes.to_string()),
            ]
        }
        Detail::Type(detail) => vec![
            ("full_name", name(&detail.full_name)),
            ("values", detail.values.to_string()),
            ("inline_bytes", detail.inline_bytes.to_string()),
        ],
        Detail::Field(detail) => {
            let mut cells = vec![
                ("type", name(&detail.type_key)),
                ("full_name", name(&detail.full_name)),
                ("values", detail.values.to_string()),
                ("inline_bytes", detail.inline_bytes.to_string()),
            ];
            cells.extend(with_inner(&detail.with_inner));
            cells
        }
        Detail::Phase(detail) => {
            let mut cells = vec![
                ("entered", detail.entered.to_string()),
                ("input_bytes", detail.input_bytes.to_string()),
                ("records", detail.records.to_string()),
            ];
            cells.extend(with_inner(&detail.with_inner));
            cells
        }
        Detail::Thread { count } => vec![("threads", count.to_string())],
        Detail::Code { sites } => vec![("sites", sites.to_string())],
        Detail::Arena(_) => Vec::new(),
    }
}

/// Function, crate, file and line of a frame; empty without one.
fn place(profile: &Profile, id: Option<FrameId>) -> [Cell; 4] {
    let frame = id.and_then(|id| profile.frames.get(id.0 as usize));
    let function = frame.and_then(|frame| profile.functions.get(frame.function.0 as usize));
    let name = frame.map_or("", |frame| profile.function_name(frame.function));
    let krate = function.map_or("", |function| &function.krate);
    let file = frame.and_then(|frame| frame.file.as_deref());
    let line = frame.and_then(|frame| frame.line);
    let line = line.map_or_else(String::new, |line| line.to_string());
    [
        ("function", printable(name).into_owned()),
        ("crate", printable(krate).into_owned()),
        ("file", printable(file.unwrap_or_default()).into_owned()),
        ("line", line),
    ]
}

fn with_inner(figures: &Figures) -> [Cell; 3] {
    [
        ("with_inner_total_bytes", figures.total_bytes.to_string()),
        ("with_inner_live_bytes", figures.live_bytes.to_string()),
        ("with_inner_peak_bytes", figures.peak_bytes.to_string()),
    ]
}
