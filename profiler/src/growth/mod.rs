//! Growth: what became live between two moments of one recording, by any grouping of sites.
//!
//! A recording keeps what each site held at its checkpoints ([`Profile::checkpoints`]), and the
//! peak and the end are known too. [`moment`] finds the nearest of these to a time or a mark,
//! [`composition`] is the heap at one of them, and [`growth`] compares two. Every figure is exact
//! for its moment; a moment that is not the one that was asked for is always named with its
//! distance.
//!
//! ```
//! use heapglass_profiler::growth::{Side, growth, moment};
//! use heapglass_profiler::table::By;
//!
//! # let profile = heapglass_fixture::real("server");
//! let from = moment(&profile, "100ms", Side::From)?;
//! let to = moment(&profile, "end", Side::To)?;
//! let growth = growth(&profile, from, to, By::Owner)?;
//! for row in &growth.rows {
//!     println!("{}: {:+} bytes", row.identity.name, row.difference().0);
//! }
//! # Ok::<(), String>(())
//! ```

mod json;
mod moment;
mod rates;
mod text;

use std::cmp::Reverse;

use crate::diff::{Diff, DiffOptions, Identity, Recording, RowChange};
use crate::profile::{Figures, Measure, Profile};
use crate::question::{Form, Kind, check};
use crate::table::By;

pub use json::{FORMAT, write_json};
pub use moment::{Found, Moment, NO_MOMENTS, Side, moment};
pub use rates::{Allocated, Rate};
pub use text::write_text;

/// The growth between two moments.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Growth<'a> {
    /// The recording.
    pub profile: &'a Profile,
    /// The earlier moment.
    pub from: Found,
    /// The later moment.
    pub to: Found,
    /// The grouping of rows.
    pub by: By,
    /// All live bytes and blocks.
    pub total: Grown,
    /// Rows that differ in live bytes or blocks: those that grew, then those that shrank, the
    /// largest difference first.
    pub rows: Vec<GrowthRow>,
    /// Number of rows that are equal.
    pub equal_rows: usize,
    /// The rows as a comparison has them.
    pub(crate) changes: Vec<RowChange>,
}

/// A row at two moments.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GrowthRow {
    /// The identity of the row.
    pub identity: Identity,
    /// Its live bytes and blocks.
    pub grown: Grown,
}

impl GrowthRow {
    /// Returns the difference in live bytes and blocks.
    pub fn difference(&self) -> (i64, i64) {
        self.grown.difference()
    }
}

/// Live bytes and blocks at two moments. Blocks of a recording with samples are lower bounds, whose
/// difference is not known ([`Growth::knows_blocks`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Grown {
    /// Live bytes and blocks at the earlier moment.
    pub from: (u64, u64),
    /// Live bytes and blocks at the later moment.
    pub to: (u64, u64),
}

impl Grown {
    /// Creates the live bytes and blocks of two moments.
    pub fn new(from: (u64, u64), to: (u64, u64)) -> Grown {
        Grown { from, to }
    }

    /// Returns the difference in live bytes and blocks.
    pub fn difference(&self) -> (i64, i64) {
        let difference = |from: u64, to: u64| {
            let signed = i128::from(to) - i128::from(from);
            i64::try_from(signed).unwrap_or(if signed < 0 { i64::MIN } else { i64::MAX })
        };
        (
            difference(self.from.0, self.to.0),
            difference(self.from.1, self.to.1),
        )
    }
}

impl Growth<'_> {
    /// Returns the time between the two moments, in nanoseconds.
    pub fn span_ns(&self) -> u64 {
        let time = |found: &Found| found.moment.time_ns(self.profile);
        time(&self.to).saturating_sub(time(&self.from))
    }

    /// Returns `true` if numbers of blocks are known: not if samples were taken.
    pub fn knows_blocks(&self) -> bool {
        self.profile.capture().sampling.is_none()
    }

    /// Returns the difference of a row in blocks, spelled: `+12`. `None` if it is not known.
    pub fn blocks_text(&self, grown: &Grown) -> Option<String> {
        let (_, blocks) = grown.difference();
        self.knows_blocks()
            .then(|| Measure::Blocks.difference(blocks.into()))
    }

    /// Returns the bytes that the whole process allocated in that time; `None` if one of the
    /// moments is the peak. What single rows allocated is not known: checkpoints keep what is live.
    pub fn allocated_bytes(&self) -> Option<u64> {
        let total = |found: &Found| found.moment.total_bytes(self.profile);
        Some(total(&self.to)?.saturating_sub(total(&self.from)?))
    }

    /// Returns the growth in bytes and in blocks for each second, spelled: `+1.2 MiB/s` and
    /// `+20,000 blocks/s`. `None` if there is no time between the moments; the blocks are also
    /// `None` if they are not known.
    pub fn rate_texts(&self, grown: &Grown) -> Option<(String, Option<String>)> {
        let (bytes, blocks) = grown.difference();
        let (bytes, blocks) = (self.per_second(bytes)?, self.per_second(blocks)?);
        let blocks = self
            .knows_blocks()
            .then(|| format!("{} blocks/s", text::signed_count(blocks)));
        Some((text::signed_rate(bytes), blocks))
    }

    /// Returns a figure for each second between the two moments; `None` if there is no time between
    /// them.
    pub fn per_second(&self, figure: i64) -> Option<f64> {
        let seconds = self.span_ns() as f64 / 1e9;
        (seconds > 0.0).then(|| figure as f64 / seconds)
    }
}

/// Returns the heap at a moment, as a profile with live bytes and blocks only
/// ([`Profile::at_checkpoint`]).
pub fn composition(profile: &Profile, moment: Moment) -> Profile {
    match moment {
        Moment::Start => profile.at_start(),
        Moment::Checkpoint(number) => profile.at_checkpoint(number).unwrap_or_default(),
        Moment::Peak => profile.at_peak(),
        Moment::End => profile.at_end(),
    }
}

/// Compares the heap at two moments.
///
/// # Errors
/// Returns a sentence if the earlier moment is not before the later one, or rows of that grouping
/// are not made of sites.
pub fn growth(profile: &Profile, from: Found, to: Found, by: By) -> Result<Growth<'_>, String> {
    check(Kind::Growth, Form::Rows, by, Measure::Live)?;
    if profile.process().merged.is_some() {
        return Err(NO_MOMENTS.to_owned());
    }
    if from.moment.order(profile) >= to.moment.order(profile) {
        return Err(format!(
            "nothing lies between {} and {}; {}",
            from.moment.name(profile),
            to.moment.name(profile),
            moment::choices(profile)
        ));
    }
    let sides = [from.moment, to.moment].map(|moment| composition(profile, moment));
    let [base, new] = sides
        .each_ref()
        .map(|profile| Recording { name: "", profile });
    let options = DiffOptions {
        by,
        measure: Measure::Live,
        ..DiffOptions::default()
    };
    let diff = Diff::new(&[base], &[new], options);
    let live_of = |figures: &Figures| (figures.live_bytes, figures.number("live_blocks").value);
    let live = |figures: &[Figures]| figures.first().map_or((0, 0), live_of);
    let mut rows: Vec<GrowthRow> = diff
        .rows
        .iter()
        .map(|row| GrowthRow {
            identity: row.identity.clone(),
            grown: Grown {
                from: live(&row.base),
                to: live(&row.new),
            },
        })
        .collect();
    rows.retain(|row| row.grown.from != row.grown.to);
    // Those that grew first; on either side the largest difference.
    rows.sort_by_key(|row| {
        let (bytes, blocks) = row.difference();
        let size = Reverse((bytes.unsigned_abs(), blocks.unsigned_abs()));
        ((bytes, blocks) < (0, 0), size)
    });
    let of_all = |side: &Profile| live_of(side.totals());
    let total = Grown {
        from: of_all(&sides[0]),
        to: of_all(&sides[1]),
    };
    let changed = rows.len();
    let equal_rows = diff.equal_rows + (diff.rows.len() - changed);
    let changes = diff.rows;
    Ok(Growth {
        profile,
        from,
        to,
        by,
        total,
        rows,
        equal_rows,
        changes,
    })
}
