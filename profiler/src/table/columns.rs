//! The columns of a table: which there are for each kind of row, and which of them fit.
//!
//! The measure's own column always stands, the others as long as there is room.

use super::{Amplification, By, Detail, Row};
use crate::profile::Measure;
use crate::units::{Bytes, Count, signed_bytes};

pub(crate) const SHARE_WIDTH: usize = 8;

/// The name of a row needs at least this many columns.
pub(crate) const NAME_WIDTH: usize = 24;

/// What a column shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Figure {
    Measure(Measure),
    Values,
    Inline,
    MeanBlock,
    Retained,
    PerInput(Of),
    PerRecord(Of),
    Inclusive(Measure),
}

/// What is divided by the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    Total,
    Retained,
    Peak,
}

/// A column of figures.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    figure: Figure,
    pub(crate) title: &'static str,
    pub(crate) width: usize,
}

const fn column(figure: Figure, title: &'static str, width: usize) -> Column {
    Column {
        figure,
        title,
        width,
    }
}

/// The column of a measure.
pub(crate) fn of_measure(measure: Measure) -> Column {
    let width = if measure.is_bytes() { 10 } else { 11 };
    column(Figure::Measure(measure), measure.name(), width)
}

/// The columns that fit, the measure's own first; `copied` and `grows` only when asked for.
pub(crate) fn columns(by: By, measure: Measure, width: usize, rows: &[Row]) -> Vec<Column> {
    let mut all = vec![of_measure(measure)];
    all.extend(special(by, measure, rows));
    all.extend(
        Measure::ALL
            .into_iter()
            .take(5)
            .filter(|&other| other != measure)
            .map(of_measure),
    );
    let mut used = SHARE_WIDTH + 2 + NAME_WIDTH;
    all.into_iter()
        .enumerate()
        .take_while(|(i, column)| {
            used += column.width + 1;
            *i == 0 || used <= width
        })
        .map(|(_, column)| column)
        .collect()
}

/// What only rows of one kind have.
fn special(by: By, measure: Measure, rows: &[Row]) -> Vec<Column> {
    let phases = || {
        rows.iter().filter_map(|row| match &row.detail {
            Detail::Phase(detail) => Some(detail),
            _ => None,
        })
    };
    match by {
        By::Type => {
            let seen = |row: &Row| matches!(&row.detail, Detail::Type(of) if of.values > 0);
            let mut columns = vec![column(Figure::MeanBlock, "mean block", 10)];
            if rows.iter().any(seen) {
                columns.insert(0, column(Figure::Inline, "inline", 10));
                columns.insert(0, column(Figure::Values, "values", 9));
            }
            columns
        }
        By::Function => vec![column(Figure::Inclusive(measure), "inclusive", 10)],
        By::Phase => {
            let mut columns = Vec::new();
            if phases().any(|phase| phase.retained_bytes.is_some()) {
                columns.push(column(Figure::Retained, "retained", 10));
            }
            if phases().any(|phase| phase.input_bytes > 0) {
                columns.push(column(Figure::PerInput(Of::Total), "total/in", 8));
                columns.push(column(Figure::PerInput(Of::Retained), "kept/in", 8));
                columns.push(column(Figure::PerInput(Of::Peak), "peak/in", 8));
            }
            if phases().any(|phase| phase.records > 0) {
                columns.push(column(Figure::PerRecord(Of::Total), "total/rec", 10));
                columns.push(column(Figure::PerRecord(Of::Retained), "kept/rec", 10));
                columns.push(column(Figure::PerRecord(Of::Peak), "peak/rec", 10));
            }
            columns
        }
        By::Site | By::Owner | By::Crate | By::Module => Vec::new(),
        By::Field | By::Thread | By::Arena => Vec::new(),
    }
}

impl Column {
    /// The figure of a row; `-` where it has none.
    pub(crate) fn cell(&self, row: &Row) -> String {
        let none = || "-".to_owned();
        match (self.figure, &row.detail) {
            (Figure::Measure(measure), _) => measure.amount(measure.of(&row.figures)),
            (Figure::Inclusive(measure), Detail::Function(detail)) => {
                measure.amount(measure.of(&detail.inclusive))
            }
            (Figure::Values, Detail::Type(detail)) if detail.values > 0 => {
                Count(detail.values).to_string()
            }
            (Figure::Inline, Detail::Type(detail)) if detail.values > 0 => {
                Bytes(detail.inline_bytes).to_string()
            }
            (Figure::MeanBlock, Detail::Type(detail)) if row.figures.total_blocks > 0 => {
                Bytes(detail.mean_block_bytes).to_string()
            }
            (Figure::Retained, Detail::Phase(detail)) => {
                detail.retained_bytes.map_or_else(none, signed_bytes)
            }
            (Figure::PerInput(of), Detail::Phase(detail)) => detail
                .per_input_byte()
                .and_then(|per| of.pick(&per))
                .map_or_else(none, |bytes| format!("{bytes:.2}")),
            (Figure::PerRecord(of), Detail::Phase(detail)) => detail
                .per_record()
                .and_then(|per| of.pick(&per))
                .map_or_else(none, bytes_each),
            _ => none(),
        }
    }
}

impl Of {
    fn pick(self, per: &Amplification) -> Option<f64> {
        match self {
            Of::Total => Some(per.total),
            Of::Retained => per.retained,
            Of::Peak => Some(per.peak),
        }
    }
}

/// Bytes for one record: `3.4 B`, `-0.5 B`, `1.2 KiB`.
pub(crate) fn bytes_each(bytes: f64) -> String {
    if bytes.abs() < 100.0 {
        format!("{bytes:.1} B")
    } else {
        signed_bytes(bytes.round() as i64)
    }
}
