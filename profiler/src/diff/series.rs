//! The figures of the recordings of a side, and the difference of two sides.

use std::cmp::Ordering;

use serde::Serialize;

use crate::units::signed_percent;

/// A figure, or a figure for each record or byte of input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Amount {
    /// The figure, as the report has it.
    pub value: u64,
    /// The divisor; 1 = undivided.
    pub count: u64,
}

impl Amount {
    /// Creates the quotient of `value` and `count`.
    pub fn new(value: u64, count: u64) -> Amount {
        Amount {
            value,
            count: count.max(1),
        }
    }

    /// Returns the quotient.
    pub fn ratio(self) -> f64 {
        self.value as f64 / self.count as f64
    }

    /// Adds a figure of the same recording.
    pub(super) fn plus(self, other: Amount) -> Amount {
        if self.value == 0 {
            return other;
        }
        Amount::new(self.value.saturating_add(other.value), self.count)
    }

    fn order(self, other: Amount) -> Ordering {
        let product = |value: u64, count: u64| u128::from(value) * u128::from(count);
        product(self.value, other.count).cmp(&product(other.value, self.count))
    }
}

/// One figure in each recording of a side. The names are the keys in JSON; a side without
/// recordings has 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Series {
    /// The median: always the figure of one recording. For an even number of recordings it is the
    /// lower of the two in the middle.
    pub median: Amount,
    /// The smallest figure.
    pub min: Amount,
    /// The largest figure.
    pub max: Amount,
    /// The figures, in the order of the recordings.
    pub values: Vec<Amount>,
}

impl Series {
    /// Creates the series of the recordings, in their order.
    pub fn new(values: Vec<Amount>) -> Series {
        let mut sorted = values.clone();
        sorted.sort_by(|a, b| a.order(*b));
        let last = sorted.len().saturating_sub(1);
        let ranked = |index: usize| sorted.get(index).copied().unwrap_or(Amount::new(0, 1));
        Series {
            median: ranked(last / 2),
            min: ranked(0),
            max: ranked(last),
            values,
        }
    }

    /// Returns `true` if recordings of the side differ.
    pub fn is_spread(&self) -> bool {
        self.min.order(self.max) == Ordering::Less
    }
}

/// The meaning of the difference of two sides. The names are those of JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Verdict {
    /// All figures of both sides are equal.
    Equal,
    /// No larger than the error bounds of the two peaks together, or than the intervals of both
    /// estimates allow.
    #[serde(rename = "within_error_bound")]
    WithinBound,
    /// The ranges of the two sides overlap.
    WithinSpread,
    /// Not known: both figures are lower bounds, because not all blocks were sampled.
    NotKnown,
    /// The second side has more.
    More,
    /// The second side has less.
    Less,
}

/// One figure on both sides.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Change {
    /// The first side.
    pub base: Series,
    /// The second side.
    pub new: Series,
    /// The largest error of the difference: the error bounds of the two peaks together, 0 = exact.
    pub bound: f64,
    /// The ends of the interval of the difference, with a confidence of 95 %, if the figures are
    /// estimates; infinite if nothing is known of the difference.
    pub interval: Option<(f64, f64)>,
    /// The meaning of the difference.
    pub verdict: Verdict,
}

impl Change {
    /// Compares two sides whose figures may be off by `bounds`.
    pub fn new(base: Series, new: Series, bounds: [f64; 2]) -> Change {
        let mut change = Change {
            base,
            new,
            bound: bounds[0] + bounds[1],
            interval: None,
            verdict: Verdict::Equal,
        };
        change.verdict = change.judge();
        change
    }

    /// Makes this a difference of estimates, which are off by at most these distances, downward and
    /// upward, with a confidence of 95 % each.
    #[must_use]
    pub(crate) fn of_estimates(mut self, base: (f64, f64), new: (f64, f64)) -> Change {
        // The errors of both sides are independent (method of variance estimates recovery, Zou and
        // Donner 2008).
        let difference = self.difference();
        let low = difference - new.0.hypot(base.1);
        let high = difference + new.1.hypot(base.0);
        self.bound = (difference - low).max(high - difference);
        self.interval = Some((low, high));
        self.verdict = self.judge();
        self
    }

    /// Returns `true` if the difference is known, if only within bounds.
    pub fn is_known(&self) -> bool {
        self.interval
            .is_none_or(|(low, high)| low.is_finite() && high.is_finite())
    }

    fn judge(&self) -> Verdict {
        if !self.is_known() {
            return Verdict::NotKnown;
        }
        let order = self.base.median.order(self.new.median);
        if self.base.is_spread() || self.new.is_spread() {
            let is_below = self.base.max.order(self.new.min).is_lt();
            let is_above = self.new.max.order(self.base.min).is_lt();
            if !is_below && !is_above {
                return Verdict::WithinSpread;
            }
        }
        match order {
            Ordering::Equal => Verdict::Equal,
            _ if self.is_within_bound() => Verdict::WithinBound,
            Ordering::Less => Verdict::More,
            Ordering::Greater => Verdict::Less,
        }
    }

    /// Returns `true` if the difference may be none.
    fn is_within_bound(&self) -> bool {
        match self.interval {
            Some((low, high)) => low <= 0.0 && high >= 0.0,
            // A bound of 0 is no bound.
            None => self.bound > 0.0 && self.difference().abs() <= self.bound,
        }
    }

    /// The median of the second side minus that of the first.
    pub fn difference(&self) -> f64 {
        match self.exact_difference() {
            Some(exact) => exact as f64,
            None => self.new.median.ratio() - self.base.median.ratio(),
        }
    }

    /// The difference to the byte; `None` of figures divided by the input.
    pub fn exact_difference(&self) -> Option<i128> {
        let (base, new) = (self.base.median, self.new.median);
        let whole = base.count == 1 && new.count == 1;
        whole.then(|| i128::from(new.value) - i128::from(base.value))
    }

    /// The difference as a part of the first side; `None` when that has nothing.
    pub fn relative(&self) -> Option<f64> {
        let base = self.base.median;
        (base.value > 0).then(|| self.difference() / base.ratio())
    }

    /// Formats the change for people: `+14.6 %`, `12 x`; empty if the first side has nothing.
    pub fn percent(&self) -> String {
        match self.relative().filter(|_| self.is_known()) {
            None => String::new(),
            Some(part) if part != 0.0 && part.abs() < 0.000_5 => {
                let sign = if part < 0.0 { '-' } else { '+' };
                format!("{sign}<0.1 %")
            }
            Some(part) if part >= 999.0 => ">1000 x".to_owned(),
            Some(part) if part >= 9.0 => format!("{:.0} x", part + 1.0),
            Some(0.0) => "0.0 %".to_owned(),
            Some(part) => signed_percent(part),
        }
    }
}
