//! Two sides of recordings compared: the cost or the saving of a change of a program.
//!
//! Rows are those of the report ([`crate::table`]). They are matched by their names ([`Identity`]),
//! never by an address or a line number, which differ between two builds. Noise must never be
//! called a difference: a difference within the error bound of a peak, or within the spread of
//! several recordings of a side, is marked as such.
//!
//! [`Diff`] compares counters of whole recordings, [`HeldDiff`] two snapshots. Either is a
//! [`Comparison`], which is written as text, JSON, Markdown or a picture.
//!
//! ```
//! use heapglass_profiler::diff::{Diff, DiffOptions, Recording};
//! use heapglass_profiler::profile::Measure;
//! use heapglass_profiler::table::By;
//!
//! # let [before, after] = ["shop", "shop-profiled"].map(heapglass_fixture::real);
//! let base = [Recording { name: "before.hg", profile: &before }];
//! let new = [Recording { name: "after.hg", profile: &after }];
//! let options = DiffOptions {
//!     by: By::Type,
//!     measure: Measure::Peak,
//!     ..DiffOptions::default()
//! };
//! let diff = Diff::new(&base, &new, options);
//! for warning in &diff.warnings {
//!     eprintln!("{warning}");
//! }
//! for row in &diff.rows {
//!     println!("{}: {:+} bytes", row.identity.name, row.change.difference());
//! }
//! // The second run had an argument more.
//! assert_eq!(diff.rows[0].identity.name, "Vec<OsString>");
//! ```

mod beside;
mod comparison;
mod held;
mod identity;
mod input;
mod json;
mod markdown;
mod matched;
mod merged;
mod palette;
mod phases;
mod picture;
mod series;
mod text;
mod warnings;

use serde::Serialize;

use crate::profile::{Figures, Frames, Interval, Measure, Profile, State};
use crate::table::By;
use crate::units::printable;

pub use beside::{Beside, RemovedRows, RowBeside, beside_tree};
pub use comparison::{Comparison, write_json, write_markdown, write_svg, write_text};
pub use held::{HeldChange, HeldDiff, HeldSide};
pub use identity::Identity;
pub use input::{Input, Per, input};
pub use json::FORMAT;
use matched::Changed;
pub(crate) use matched::Matched;
pub(crate) use merged::{MatchedPaths, MergedTree};
pub use palette::strength;
pub(crate) use palette::{LESS, MORE, of_difference};
pub use phases::{PhaseChange, PhaseFigure, PhaseFigureChange};
pub(crate) use picture::file_name;
pub use series::{Amount, Change, Series, Verdict};
pub(crate) use text::{amount, each, write_identity};
use warnings::one_sided;
pub use warnings::{warnings, warnings_about};

/// One recording of a side.
#[derive(Clone, Copy, Debug)]
pub struct Recording<'a> {
    /// Its name: the path.
    pub name: &'a str,
    /// Its contents.
    pub profile: &'a Profile,
}

/// Options of a comparison.
#[derive(Clone, Copy, Debug, Default)]
pub struct DiffOptions {
    /// The grouping of rows.
    pub by: By,
    /// The measure that orders rows.
    pub measure: Measure,
    /// Divide by the input of each recording.
    pub per: Option<Per>,
}

/// The counters of two sides compared.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Diff<'a> {
    /// The options of the comparison.
    pub options: DiffOptions,
    /// Recordings of the first side.
    pub base: Vec<Recording<'a>>,
    /// Recordings of the second side.
    pub new: Vec<Recording<'a>>,
    /// The totals by every measure, in the order of [`Measure::COUNTED`], never divided by the
    /// input.
    pub totals: Vec<(Measure, Change)>,
    /// The totals by every measure for each record or input byte, where both sides know them.
    pub per_input: Vec<(Per, Vec<(Measure, Change)>)>,
    /// Rows that differ by the measure, largest difference first.
    pub rows: Vec<RowChange>,
    /// Number of rows that are equal by the measure.
    pub equal_rows: usize,
    /// Number of those rows that differ in another figure.
    pub other_rows: usize,
    /// Number of rows that lack the requested figure on either side.
    pub rows_without_figure: usize,
    /// Number of those rows that differ in any figure.
    pub other_rows_without_figure: usize,
    /// Time, speed and cost per record of the phases, if rows are by phase.
    pub phases: Vec<PhaseChange>,
    /// Warnings that a reader must know before comparing the two sides.
    pub warnings: Vec<String>,
}

/// A row of either side or of both. The names are the keys in JSON.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct RowChange {
    /// The identity of the row.
    #[serde(flatten)]
    pub identity: Identity,
    /// The sides that have the row.
    pub kind: RowKind,
    /// The measure.
    #[serde(flatten)]
    pub change: Change,
    /// Its figures in each recording of the first side; empty where no recording has it.
    #[serde(rename = "base_figures", serialize_with = "json::of_side")]
    pub base: Vec<Figures>,
    /// Its figures in each recording of the second side; empty where no recording has it.
    #[serde(rename = "new_figures", serialize_with = "json::of_side")]
    pub new: Vec<Figures>,
}

/// The sides that have a row. The names are those of JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RowKind {
    /// Only the second side.
    Added,
    /// Only the first side.
    Removed,
    /// Both sides.
    Changed,
}

impl<'a> Diff<'a> {
    /// Compares two sides; a side without recordings is empty.
    pub fn new(base: &[Recording<'a>], new: &[Recording<'a>], options: DiffOptions) -> Diff<'a> {
        let warnings = warnings(base, new, options);
        let options = comparable(base, new, options);
        let Changed {
            rows,
            equal_rows,
            other_rows,
            rows_without_figure,
            other_rows_without_figure,
        } = Matched::new([base, new], options.by, Frames::Folded)
            .changed(options.measure, options.per);
        Diff {
            options,
            base: base.to_vec(),
            new: new.to_vec(),
            totals: totals(base, new, None),
            per_input: Per::ALL
                .into_iter()
                .filter(|&per| knows(base, per) && knows(new, per))
                .map(|per| (per, totals(base, new, Some(per))))
                .collect(),
            rows,
            equal_rows,
            other_rows,
            rows_without_figure,
            other_rows_without_figure,
            phases: phases::phases(base, new, options),
            warnings,
        }
    }

    /// Returns `true` if no total and no row differs in any figure.
    pub fn is_equal(&self) -> bool {
        let totals = self.base.iter().chain(&self.new);
        let mut totals = totals.map(|recording| recording.profile.totals().clone());
        let first = totals.next().unwrap_or_default();
        let others = self.other_rows + self.other_rows_without_figure;
        self.rows.is_empty() && others == 0 && totals.all(|totals| totals == first)
    }

    pub(super) fn naming_state(&self) -> State {
        naming_state(&self.base, &self.new)
    }

    /// Returns the number of rows that only the second side has, that only the first has, and that
    /// both have.
    pub fn kinds(&self) -> [usize; 3] {
        [RowKind::Added, RowKind::Removed, RowKind::Changed]
            .map(|kind| self.rows.iter().filter(|row| row.kind == kind).count())
    }
}

/// Returns the state that names measures: [`State::Merged`] if a recording is the sum of others.
pub(crate) fn naming_state(base: &[Recording<'_>], new: &[Recording<'_>]) -> State {
    let mut all = base.iter().chain(new);
    if all.any(|one| one.profile.process().merged.is_some()) {
        State::Merged
    } else {
        State::Finished
    }
}

/// Returns the options by which two sides can be compared: sites of which one side alone has phases
/// or fields are compared by owner.
fn comparable(base: &[Recording<'_>], new: &[Recording<'_>], options: DiffOptions) -> DiffOptions {
    let by = match options.by {
        By::Site if one_sided(base, new).is_some() => By::Owner,
        by => by,
    };
    DiffOptions {
        by,
        measure: by.measure(options.measure),
        ..options
    }
}

/// Returns the distances from an estimate to the ends of its interval. A row that a recording does
/// not have may have been missed.
fn distances(figures: &Figures, one: &Recording<'_>, options: DiffOptions) -> Option<(f64, f64)> {
    let sampling = one.profile.capture().sampling.as_ref()?;
    // Missed blocks have no upper bound, so a difference of blocks has none either.
    if !options.measure.is_bytes() {
        return Some((f64::INFINITY, f64::INFINITY));
    }
    let value = options.measure.of(figures) as f64;
    let count = count(one.profile, options.per).unwrap_or(1) as f64;
    let (low, high) = match options.measure.interval(figures) {
        Some(Interval { low, high }) => {
            (low as f64, high.map_or(f64::INFINITY, |high| high as f64))
        }
        None => (0.0, sampling.most_unlisted_bytes() as f64),
    };
    Some(((value - low) / count, (high - value) / count))
}

/// Returns the reason why two sides cannot be compared: one samples, the other does not.
pub fn refused(base: &[Recording<'_>], new: &[Recording<'_>]) -> Option<String> {
    let all = || base.iter().chain(new);
    let is_sampled = |one: &&Recording<'_>| one.profile.capture().sampling.is_some();
    let sampled = all().find(is_sampled)?;
    let exact = all().find(|one| !is_sampled(one))?;
    Some(mixed_modes(sampled.name, exact.name))
}

/// Explains why a sampled recording is not compared with an exact one; they are given by name.
pub fn mixed_modes(sampled: &str, exact: &str) -> String {
    format!(
        "{} has estimates from samples and {} exact figures: differences would be those of chance; record \
         both in mode `sample`, or both in mode `exact`",
        printable(sampled),
        printable(exact)
    )
}

/// Returns the divisor of figures: 1 if they are not divided.
fn count(profile: &Profile, per: Option<Per>) -> Option<u64> {
    match per {
        None => Some(1),
        Some(per) => per.count(input(profile)),
    }
}

/// Returns `true` if every recording of a side states that input.
pub(crate) fn knows(side: &[Recording<'_>], per: Per) -> bool {
    let mut side = side.iter();
    side.all(|one| per.count(input(one.profile)).is_some())
}

/// The totals of two sides by every measure, in the order of [`Measure::COUNTED`], as [`total`] has
/// each.
pub(crate) fn totals(
    base: &[Recording<'_>],
    new: &[Recording<'_>],
    per: Option<Per>,
) -> Vec<(Measure, Change)> {
    let change = |measure| (measure, total(base, new, measure, per));
    Measure::COUNTED.into_iter().map(change).collect()
}

/// The totals of two sides by a measure; divided by the input where `per` says so.
pub fn total(
    base: &[Recording<'_>],
    new: &[Recording<'_>],
    measure: Measure,
    per: Option<Per>,
) -> Change {
    let amounts = [base, new].map(|side| {
        let amount = |one: &Recording<'_>| {
            let count = count(one.profile, per).unwrap_or(1);
            Amount::new(one.profile.total_of(measure), count)
        };
        side.iter().map(amount).collect()
    });
    let change = compared([base, new], amounts, measure == Measure::Peak);
    let options = DiffOptions {
        measure,
        per,
        ..DiffOptions::default()
    };
    // A median stands for its side.
    let off = [base, new].map(|side| {
        let one = median_recording(side, measure)?;
        if one.profile.counts_exactly(measure) {
            return None;
        }
        distances(one.profile.totals(), &one, options)
    });
    match off {
        [None, None] => change,
        [base, new] => change.of_estimates(base.unwrap_or_default(), new.unwrap_or_default()),
    }
}

/// Compares the figures of two sides; `is_bounded` when they are off by the error bounds of the
/// peaks: of a side the largest, divided as its figure is.
fn compared(sides: [&[Recording<'_>]; 2], amounts: [Vec<Amount>; 2], is_bounded: bool) -> Change {
    let bounds = [0, 1].map(|side| {
        let bounds = sides[side].iter().zip(&amounts[side]);
        let bounds =
            bounds.map(|(one, amount)| peak_bound(one.profile) as f64 / amount.count as f64);
        let largest = bounds.filter(|_| is_bounded).max_by(f64::total_cmp);
        largest.unwrap_or(0.0)
    });
    let [base, new] = amounts.map(Series::new);
    Change::new(base, new, bounds)
}

/// Returns the largest error of a recording's peak, bytes.
pub(crate) fn peak_bound(profile: &Profile) -> u64 {
    let capture = profile.capture();
    capture.peak_error_bytes.max(capture.peak_discrepancy_bytes)
}

/// The recording of a side whose total by `measure` is the median; `None` of an empty side.
pub(crate) fn median_recording<'a>(
    side: &[Recording<'a>],
    measure: Measure,
) -> Option<Recording<'a>> {
    let mut side = side.to_vec();
    side.sort_by_key(|one| one.profile.total_of(measure));
    let middle = side.len().checked_sub(1)? / 2;
    side.get(middle).copied()
}
