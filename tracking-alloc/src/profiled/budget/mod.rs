//! Memory budgets: a decode that would take more than it may fails with an ordinary error of its
//! format.
//!
//! Figures are those of [`measure`](crate::measure()): this thread's, exact, also when nothing
//! records. They are compared at each boundary of the data, so a single allocation may overshoot
//! before it is seen.

mod active;
mod path;

pub(super) use active::{check, in_field, is_running};

use super::Profiled;
use crate::{measure, probe};
use active::in_force;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error};
use std::marker::PhantomData;

/// How much memory deserializing may take: in total, and within single fields.
///
/// Applies to every [`Profiled`] that is deserialized in [`run`](Budget::run), whatever the format:
///
/// ```
/// # #[global_allocator] static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();
/// use tracking_alloc::{Budget, Profiled};
///
/// #[derive(serde::Deserialize)]
/// struct Fleet { vessels: Vec<String> }
///
/// let hostile = format!(r#"{{"vessels": ["{}"]}}"#, "x".repeat(5000));
/// let budget = Budget::new()
///     .live_bytes(1 << 20)
///     .field("Fleet.vessels", Budget::new().live_bytes(4096));
/// let error = budget.run(|| serde_json::from_str::<Profiled<Fleet>>(&hostile)).err().unwrap();
/// assert!(error.to_string().starts_with("memory budget exceeded at Fleet.vessels: "));
/// ```
///
/// The error is the format's own, with what it keeps of other people's words: serde_json, rmp-serde
/// and most others all of them, postcard none ("Serde Deserialization Error").
///
/// A field is named by its path as reports spell it. Where a format tells no names (postcard,
/// bincode), a struct's fields are taken to be in the order of the names its type gives, which
/// `alias` may disturb: see the table of `Profiled`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use = "a budget does nothing until `run` or `seed`"]
pub struct Budget {
    limits: Limits,
    fields: Vec<(String, Limits)>,
}

/// Bytes allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Limits {
    live: Option<u64>,
    total: Option<u64>,
}

impl Budget {
    /// No limit yet.
    pub fn new() -> Budget {
        Budget::default()
    }

    /// Bytes that may be live at once: allocated since the budget began (for a field: since that
    /// value began), less those freed.
    pub fn live_bytes(mut self, bytes: u64) -> Budget {
        self.limits.live = Some(bytes);
        self
    }

    /// Bytes that may be allocated altogether, reallocs counted with their new size.
    pub fn total_bytes(mut self, bytes: u64) -> Budget {
        self.limits.total = Some(bytes);
        self
    }

    /// A budget for each value at a path, such as `Fleet.vessels[].crew`. Fields of `budget` itself
    /// go on from that path: `.first` is then `Fleet.vessels[].crew.first`. A path given twice has
    /// its last budget.
    pub fn field(mut self, path: &str, budget: Budget) -> Budget {
        let inner = budget
            .fields
            .into_iter()
            .map(|(rest, limits)| (format!("{path}{rest}"), limits));
        for (path, limits) in std::iter::once((path.to_owned(), budget.limits)).chain(inner) {
            self.fields.retain(|(known, _)| *known != path);
            self.fields.push((path, limits));
        }
        self
    }

    /// Runs `work`: what it deserializes as [`Profiled`] in this thread shares the budget. Budgets
    /// nest; all apply.
    ///
    /// # Panics
    /// When `TrackingAlloc` is not the global allocator, with the two lines to add: never a limit
    /// that holds nothing.
    pub fn run<R>(&self, work: impl FnOnce() -> R) -> R {
        probe::assert_installed("Budget");
        self.run_counted(work)
    }

    /// A seed that deserializes a `T` within this budget, for a format's own deserializer:
    /// `budget.seed::<T>().deserialize(&mut deserializer)?`.
    pub fn seed<T>(self) -> ProfiledSeed<T> {
        ProfiledSeed {
            budget: self,
            value: PhantomData,
        }
    }

    fn run_counted<R>(&self, work: impl FnOnce() -> R) -> R {
        measure::measured(|| in_force(self.limits, None, &self.fields, work)).0
    }
}

/// A seed that deserializes a `T` within a [`Budget`]: of [`Budget::seed`].
#[derive(Clone, Debug)]
pub struct ProfiledSeed<T> {
    budget: Budget,
    value: PhantomData<fn() -> T>,
}

impl<'de, T: Deserialize<'de>> DeserializeSeed<'de> for ProfiledSeed<T> {
    type Value = T;

    /// # Errors
    /// The format's own, and when the budget is exceeded or `TrackingAlloc` is not the global
    /// allocator.
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<T, D::Error> {
        if !probe::is_installed() {
            return Err(D::Error::custom(crate::error::NOT_INSTALLED));
        }
        self.budget
            .run_counted(|| Profiled::deserialize(d))
            .map(|profiled| profiled.0)
    }
}
