//! Budgets: limits on the allocations of a program, and on their growth over earlier recordings.
//!
//! Figures are those of the report and of [`crate::diff`]. A check must never fail because of
//! noise: a peak fails only if it exceeds its limit by more than its error bound. Budgets come from
//! outside: for any input, the answer is a [`Check`] or one sentence, never a panic.
//!
//! ```
//! use heapglass_profiler::check::{Check, check_limit, parse};
//! use heapglass_profiler::diff::Recording;
//!
//! # let profile = heapglass_fixture::real("shop-profiled");
//! let budget = parse(
//!     r#"
//!         [total]
//!         peak = "20 MiB"
//!         [field."Catalog.**"]
//!         total = "30 MiB"
//!     "#,
//!     false,
//! )?;
//! let recording = Recording {
//!     name: "shop.hg",
//!     profile: &profile,
//! };
//! let mut check = Check::new(&recording);
//! for limit in &budget.limits {
//!     check.outcomes.push(check_limit(&recording, limit)?);
//! }
//! assert_eq!(check.verdict(), "1 of 2 checks failed");
//! let failed = check.failed().next().expect("the peak is 23.3 MiB");
//! println!("{}: most is held by {}", failed.subject, failed.offenders[0].label.owner);
//! # Ok::<(), String>(())
//! ```

mod against;
mod budget;
mod growth_limit;
mod json;
mod limit;
mod markdown;
mod offenders;
mod pattern;
mod percent;
mod subject;
mod text;

use serde::Serialize;

use crate::diff::{Amount, Per, Recording};
use crate::profile::{Measure, State};
use crate::report::escape;

pub use against::{Tolerances, check_against};
pub use budget::{Budget, LONGEST, parse};
pub use growth_limit::{GrowthLimit, MostGrowth, check_growth, parse_growth};
pub use json::{FORMAT, write_json};
pub use limit::{Limit, Most, check_limit};
pub use markdown::write_markdown;
pub use offenders::Offender;
pub use pattern::Pattern;
pub use percent::parse_percent;
pub use subject::Subject;
pub use text::write_text;

/// Explains why a limit on `copied` is refused.
pub const COPIED: &str = "how many bytes growth copies depends on the allocator, so a limit on `copied` \
    breaks when the allocator changes; set allow_copied = true (--allow-copied) to keep the limit, \
    or limit `grows` instead";

/// The results of all limits.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Check {
    /// The checked recording.
    pub recording: String,
    /// The state of the recording, which names the measures.
    pub state: State,
    /// Each limit, in the order it was given.
    pub outcomes: Vec<Outcome>,
    /// Warnings about the figures.
    pub warnings: Vec<String>,
}

impl Check {
    /// Creates a check of a recording that has no outcomes yet. The losses of the recording are its
    /// warnings.
    pub fn new(recording: &Recording<'_>) -> Check {
        Check {
            recording: recording.name.to_owned(),
            state: recording.profile.process().state,
            outcomes: Vec::new(),
            warnings: recording.profile.losses().to_vec(),
        }
    }

    /// Returns the outcomes that exceed their limit.
    pub fn failed(&self) -> impl Iterator<Item = &Outcome> {
        self.outcomes.iter().filter(|outcome| outcome.has_failed())
    }

    /// Returns `2 of 5 checks failed`, `all 5 checks passed`.
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

/// The result of a limit. The names are the keys in JSON.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Outcome {
    /// The subject of the limit: `total`, `field "Catalog.**"`.
    pub subject: String,
    /// The limited measure.
    #[serde(flatten, serialize_with = "escape::measure")]
    pub measure: Measure,
    /// The unit of input that the figure is divided by.
    pub per: Option<Per>,
    /// The status of the figure.
    pub status: Status,
    /// The measured figure.
    pub value: Amount,
    /// The largest allowed value.
    pub most: Most,
    /// The earlier figure, if there is one; the limit is this figure plus the tolerance.
    pub base: Option<Amount>,
    /// The largest error of the measured figure: the error bound of the peak, 0 = exact.
    #[serde(rename = "error_bound")]
    pub bound: f64,
    /// The largest sites; empty if the check passed.
    pub offenders: Vec<Offender>,
}

impl Outcome {
    /// Returns `true` if the figure exceeds its limit.
    pub fn has_failed(&self) -> bool {
        self.status == Status::Failed
    }
}

/// The status of a figure with a limit. The names are those of JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Status {
    /// The figure keeps its limit.
    Passed,
    /// The error bound of the peak, or the spread of several recordings, is too large to decide.
    /// The check passes.
    Unsure,
    /// The figure exceeds its limit by more than the error bound.
    Failed,
}

impl Status {
    /// Returns the status of a figure with an error of at most `bound`.
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
