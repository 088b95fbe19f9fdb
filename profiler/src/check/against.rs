//! Compares a recording with earlier recordings, and limits the growth.

use super::offenders::grown;
use super::{Most, Outcome, Status};
use crate::diff::{
    Change, Diff, DiffOptions, Per, Recording, Verdict, knows, refused, totals, warnings,
};
use crate::profile::Measure;

/// Growth up to this size is always allowed unless the tolerance is 0: allocators, paths and
/// environment variables cause it.
const SLACK_BYTES: u64 = 4 << 10;
/// The same limit for blocks and grows.
const SLACK_COUNT: u64 = 16;

/// Allowed growth, as a part of the earlier figure. Measures without a tolerance are not checked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerances {
    /// The tolerance of measures that are checked by default.
    general: f64,
    /// The tolerances of single measures, in the order of [`Measure::COUNTED`].
    parts: [Option<f64>; Measure::COUNTED.len()],
}

impl Default for Tolerances {
    /// Allows 5 % of the peak, of the bytes live at exit, and of bytes and blocks allocated.
    fn default() -> Self {
        Tolerances {
            general: 0.05,
            parts: [None; Measure::COUNTED.len()],
        }
    }
}

impl Tolerances {
    /// Returns the tolerance of a measure; `None` = it is not checked.
    pub fn of(&self, measure: Measure) -> Option<f64> {
        const CHECKED: [Measure; 4] = [
            Measure::Peak,
            Measure::Live,
            Measure::Total,
            Measure::Blocks,
        ];
        let general = CHECKED.contains(&measure).then_some(self.general);
        self.parts[measure as usize].or(general)
    }

    /// Sets the tolerance of one measure.
    pub fn set(&mut self, measure: Measure, part: f64) {
        self.parts[measure as usize] = Some(part);
    }

    /// Sets the tolerance of those measures among peak, live, total and blocks that have none of
    /// their own.
    pub fn set_general(&mut self, part: f64) {
        self.general = part;
    }
}

/// Compares the totals of a recording with those of earlier recordings, or with the median of
/// several; with `per`, for each record or byte of input. Returns the outcomes, and the warnings
/// that a reader must know before comparing the two.
///
/// # Errors
/// Returns one sentence if a recording does not state the input to divide by.
pub fn check_against(
    base: &[Recording<'_>],
    new: &Recording<'_>,
    tolerances: &Tolerances,
    per: Option<Per>,
) -> Result<(Vec<Outcome>, Vec<String>), String> {
    let new = std::slice::from_ref(new);
    if per.is_some_and(|per| !knows(base, per) || !knows(new, per)) {
        return Err("a recording does not state its input: drop --per".to_owned());
    }
    if let Some(refused) = refused(base, new) {
        return Err(refused);
    }
    let mut outcomes = Vec::new();
    let mut warnings = warnings(base, new, DiffOptions::default());
    let is_exact = |measure: Measure| {
        let mut all = base.iter().chain(new);
        all.all(|one| one.profile.counts_exactly(measure))
    };
    for (measure, change) in totals(base, new, per) {
        let Some(part) = tolerances.of(measure) else {
            continue;
        };
        // Growth of live bytes is judged at the safe end of its interval.
        if !matches!(measure, Measure::Peak | Measure::Live) && !is_exact(measure) {
            let name = measure.title();
            warnings.push(format!(
                "Not checked, because it is an estimate from samples: {name}."
            ));
            continue;
        }
        let mut outcome = outcome(measure, per, &change, part);
        if outcome.has_failed() {
            // Rows are expensive: they are computed only where a check failed.
            let options = DiffOptions {
                measure,
                per,
                ..DiffOptions::default()
            };
            outcome.offenders = grown(&Diff::new(base, new, options).rows);
        }
        outcomes.push(outcome);
    }
    Ok((outcomes, warnings))
}

fn outcome(measure: Measure, per: Option<Per>, change: &Change, part: f64) -> Outcome {
    let (base, value) = (change.base.median, change.new.median);
    let slack = if part == 0.0 {
        // A tolerance of 0 allows nothing at all.
        0
    } else if measure.is_bytes() {
        SLACK_BYTES
    } else {
        SLACK_COUNT
    };
    let slack = slack as f64 / value.count as f64;
    let most = base.ratio() + (base.ratio() * part).max(slack);
    let most = match value.count {
        1 => Most::Whole(most as u64),
        _ => Most::Each(most),
    };
    let mut status = match change.interval {
        None => Status::of(value, change.bound, most),
        Some((low, high)) => {
            let allowed = most.ratio() - base.ratio();
            if low > allowed {
                Status::Failed
            } else if high > allowed {
                Status::Unsure
            } else {
                Status::Passed
            }
        }
    };
    if status == Status::Failed && change.verdict == Verdict::WithinSpread {
        status = Status::Unsure;
    }
    Outcome {
        subject: "total".to_owned(),
        measure,
        per,
        value,
        most,
        base: Some(base),
        bound: change.bound,
        status,
        offenders: Vec::new(),
    }
}
