//! Budgets: limits on what a program may allocate, and how much more than before it may.
//!
//! Figures are those of the report and of [`crate::diff`]. Must never fail on what may be noise: a
//! peak is over a limit when it is by more than its error bound. Budgets come from outside:
//! whatever is in them, the answer is a [`Check`] or one sentence, never a panic.

mod against;
mod budget;
mod json;
mod limit;
mod markdown;
mod offenders;
mod pattern;
#[cfg(test)]
mod tests;
mod text;

use serde::Serialize;

use crate::diff::{Amount, Per};
use crate::profile::Measure;
use crate::report::escape;

pub use against::{Tolerances, check_against};
pub use budget::{Budget, LONGEST, parse, parse_percent};
pub use json::{FORMAT, write_json};
pub use limit::{Limit, Most, Subject, check_limit};
pub use markdown::write_markdown;
pub use offenders::Offender;
pub use pattern::Pattern;
pub use text::write_text;

/// Why a limit on `copied` is refused.
pub const COPIED: &str = "how many bytes growth copies depends on the allocator, so a limit on `copied` \
    breaks when the allocator changes; set allow_copied = true (--allow-copied) to keep the limit, \
    or limit `grows` instead";

/// What became of all limits.
#[derive(Clone, Debug, Default)]
pub struct Check {
    /// The recording that was checked.
    pub recording: String,
    /// Each limit, in the order it was given.
    pub outcomes: Vec<Outcome>,
    /// What a reader must know about the figures.
    pub warnings: Vec<String>,
}

impl Check {
    /// Those that are over their limit.
    pub fn failed(&self) -> impl Iterator<Item = &Outcome> {
        self.outcomes.iter().filter(|outcome| outcome.has_failed())
    }

    /// `2 of 5 checks failed`, `all 5 checks passed`.
    pub fn verdict(&self) -> String {
        let (failed, all) = (self.failed().count(), self.outcomes.len());
        match (failed, all) {
            (0, 1) => "the check passed".to_owned(),
            (0, _) => format!("all {all} checks passed"),
            (1, 1) => "the check failed".to_owned(),
            _ => format!("{failed} of {all} checks failed"),
        }
    }
}

/// What became of a limit. The names are the keys in JSON.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// What is limited: `total`, `field "Catalog.**"`.
    pub subject: String,
    /// By which measure.
    #[serde(flatten, serialize_with = "escape::measure")]
    pub measure: Measure,
    /// For each record or byte of input.
    pub per: Option<Per>,
    /// Whether it is over.
    pub status: Status,
    /// What was measured.
    pub value: Amount,
    /// What is allowed.
    pub most: Most,
    /// What it is compared with; the limit is this and the tolerance.
    pub base: Option<Amount>,
    /// How far the measured figure may be off: the error bound of the peak, 0 = exact.
    #[serde(rename = "error_bound")]
    pub bound: f64,
    /// Where most of it comes from; empty where it passed.
    pub offenders: Vec<Offender>,
}

impl Outcome {
    /// Whether it is over its limit.
    pub fn has_failed(&self) -> bool {
        self.status == Status::Failed
    }
}

/// Whether a figure is over its limit. The names are those of JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It is not.
    Passed,
    /// The error bound of the peak, or the spread of several recordings, is too large to tell:
    /// passes.
    Unsure,
    /// It is, whatever the error bound.
    Failed,
}

impl Status {
    /// Of a figure that may be off by `bound`.
    fn of(value: Amount, bound: f64, most: Most) -> Status {
        // Whole figures are compared whole: a limit is kept to the byte.
        let is_over = match most {
            Most::Whole(most) if value.count == 1 => value.value > most,
            _ => value.ratio() > most.ratio(),
        };
        let (value, most) = (value.ratio(), most.ratio());
        if bound > 0.0 {
            if value - bound > most {
                Status::Failed
            } else if value + bound > most {
                Status::Unsure
            } else {
                Status::Passed
            }
        } else if is_over {
            Status::Failed
        } else {
            Status::Passed
        }
    }
}
