//! The rows of the report as a table, figures as plain numbers: rows, groups and keys are those of the report.

use std::io::{self, Write};

use super::Options;
use crate::profile::{Figures, FrameId, Profile, ScopeId};
use crate::table::{By, Detail, Row, function_name, rows};
use crate::units::printable;

pub(super) fn write(profile: &Profile, options: &Options<'_>, out: impl Write) -> io::Result<()> {
    let rows = rows(profile, options.by, options.measure, options.frames);
    let mut table = csv::Writer::from_writer(out);
    let is_of_arenas = options.by == By::Arena;
    let figures = figures(&Figures::default(), is_of_arenas).map(|(name, _)| name);
    let header = ["key"].into_iter().chain(figures);
    let header = header.chain(columns(options.by).iter().copied());
    table.write_record(header).map_err(error)?;
    for row in &rows {
        let figures = self::figures(&row.figures, is_of_arenas).map(|(_, cell)| cell);
        let cells = [row.key.clone()].into_iter().chain(figures);
        let cells = cells.chain(details(profile, row));
        let cells = cells.map(|cell| printable(&cell).into_owned());
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

/// The figures under the keys of the report's JSON. Arenas keep no peak of what they handed out, no shrinks and no
/// temporary pieces: those cells are empty.
fn figures(of: &Figures, is_of_arenas: bool) -> [(&'static str, String); 13] {
    // Taken apart whole, so that a new figure cannot be forgotten here.
    let Figures {
        total_bytes,
        total_blocks,
        freed_bytes,
        freed_blocks,
        live_bytes,
        live_blocks,
        peak_bytes,
        peak_blocks,
        grows,
        shrinks,
        copied_bytes,
        temporary_blocks,
        temporary_bytes,
    } = *of;
    let not_of_arenas = |figure: u64| match is_of_arenas {
        true => String::new(),
        false => figure.to_string(),
    };
    [
        ("total_bytes", total_bytes.to_string()),
        ("total_blocks", total_blocks.to_string()),
        ("freed_bytes", freed_bytes.to_string()),
        ("freed_blocks", freed_blocks.to_string()),
        ("live_bytes", live_bytes.to_string()),
        ("live_blocks", live_blocks.to_string()),
        ("peak_bytes", not_of_arenas(peak_bytes)),
        ("peak_blocks", not_of_arenas(peak_blocks)),
        ("grows", grows.to_string()),
        ("shrinks", not_of_arenas(shrinks)),
        ("copied_bytes", copied_bytes.to_string()),
        ("temporary_blocks", not_of_arenas(temporary_blocks)),
        ("temporary_bytes", not_of_arenas(temporary_bytes)),
    ]
}

/// What a row has besides its figures.
fn columns(by: By) -> &'static [&'static str] {
    match by {
        By::Site => &[
            "what", "where", "owner", "function", "crate", "file", "line", "phase", "field",
            "type", "stacks",
        ],
        By::Owner => &["function", "crate", "file", "line"],
        By::Function => &[
            "crate",
            "inclusive_total_bytes",
            "inclusive_live_bytes",
            "inclusive_peak_bytes",
        ],
        By::Type => &["full_name", "values", "inline_bytes"],
        By::Field => &[
            "type",
            "full_name",
            "values",
            "inline_bytes",
            "with_inner_total_bytes",
            "with_inner_live_bytes",
            "with_inner_peak_bytes",
        ],
        By::Phase => &[
            "entered",
            "input_bytes",
            "records",
            "with_inner_total_bytes",
            "with_inner_live_bytes",
            "with_inner_peak_bytes",
        ],
        By::Thread => &["threads"],
        By::Crate | By::Module => &["sites"],
        By::Arena => &[],
    }
}

/// The cells of [`columns`].
fn details(profile: &Profile, row: &Row) -> Vec<String> {
    match &row.detail {
        Detail::Site(detail) => {
            let phase = detail.phase;
            let phase = (phase != ScopeId(0)).then(|| profile.phases().path(profile, phase));
            let label = &detail.label;
            let mut cells = vec![
                label.what.clone(),
                label.location.clone(),
                label.owner.clone(),
            ];
            cells.extend(place(profile, detail.owner));
            cells.extend([
                phase.unwrap_or_default(),
                detail.field.clone().unwrap_or_default(),
                detail.type_key.clone().unwrap_or_default(),
                detail.stacks.to_string(),
            ]);
            cells
        }
        Detail::Owner { owner, .. } => place(profile, *owner).into(),
        Detail::Function(detail) => {
            let [total, live, peak] = three(&detail.inclusive);
            vec![detail.krate.clone(), total, live, peak]
        }
        Detail::Type(detail) => vec![
            detail.full_name.clone().unwrap_or_default(),
            detail.values.to_string(),
            detail.inline_bytes.to_string(),
        ],
        Detail::Field(detail) => {
            let (key, full) = detail.value_type.clone().unwrap_or_default();
            let [total, live, peak] = three(&detail.with_inner);
            let (values, inline_bytes) = (detail.values, detail.inline_bytes);
            vec![
                key,
                full,
                values.to_string(),
                inline_bytes.to_string(),
                total,
                live,
                peak,
            ]
        }
        Detail::Phase(detail) => {
            let [total, live, peak] = three(&detail.with_inner);
            let counts = [detail.entered, detail.input_bytes, detail.records];
            let counts = counts.into_iter().map(|count| count.to_string());
            counts.chain([total, live, peak]).collect()
        }
        Detail::Thread { count } => vec![count.to_string()],
        Detail::Code { sites } => vec![sites.to_string()],
        Detail::Arena(_) => Vec::new(),
    }
}

/// Function, crate, file and line of a frame; empty without one.
fn place(profile: &Profile, id: Option<FrameId>) -> [String; 4] {
    let Some(frame) = id.and_then(|id| profile.frames.get(id.0 as usize)) else {
        return Default::default();
    };
    let function = profile.functions.get(frame.function.0 as usize);
    [
        function_name(profile, frame).to_owned(),
        function
            .map(|function| function.krate.clone())
            .unwrap_or_default(),
        frame.file.clone().unwrap_or_default(),
        frame.line.map(|line| line.to_string()).unwrap_or_default(),
    ]
}

/// Bytes in total, live and at the peak.
fn three(figures: &Figures) -> [String; 3] {
    [figures.total_bytes, figures.live_bytes, figures.peak_bytes].map(|bytes| bytes.to_string())
}
