//! Memory budgets: deserializing fails with an ordinary error of the format if it takes too much
//! memory.
//!
//! The figures are those of [`measured`](heapglass_recorder::measured): exact, for this thread,
//! with or without a recording. They are compared at each boundary of the data, so a single
//! allocation may exceed the budget before it is noticed.

mod active;
mod path;

pub(super) use active::{check, in_field, is_running};

use super::Profiled;
use active::in_force;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error};
use std::marker::PhantomData;

/// A memory limit for deserializing, in total and for single fields.
///
/// It applies to every [`Profiled`] that is deserialized in [`run`](Budget::run), in any format:
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
/// The error is one of the format. serde_json, rmp-serde and most other formats keep the whole
/// message; postcard keeps none of it ("Serde Deserialization Error").
///
/// A field is named by its path, as in reports. In a format without names (postcard, bincode), the
/// fields of a struct are assumed to be in the order of the names that its type gives. An `alias`
/// may break that order; see the table of `Profiled`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use = "a budget does nothing until `run` or `seed`"]
pub struct Budget {
    limits: Limits,
    fields: Vec<(String, Limits)>,
}

/// Allowed bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Limits {
    live: Option<u64>,
    total: Option<u64>,
    amplified: Option<Amplified>,
}

/// Allowed live bytes for an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Amplified {
    live: u64,
    input_bytes: u64,
}

impl Budget {
    /// Creates a budget without limits.
    pub fn new() -> Budget {
        Budget::default()
    }

    /// Limits the bytes live at once: those allocated since the budget began (for a field: since
    /// that value began), minus those freed.
    pub fn live_bytes(mut self, bytes: u64) -> Budget {
        self.limits.live = Some(bytes);
        self
    }

    /// Limits the total bytes allocated; a realloc counts its full new size.
    pub fn total_bytes(mut self, bytes: u64) -> Budget {
        self.limits.total = Some(bytes);
        self
    }

    /// Limits the bytes live at once to `times` bytes for each byte of the input. A fuzzer then
    /// finds the inputs of which a few bytes make the program hold many:
    ///
    /// ```
    /// # #[global_allocator] static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();
    /// use tracking_alloc::{Budget, Profiled};
    ///
    /// // In a fuzz target, panic if the error names the budget.
    /// let input = format!("[{}0]", "0,".repeat(1000));
    /// let budget = Budget::new().amplification(3.0, input.len());
    /// let list = budget.run(|| serde_json::from_str::<Profiled<Vec<u64>>>(&input));
    /// let error = list.err().unwrap().to_string();
    /// assert!(error.contains("bytes live for 2003 bytes of input, 6009 allowed"), "{error}");
    /// ```
    ///
    /// Small inputs need some bytes of their own: skip those below a few hundred bytes, or set
    /// [`live_bytes`](Budget::live_bytes) in their place.
    pub fn amplification(mut self, times: f64, input_bytes: usize) -> Budget {
        let input_bytes = input_bytes as u64;
        // A conversion of floats saturates, and makes 0 of what is no number.
        let live = (times * input_bytes as f64) as u64;
        self.limits.amplified = Some(Amplified { live, input_bytes });
        self
    }

    /// Limits each value at a path, such as `Fleet.vessels[].crew`. Fields of `budget` itself
    /// continue that path: `.first` is then `Fleet.vessels[].crew.first`. If a path is given twice,
    /// the last budget applies.
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

    /// Runs `work` within this budget. All values that it deserializes as [`Profiled`] in this
    /// thread share the budget. Budgets nest, and all of them apply.
    ///
    /// # Panics
    /// If `TrackingAlloc` is not the global allocator, with the two lines to add, because the limit
    /// would have no effect.
    pub fn run<R>(&self, work: impl FnOnce() -> R) -> R {
        heapglass_recorder::assert_observing("Budget");
        self.run_counted(work)
    }

    /// Returns a seed that deserializes a `T` within this budget, for a format's own deserializer:
    /// `budget.seed::<T>().deserialize(&mut deserializer)?`.
    pub fn seed<T>(self) -> ProfiledSeed<T> {
        ProfiledSeed {
            budget: self,
            value: PhantomData,
        }
    }

    fn run_counted<R>(&self, work: impl FnOnce() -> R) -> R {
        heapglass_recorder::measured(|| in_force(self.limits, None, &self.fields, work)).0
    }
}

/// A seed that deserializes a `T` within a [`Budget`]. Made by [`Budget::seed`].
#[derive(Clone, Debug)]
pub struct ProfiledSeed<T> {
    budget: Budget,
    value: PhantomData<fn() -> T>,
}

impl<'de, T: Deserialize<'de>> DeserializeSeed<'de> for ProfiledSeed<T> {
    type Value = T;

    /// # Errors
    /// The errors of the format. Also if the budget is exceeded, or if `TrackingAlloc` is not the
    /// global allocator.
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<T, D::Error> {
        if !heapglass_recorder::is_observing() {
            return Err(D::Error::custom(heapglass_recorder::NOT_INSTALLED));
        }
        self.budget
            .run_counted(|| Profiled::deserialize(d))
            .map(|profiled| profiled.0)
    }
}
