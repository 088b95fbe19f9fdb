//! The limit on the growth of live bytes between two moments of a recording.

use super::offenders::grown;
use super::percent::parse_percent;
use super::{Most, Outcome, Status};
use crate::diff::{Amount, Change, Recording, Series};
use crate::growth::{Found, Moment, Side, growth, moment};
use crate::profile::{Figures, Measure, Profile, State};
use crate::table::By;
use crate::units::{parse_bytes, printable};

/// The largest allowed growth of live bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MostGrowth {
    /// Bytes.
    Bytes(u64),
    /// Bytes for each second.
    BytesPerSecond(u64),
    /// A part of what was live at the earlier moment.
    Part(f64),
}

/// A limit on the growth of live bytes.
#[derive(Clone, Debug)]
pub struct GrowthLimit {
    /// The largest allowed growth.
    pub most: MostGrowth,
    /// The earlier moment, as [`moment`] takes it. `None`: half of the run.
    pub from: Option<String>,
    /// The later moment. `None`: the last checkpoint, or now if the program still runs. What is
    /// freed when a program stops is no part of it.
    pub to: Option<String>,
}

/// Reads a largest growth: `1 MiB`, `10 KiB/s` or `5 %`.
///
/// # Errors
/// Returns a sentence if the text is none of these.
pub fn parse_growth(text: &str) -> Result<MostGrowth, String> {
    let trimmed = text.trim();
    let parsed = if trimmed.ends_with('%') {
        parse_percent(trimmed).map(MostGrowth::Part)
    } else if let Some(bytes) = trimmed.strip_suffix("/s") {
        parse_bytes(bytes.trim_end()).map(MostGrowth::BytesPerSecond)
    } else {
        parse_bytes(trimmed).map(MostGrowth::Bytes)
    };
    parsed.map_err(|_| {
        let text = printable(text);
        format!("`{text}` is not a growth: write a size such as 1MiB, a rate such as 10KiB/s, or a percentage such as 5%")
    })
}

/// Compares the growth of live bytes in a recording with a limit.
///
/// # Errors
/// Returns one sentence if the moments cannot be found or are the same.
pub fn check_growth(recording: &Recording<'_>, limit: &GrowthLimit) -> Result<Outcome, String> {
    let profile = recording.profile;
    let find = |wanted: &Option<String>, side, default: fn(&Profile) -> Found| match wanted {
        Some(wanted) => moment(profile, wanted, side),
        None => Ok(default(profile)),
    };
    let to = find(&limit.to, Side::To, last)?;
    let from = find(&limit.from, Side::From, half)?;
    let subject = format!("growth from {} to {}", from.text(profile), to.text(profile));
    let growth = growth(profile, from, to, By::Site)?;
    let (base, value) = (growth.total.from.0, growth.total.to.0);
    let allowed = match limit.most {
        MostGrowth::Bytes(bytes) => bytes as f64,
        MostGrowth::BytesPerSecond(bytes) => bytes as f64 * growth.span_ns() as f64 / 1e9,
        MostGrowth::Part(part) => base as f64 * part,
    };
    let most = Most::Whole(base.saturating_add(allowed as u64));
    let value = Amount::new(value, 1);
    let (status, bound) = match &profile.capture().sampling {
        None => (Status::of(value, 0.0, most), 0.0),
        // The safe end of the interval: of estimates, only growth that is certain fails.
        Some(sampling) => {
            let (low, high) = between_estimates(base, value.value, sampling.most_sample_bytes);
            let status = if low > allowed {
                Status::Failed
            } else if high > allowed {
                Status::Unsure
            } else {
                Status::Passed
            };
            (status, (high - low) / 2.0)
        }
    };
    let offenders = match status {
        Status::Failed => grown(&growth.changes),
        _ => Vec::new(),
    };
    Ok(Outcome {
        subject,
        measure: Measure::Live,
        per: None,
        status,
        value,
        most,
        base: Some(Amount::new(base, 1)),
        bound,
        offenders,
    })
}

/// Returns the ends of the interval of the growth between two estimates of live bytes.
fn between_estimates(from: u64, to: u64, mean: u64) -> (f64, f64) {
    let distances = |bytes: u64| {
        let figures = Figures::estimated_live(bytes, mean);
        let interval = figures.interval(Measure::Live.key());
        let ends = interval
            .and_then(|ends| Some((ends.low, ends.high?)))
            .unwrap_or((bytes, bytes));
        (
            bytes.saturating_sub(ends.0) as f64,
            ends.1.saturating_sub(bytes) as f64,
        )
    };
    let change = Change::new(
        Series::new(vec![Amount::new(from, 1)]),
        Series::new(vec![Amount::new(to, 1)]),
        [0.0; 2],
    );
    let change = change.of_estimates(distances(from), distances(to));
    change.interval.unwrap_or_default()
}

/// Returns the last moment before the program stopped.
fn last(profile: &Profile) -> Found {
    let number = profile.checkpoints().len().checked_sub(1);
    match (profile.process().state, number) {
        (State::Finished, Some(number)) => Found::exact(Moment::Checkpoint(number)),
        _ => Found::exact(Moment::End),
    }
}

/// Returns the moment nearest to half of the run.
fn half(profile: &Profile) -> Found {
    let half_ns = last(profile).moment.time_ns(profile) / 2;
    Found::exact(Moment::nearest(profile, half_ns))
}
