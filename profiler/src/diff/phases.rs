//! Phases compared: their time, their speed, and what they allocate for each record.
//!
//! Times differ from run to run. Nothing here says that a difference is more than that, except
//! where the ranges of several recordings of a side show it.

use std::collections::{HashMap, HashSet};

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::series::{Amount, Change, Series};
use super::{DiffOptions, Recording};
use crate::profile::Frames;
use crate::table::{By, Detail, PhaseDetail, rows};

/// The parts of a second in which speeds are compared.
const PARTS: u64 = 1_000;

/// A phase on both sides, with the figures that a side knows.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PhaseChange {
    /// Its path, as recorded: not safe for a terminal before [`crate::units::printable`].
    pub key: String,
    /// Its figures, in the order of [`PhaseFigure::ALL`].
    pub figures: Vec<PhaseFigureChange>,
}

/// A figure of a phase on both sides.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PhaseFigureChange {
    /// The figure.
    pub figure: PhaseFigure,
    /// The first side; `None` if a recording of it does not know the figure.
    pub base: Option<Series>,
    /// The second side; `None` if a recording of it does not know the figure.
    pub new: Option<Series>,
}

/// A figure of a phase that is not a measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PhaseFigure {
    /// Its time.
    Elapsed,
    /// Bytes of input for each second.
    BytesPerSecond,
    /// Records for each second.
    RecordsPerSecond,
    /// Blocks allocated for each record.
    BlocksPerRecord,
    /// Bytes allocated for each record.
    BytesPerRecord,
    /// Bytes allocated for each byte of input.
    BytesPerInputByte,
}

impl PhaseFigure {
    /// Every figure, in the order frontends show them.
    pub const ALL: [PhaseFigure; 6] = [
        PhaseFigure::Elapsed,
        PhaseFigure::BytesPerSecond,
        PhaseFigure::RecordsPerSecond,
        PhaseFigure::BlocksPerRecord,
        PhaseFigure::BytesPerRecord,
        PhaseFigure::BytesPerInputByte,
    ];

    /// Returns the key in JSON.
    pub fn key(self) -> &'static str {
        match self {
            PhaseFigure::Elapsed => "elapsed_ns",
            PhaseFigure::BytesPerSecond => "bytes_per_second",
            PhaseFigure::RecordsPerSecond => "records_per_second",
            PhaseFigure::BlocksPerRecord => "blocks_per_record",
            PhaseFigure::BytesPerRecord => "bytes_per_record",
            PhaseFigure::BytesPerInputByte => "bytes_per_input_byte",
        }
    }

    /// Returns the words for people.
    pub fn name(self) -> &'static str {
        match self {
            PhaseFigure::Elapsed => "time",
            PhaseFigure::BytesPerSecond => "input per second",
            PhaseFigure::RecordsPerSecond => "records per second",
            PhaseFigure::BlocksPerRecord => "blocks per record",
            PhaseFigure::BytesPerRecord => "bytes per record",
            PhaseFigure::BytesPerInputByte => "bytes per input byte",
        }
    }

    fn of(self, phase: &PhaseDetail) -> Option<Amount> {
        let speed = |speed: f64| Amount::new((speed * PARTS as f64).round() as u64, PARTS);
        let per = |value: u64, count: u64| (count > 0).then(|| Amount::new(value, count));
        let allocated = &phase.with_inner;
        match self {
            PhaseFigure::Elapsed => phase.elapsed_ns.map(|ns| Amount::new(ns, 1)),
            PhaseFigure::BytesPerSecond => phase.bytes_per_second().map(speed),
            PhaseFigure::RecordsPerSecond => phase.records_per_second().map(speed),
            // Of samples it is not known.
            PhaseFigure::BlocksPerRecord if allocated.samples().is_some() => None,
            PhaseFigure::BlocksPerRecord => per(allocated.total_blocks, phase.records),
            PhaseFigure::BytesPerRecord => per(allocated.total_bytes, phase.records),
            PhaseFigure::BytesPerInputByte => per(allocated.total_bytes, phase.input_bytes),
        }
    }
}

impl PhaseFigureChange {
    /// Compares the two sides; `None` if one of them does not know the figure.
    pub fn change(&self) -> Option<Change> {
        let (base, new) = (self.base.clone()?, self.new.clone()?);
        Some(Change::new(base, new, [0.0; 2]))
    }
}

/// The phases of two sides: those of the second side in the order of its rows, then those that only
/// the first side has. Phases without a figure are left out.
pub(super) fn phases(
    base: &[Recording<'_>],
    new: &[Recording<'_>],
    options: DiffOptions,
) -> Vec<PhaseChange> {
    if options.by != By::Phase {
        return Vec::new();
    }
    let [base, new] = [base, new].map(|side| -> Vec<Vec<(String, PhaseDetail)>> {
        side.iter().map(|one| details(one, options)).collect()
    });
    let all = new.iter().chain(&base).flatten();
    let mut seen: HashSet<&str> = HashSet::new();
    let keys: Vec<&str> = all
        .map(|(key, _)| key.as_str())
        .filter(|key| seen.insert(key))
        .collect();
    let [base, new] = [&base, &new].map(|side| side.iter().map(by_key).collect::<Vec<_>>());
    let phase = |key: &str| {
        let figure = |figure: PhaseFigure| {
            let [base, new] = [&base, &new].map(|side| series(side, key, figure));
            let is_known = base.is_some() || new.is_some();
            is_known.then_some(PhaseFigureChange { figure, base, new })
        };
        PhaseChange {
            key: key.to_owned(),
            figures: PhaseFigure::ALL.into_iter().filter_map(figure).collect(),
        }
    };
    let phases = keys.into_iter().map(phase);
    phases.filter(|phase| !phase.figures.is_empty()).collect()
}

fn details(one: &Recording<'_>, options: DiffOptions) -> Vec<(String, PhaseDetail)> {
    let rows = rows(one.profile, By::Phase, options.measure, Frames::Folded);
    let details = rows.into_iter().filter_map(|row| match row.detail {
        Detail::Phase(detail) if detail.entered > 0 => Some((row.key, *detail)),
        _ => None,
    });
    details.collect()
}

/// The phases of a recording by their keys.
type ByKey<'a> = HashMap<&'a str, &'a PhaseDetail>;

fn by_key(phases: &Vec<(String, PhaseDetail)>) -> ByKey<'_> {
    let mut found = ByKey::new();
    for (key, detail) in phases {
        // The first of one key counts.
        found.entry(key).or_insert(detail);
    }
    found
}

/// The figure in each recording of a side; `None` if one of them does not know it.
fn series(side: &[ByKey<'_>], key: &str, figure: PhaseFigure) -> Option<Series> {
    let of_one = |phases: &ByKey<'_>| figure.of(phases.get(key)?);
    let values: Option<Vec<Amount>> = side.iter().map(of_one).collect();
    values.filter(|values| !values.is_empty()).map(Series::new)
}

impl Serialize for PhaseChange {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut json = serializer.serialize_map(None)?;
        json.serialize_entry("key", &self.key)?;
        for change in &self.figures {
            json.serialize_entry(change.figure.key(), change)?;
        }
        json.end()
    }
}

impl Serialize for PhaseFigureChange {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Some(change) = self.change() {
            return change.serialize(serializer);
        }
        let mut json = serializer.serialize_map(None)?;
        json.serialize_entry("base", &self.base)?;
        json.serialize_entry("new", &self.new)?;
        json.end()
    }
}
