//! The columns of a table: the columns of each kind of row, and the choice of those that fit.
//!
//! The column of the measure is always shown, the others as long as there is room.

use super::rates::{bytes_each, bytes_per_second, per_second};
use super::{
    Amplification, By, Detail, FieldDetail, Heading, HeldFigures, PhaseDetail, Row, TypeDetail,
};
use crate::profile::{Figures, Measure, State};
use crate::units::{Nanos, Share, signed_bytes};

/// The name of a row needs at least this many columns.
const NAME_WIDTH: usize = 24;

/// The figure of a row; `None` where it has none.
type Figure<T> = dyn Fn(&T) -> Option<String>;

/// A column of figures: a blank, then the figure to the right.
pub struct Column<T> {
    /// Its title and width.
    pub heading: Heading,
    figure: Box<Figure<T>>,
}

impl<T> Column<T> {
    /// A column of text.
    pub fn new(heading: Heading, figure: impl Fn(&T) -> Option<String> + 'static) -> Column<T> {
        Column {
            heading,
            figure: Box::new(figure),
        }
    }

    /// A column of figures in the unit of its heading.
    pub fn figure(heading: Heading, figure: impl Fn(&T) -> Option<u64> + 'static) -> Column<T> {
        Column::new(heading, move |row| Some(heading.spell(figure(row)?)))
    }

    /// The figure of a row; `-` where it has none.
    pub fn cell(&self, row: &T) -> String {
        (self.figure)(row).unwrap_or_else(|| "-".to_owned())
    }
}

/// The titles of columns, each as wide as its column.
pub fn titles<T>(columns: &[Column<T>], are_estimates: bool) -> String {
    let title = |column: &Column<T>| {
        let title = column.heading.title_of(are_estimates);
        format!(" {title:>0$}", column.heading.width())
    };
    columns.iter().map(title).collect()
}

/// The figures of a row, each as wide as its column.
pub fn cells<T>(columns: &[Column<T>], row: &T) -> Vec<String> {
    let cell = |column: &Column<T>| format!(" {:>1$}", column.cell(row), column.heading.width());
    columns.iter().map(cell).collect()
}

/// The columns that fit in front, at least the first `least`.
pub fn fitting<T>(all: Vec<Column<T>>, least: usize, room: usize) -> Vec<Column<T>> {
    let mut used = 0;
    let fit = all.into_iter().enumerate().take_while(|(at, column)| {
        used += column.heading.width() + 1;
        *at < least || used <= room
    });
    fit.map(|(_, column)| column).collect()
}

/// A column of a measure; `of` says which figures of a row are meant.
fn of_measure<T>(
    heading: Heading,
    measure: Measure,
    of: impl Fn(&T) -> Option<&Figures> + 'static,
) -> Column<T> {
    Column::figure(heading, move |row| Some(measure.shown(of(row)?)))
}

/// The part of `whole` that a row is by the measure.
fn share(measure: Measure, whole: u64, of: fn(&Row) -> Option<&Figures>) -> Column<Row> {
    Column::new(Heading::SHARE, move |row| {
        Some(measure.share(of(row)?, whole)?.to_string())
    })
}

fn is_estimate(row: &Row) -> bool {
    row.figures.samples().is_some()
}

/// Returns the figures of a row itself.
fn own(row: &Row) -> Option<&Figures> {
    Some(&row.figures)
}

/// Returns the figures of a field with the places inside.
fn with_inner(row: &Row) -> Option<&Figures> {
    field(row).map(|detail| &detail.with_inner)
}

/// The columns that fit: the share, the measure and its blocks, then the others. `copied` and
/// `grows` only when asked for, and blocks of no other measure.
pub fn columns(
    by: By,
    (measure, state): (Measure, State),
    whole: u64,
    width: usize,
    rows: &[Row],
) -> Vec<Column<Row>> {
    let of_measure = |measure: Measure| of_measure(Heading::of_in(measure, state), measure, own);
    let mut all = vec![share(measure, whole, own), of_measure(measure)];
    let are_estimates = rows.iter().any(is_estimate);
    // Numbers of blocks are lower bounds, which their column says.
    let least = if are_estimates && measure.is_bytes() {
        all.push(interval(measure));
        3
    } else {
        2
    };
    if measure.is_bytes() {
        all.push(blocks(measure));
    }
    all.extend(special(by, measure, rows));
    if by == By::Thread {
        all.push(Column::figure(Heading::FREED, |row: &Row| {
            Some(row.figures.freed_bytes)
        }));
    }
    let others = Measure::COUNTED
        .into_iter()
        .take(5)
        .filter(|&other| other.is_bytes() && by.measure(other) == other);
    all.extend(others.filter(|&other| other != measure).map(of_measure));
    fitting(all, least, width.saturating_sub(NAME_WIDTH + 2))
}

/// The interval of the measure.
fn interval(measure: Measure) -> Column<Row> {
    Column::new(Heading::INTERVAL, move |row: &Row| {
        Some(measure.ends(measure.interval(&row.figures)?))
    })
}

/// The blocks, or the reallocations, that go with a measure of bytes.
fn blocks(measure: Measure) -> Column<Row> {
    Column::figure(Heading::blocks_of(measure), move |row: &Row| {
        Some(measure.blocks(&row.figures).0.value)
    })
}

/// The columns of sites, whose names need more room: share, measure and, when `with_blocks`, how
/// many blocks that are.
pub fn site_columns(
    (measure, state): (Measure, State),
    whole: u64,
    with_blocks: bool,
    are_estimates: bool,
) -> Vec<Column<Row>> {
    let mut columns = vec![
        share(measure, whole, own),
        of_measure(Heading::of_in(measure, state), measure, own),
    ];
    if are_estimates && measure.is_bytes() {
        columns.push(interval(measure));
    }
    if with_blocks && measure.is_bytes() {
        columns.push(blocks(measure));
    } else if with_blocks {
        // The measure is that number.
        let heading = Heading::text("", Heading::blocks_of(measure).width());
        columns.push(Column::new(heading, |_: &Row| Some(String::new())));
    }
    columns
}

/// The columns of fields that fit: with the places inside, and for the measure also the field
/// alone.
pub fn field_columns(
    (measure, state): (Measure, State),
    whole: u64,
    width: usize,
    rows: &[Row],
) -> Vec<Column<Row>> {
    /// In the order they are left out from the end.
    const OTHERS: [Measure; 4] = [
        Measure::Live,
        Measure::Temporary,
        Measure::Total,
        Measure::Peak,
    ];
    let values = Column::figure(Heading::VALUES, |row: &Row| {
        Some(field(row)?.values).filter(|values| *values > 0)
    });
    let values_width = values.heading.width();
    let room = width.saturating_sub(NAME_WIDTH + 2);
    let mut all = vec![
        share(measure, whole, with_inner),
        of_measure(Heading::of_in(measure, state), measure, with_inner),
        of_measure(Heading::own(measure), measure, own),
    ];
    let in_arenas = |row: &Row| Some(field(row)?.in_arenas_with_inner?.bytes());
    if rows.iter().any(|row| in_arenas(row) > Some(0)) {
        all.push(Column::figure(Heading::IN_ARENAS, move |row: &Row| {
            in_arenas(row).filter(|_| field(row).is_some_and(|row| row.chunks_of.is_none()))
        }));
    }
    let others = OTHERS.into_iter().filter(|&other| other != measure);
    all.extend(others.map(|other| of_measure(Heading::of_in(other, state), other, with_inner)));
    // The number of values stands last, and goes last but the measure's own columns.
    let mut fit = fitting(all, 3, room.saturating_sub(values_width + 1));
    let used: usize = fit.iter().map(|column| column.heading.width() + 1).sum();
    if used + values_width < room {
        fit.push(values);
    }
    fit
}

/// The columns of a snapshot's figures that fit; `whole` is what shares are of.
pub fn held_columns<T: 'static>(
    measure: Measure,
    whole: u64,
    of: fn(&T) -> &HeldFigures,
    room: usize,
) -> Vec<Column<T>> {
    let share = Column::new(Heading::SHARE, move |row: &T| {
        Some(Share::of(of(row).of(measure)?, whole).to_string())
    });
    let retained = Column::new(Heading::HELD, move |row: &T| Some(of(row).retained_text()));
    let own = Column::figure(Heading::OWN, move |row| Some(of(row).own.bytes));
    let unused = Column::new(Heading::UNUSED, move |row: &T| of(row).unused_text());
    let known = Column::new(Heading::KNOWN, move |row: &T| {
        let filled = &of(row).filled;
        Some(Share::of(filled.known_bytes, filled.bytes).to_string())
    });
    let blocks = Column::figure(Heading::BLOCKS, move |row| Some(of(row).own.blocks));
    let all = match measure {
        Measure::Unused => vec![share, unused, known, own, retained, blocks],
        _ => vec![share, retained, own, unused, blocks],
    };
    fitting(all, 2, room)
}

fn field(row: &Row) -> Option<&FieldDetail> {
    match &row.detail {
        Detail::Field(detail) => Some(detail),
        _ => None,
    }
}

fn phase(row: &Row) -> Option<&PhaseDetail> {
    match &row.detail {
        Detail::Phase(detail) => Some(detail),
        _ => None,
    }
}

/// Returns the details of a type whose values were seen.
fn seen(row: &Row) -> Option<&TypeDetail> {
    match &row.detail {
        Detail::Type(detail) if detail.values > 0 => Some(detail),
        _ => None,
    }
}

/// Returns the columns that only rows of one kind have.
fn special(by: By, measure: Measure, rows: &[Row]) -> Vec<Column<Row>> {
    let mut columns = Vec::new();
    match by {
        By::Type => {
            let held = |row: &Row| match &row.detail {
                Detail::Type(detail) => Some(detail.held.as_ref()?.retained_text()),
                _ => None,
            };
            if rows.iter().any(|row| held(row).is_some()) {
                columns.push(Column::new(Heading::HELD, held));
            }
            if rows.iter().any(|row| seen(row).is_some()) {
                columns.push(Column::figure(Heading::VALUES, |row| {
                    Some(seen(row)?.values)
                }));
                columns.push(Column::figure(Heading::INLINE, |row| {
                    Some(seen(row)?.inline_bytes)
                }));
            }
            let mean_block = |row: &Row| match &row.detail {
                Detail::Type(detail) => detail.mean_block_bytes,
                _ => None,
            };
            // Of samples it is not known.
            if !rows.iter().any(is_estimate) {
                columns.push(Column::figure(Heading::MEAN_BLOCK, mean_block));
            }
        }
        By::Function => {
            columns.push(of_measure(
                Heading::inclusive(measure),
                measure,
                |row: &Row| match &row.detail {
                    Detail::Function(detail) => Some(&detail.inclusive),
                    _ => None,
                },
            ));
        }
        By::Phase => {
            let any = |of: fn(&PhaseDetail) -> bool| rows.iter().filter_map(phase).any(of);
            if any(|phase| phase.stayed_bytes.is_some()) {
                columns.push(Column::new(Heading::STAYED, |row| {
                    phase(row)?.stayed_bytes.map(signed_bytes)
                }));
            }
            if any(|phase| phase.elapsed_ns.is_some()) {
                columns.push(Column::new(Heading::ELAPSED, |row| {
                    Some(Nanos(phase(row)?.elapsed_ns?).to_string())
                }));
            }
            if any(|phase| phase.bytes_per_second().is_some()) {
                columns.push(Column::new(Heading::BYTES_PER_SECOND, |row| {
                    phase(row)?.bytes_per_second().map(bytes_per_second)
                }));
            }
            if any(|phase| phase.records_per_second().is_some()) {
                columns.push(Column::new(Heading::RECORDS_PER_SECOND, |row| {
                    phase(row)?.records_per_second().map(per_second)
                }));
            }
            let mut per = |width, titles: [&'static str; 3], of: Of, spell: fn(f64) -> String| {
                let figures: [fn(Amplification) -> Option<f64>; 3] = [
                    |per| Some(per.total),
                    |per| per.stayed,
                    |per| Some(per.peak),
                ];
                for (title, figure) in titles.into_iter().zip(figures) {
                    columns.push(Column::new(Heading::text(title, width), move |row| {
                        phase(row).and_then(of).and_then(figure).map(spell)
                    }));
                }
            };
            if any(|phase| phase.input_bytes > 0) {
                let titles = ["total/in", "stayed/in", "peak/in"];
                per(9, titles, PhaseDetail::per_input_byte, |bytes| {
                    format!("{bytes:.2}")
                });
            }
            if any(|phase| phase.records > 0) {
                let titles = ["total/rec", "stayed/rec", "peak/rec"];
                per(10, titles, PhaseDetail::per_record, bytes_each);
                if !rows.iter().any(is_estimate) {
                    columns.push(Column::new(Heading::text("blocks/rec", 10), |row| {
                        let blocks = phase(row)?.per_record()?.blocks?;
                        Some(format!("{blocks:.2}"))
                    }));
                }
            }
        }
        By::Site | By::Owner | By::Crate | By::Module => {}
        By::Field | By::Thread | By::Arena | By::Holder => {}
    }
    columns
}

/// Reads the allocations of a phase for each byte, or each record, of its input.
type Of = fn(&PhaseDetail) -> Option<Amplification>;
