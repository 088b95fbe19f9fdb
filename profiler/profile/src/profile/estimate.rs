//! Estimates of recordings that sample: the samples behind a figure, and the interval in which the
//! exact figure lies.
//!
//! Bytes that were never sampled are bounded: there are hardly ever many more than the mean. Blocks
//! are not, because any number of tiny blocks fits between two samples. So a number of blocks, or
//! of other events, has a lower bound and no upper one.
//!
//! A block of `s` bytes is sampled with the probability `p = 1 - exp(-s / R)`, R being the mean
//! number of bytes from one sample to the next. A sum over samples has three parts: the estimate,
//! the sum of `s / p`; its variance, the sum of `s^2 (1 - p) / p^2`; and what was seen, the sum of
//! the sampled sizes. The [interval](Estimated::interval) is computed from these alone, and nowhere
//! else.

use std::fmt;

use crate::units::{Bytes, Count, Nanos, counted};

/// A sum over samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SampledSum {
    /// The estimate.
    pub estimate: u64,
    /// The variance, divided by the mean R: small blocks add R to it, as to the estimate.
    pub variance: u64,
    /// The sum of what was sampled.
    pub seen: u64,
    /// The estimated number of blocks. What a figure has beyond that was counted exactly.
    pub blocks: u64,
    /// The number of samples. Each is a block of its own, so these blocks are certain.
    pub hits: u64,
}

impl SampledSum {
    /// A sum whose variance is not known: it is at most that of very small blocks. Nor is the
    /// number of blocks: all that a figure has may be estimated.
    pub(crate) fn at_most(estimate: u64) -> SampledSum {
        SampledSum {
            estimate,
            variance: estimate,
            seen: 0,
            blocks: if estimate == 0 { 0 } else { u64::MAX },
            hits: 0,
        }
    }

    /// Returns the sum of the blocks, of a figure with so many.
    fn of_blocks(self, figure: u64) -> SampledSum {
        let estimate = self.blocks.min(figure);
        SampledSum {
            seen: self.hits.min(estimate),
            ..SampledSum::at_most(estimate)
        }
    }

    fn add(&mut self, other: SampledSum) {
        self.estimate = self.estimate.saturating_add(other.estimate);
        self.variance = self.variance.saturating_add(other.variance);
        self.seen = self.seen.saturating_add(other.seen);
        self.blocks = self.blocks.saturating_add(other.blocks);
        self.hits = self.hits.saturating_add(other.hits);
    }
}

/// The samples behind the figures of a row. All zero in a recording without samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Samples {
    /// The largest mean number of bytes from one sample to the next; 0 = every event was recorded.
    pub(crate) mean: u64,
    /// The size of the smallest sampled block; 0 = not known.
    pub least_bytes: u64,
    /// Bytes that were allocated, exactly, which no figure exceeds; 0 = not known.
    pub(crate) most_bytes: u64,
    /// Of allocations.
    pub total: SampledSum,
    /// Of live blocks.
    pub live: SampledSum,
    /// Of blocks live at the peak.
    pub peak: SampledSum,
}

impl Samples {
    /// The samples of a row that has none, in a recording whose samples are this many bytes apart.
    pub(crate) fn none(mean: u64) -> Samples {
        Samples {
            mean,
            ..Samples::default()
        }
    }

    /// The samples of a row of which only the figures are known.
    pub(crate) fn at_most(mean: u64, [total, live, peak]: [u64; 3]) -> Samples {
        Samples {
            mean,
            least_bytes: 0,
            most_bytes: 0,
            total: SampledSum::at_most(total),
            live: SampledSum::at_most(live),
            peak: SampledSum::at_most(peak),
        }
    }

    /// Returns what is known of these samples at another moment, at which so much was live.
    pub(super) fn of_live(&self, live_bytes: u64) -> Samples {
        Samples {
            mean: self.mean,
            least_bytes: self.least_bytes,
            live: SampledSum::at_most(live_bytes),
            ..Samples::default()
        }
    }

    /// Returns the number of samples of allocated blocks.
    pub fn hits(&self) -> u64 {
        self.total.hits
    }

    /// Adds the samples of another row.
    pub(crate) fn add(&mut self, other: &Samples) {
        self.mean = self.mean.max(other.mean);
        self.most_bytes = self.most_bytes.max(other.most_bytes);
        self.least_bytes = match (self.least_bytes, other.least_bytes) {
            (0, least) | (least, 0) => least,
            (one, other) => one.min(other),
        };
        self.total.add(other.total);
        self.live.add(other.live);
        self.peak.add(other.peak);
    }
}

/// The smallest and the largest value that a figure may have, with a confidence of 95 %. A figure
/// without an upper end is at least the lower one with a confidence of 97.5 %.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// The smallest value.
    pub low: u64,
    /// The largest value. `None` for blocks and other events: any number of small ones may never
    /// have been sampled.
    pub high: Option<u64>,
}

/// A number of blocks or of other events, as far as it is known. It reads `1,234` or `>=1,234`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number {
    /// The number, or its lower bound.
    pub value: u64,
    /// `true` if there may be more, because not all were sampled.
    pub is_lower_bound: bool,
}

impl Number {
    /// A number that is known.
    pub fn exact(value: u64) -> Number {
        Number {
            value,
            is_lower_bound: false,
        }
    }

    /// Formats the number with its noun: `1 block`, `at least 1,234 blocks`. `one` takes an `s` for
    /// more than one.
    pub fn of(self, one: &str) -> String {
        let counted = counted(self.value, one);
        if self.is_lower_bound {
            format!("at least {counted}")
        } else {
            counted
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = Count(self.value).to_string();
        if self.is_lower_bound {
            f.pad(&format!(">={count}"))
        } else {
            f.pad(&count)
        }
    }
}

/// The part of a distribution that lies beyond an end of an interval.
#[derive(Clone, Copy, Debug)]
struct Tail {
    probability: f64,
    /// The distance of a normal variable from its mean, in standard deviations, with that
    /// probability.
    deviations: f64,
}

/// The tail below, and above an interval.
const TAIL: Tail = Tail {
    probability: 0.025,
    deviations: 1.959_963_985,
};

/// The tail below a lower bound of blocks: smaller, so that the bound holds with 97.5 % although
/// the quantiles are approximate, and those of freed or temporary blocks more than others.
const BOUND_TAIL: Tail = Tail {
    probability: 0.01,
    deviations: 2.326_347_874,
};

/// Bytes of a place that was never sampled, in means: it allocated less with a confidence of 95 %,
/// from one side.
const MOST_UNSEEN: f64 = 2.996;

/// An estimate by samples of weight at most `weight`.
struct Estimated {
    estimate: f64,
    variance: f64,
    seen: f64,
    weight: f64,
    tail: Tail,
}

impl Estimated {
    /// Returns the interval. Its upper end is that of a scaled gamma distribution with one unseen
    /// sample more (Fay and Feuer 1997). Its lower end is the same without that sample, given that
    /// there was a sample at all, because a place without samples is not listed. What was seen is
    /// certain.
    fn interval(&self) -> (f64, f64) {
        let (estimate, weight) = (self.estimate + self.weight, self.weight);
        let variance = self.variance + weight * weight;
        let shape = estimate * estimate / variance;
        let high = variance / estimate * quantile(shape, self.tail);
        if self.variance <= 0.0 || self.estimate <= 0.0 {
            return (self.estimate.max(self.seen), high);
        }
        let shape = self.estimate * self.estimate / self.variance;
        let low = self.variance / self.estimate * conditional_quantile(shape, self.tail);
        (low.max(self.seen), high)
    }
}

/// Shapes above this have quantiles by the approximation of Wilson and Hilferty, which is then
/// closer than a millionth.
const LARGE_SHAPE: f64 = 500.0;

/// Returns the upper quantile of a gamma distribution of scale 1.
fn quantile(shape: f64, tail: Tail) -> f64 {
    if shape > LARGE_SHAPE {
        return approximate(shape, tail.deviations);
    }
    solve(shape, |x| gamma_p(shape, x) < 1.0 - tail.probability)
}

/// Returns the lower quantile, given that a Poisson variable with that mean was not 0.
fn conditional_quantile(shape: f64, tail: Tail) -> f64 {
    if shape > LARGE_SHAPE {
        return approximate(shape, -tail.deviations);
    }
    solve(shape, |x| {
        gamma_p(shape, x) < tail.probability * -(-x).exp_m1()
    })
}

fn approximate(shape: f64, deviations: f64) -> f64 {
    let root = 1.0 - 1.0 / (9.0 * shape) + deviations / (3.0 * shape.sqrt());
    shape * root * root * root
}

/// Returns the largest number that is below the quantile of a gamma distribution.
fn solve(shape: f64, is_below: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, shape + 20.0 * shape.sqrt() + 20.0);
    for _ in 0..32 {
        let middle = f64::midpoint(low, high);
        if is_below(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

/// Returns the regularized lower incomplete gamma function P(shape, x): by its series, or by its
/// continued fraction (Lentz).
fn gamma_p(shape: f64, x: f64) -> f64 {
    const ENOUGH: f64 = 1e-12;
    if x <= 0.0 {
        return 0.0;
    }
    let front = (-x + shape * x.ln() - ln_gamma(shape)).exp();
    if x < shape + 1.0 {
        let (mut sum, mut term, mut step) = (1.0 / shape, 1.0 / shape, shape);
        while term > sum * ENOUGH {
            step += 1.0;
            term *= x / step;
            sum += term;
        }
        return sum * front;
    }
    let mut divisor = x + 1.0 - shape;
    let (mut numerator, mut denominator) = (1e300, 1.0 / divisor);
    let mut fraction = denominator;
    for step in 1..10_000 {
        let step = f64::from(step);
        let factor = -step * (step - shape);
        divisor += 2.0;
        denominator = 1.0 / (factor * denominator + divisor);
        numerator = divisor + factor / numerator;
        let change = numerator * denominator;
        fraction *= change;
        if (change - 1.0).abs() < ENOUGH {
            break;
        }
    }
    1.0 - front * fraction
}

/// Returns the logarithm of the gamma function (Lanczos).
fn ln_gamma(x: f64) -> f64 {
    const COEFFICIENTS: [f64; 6] = [
        76.180_091_729_471_46,
        -86.505_320_329_416_77,
        24.014_098_240_830_91,
        -1.231_739_572_450_155,
        0.120_865_097_386_617_9e-2,
        -0.539_523_938_495_3e-5,
    ];
    let shifted = x + 5.5 - (x + 0.5) * (x + 5.5).ln();
    let mut series = 1.000_000_000_190_015;
    for (index, coefficient) in (1_u8..).zip(COEFFICIENTS) {
        series += coefficient / (x + f64::from(index));
    }
    (2.506_628_274_631_000_5 * series / x).ln() - shifted
}

/// Returns the interval of a figure of which `sampled` is estimated and the rest is exact. `weight`
/// is the largest that a sample may have.
fn of_sum(figure: u64, sampled: SampledSum, weight: f64) -> Interval {
    with_tail(figure, sampled, (weight, TAIL))
}

/// Returns the interval with these tails.
fn with_tail(figure: u64, sampled: SampledSum, (weight, tail): (f64, Tail)) -> Interval {
    let exact = figure.saturating_sub(sampled.estimate);
    let (low, high) = Estimated {
        estimate: sampled.estimate as f64,
        variance: sampled.variance as f64 * weight,
        seen: sampled.seen as f64,
        weight,
        tail,
    }
    .interval();
    Interval {
        low: exact.saturating_add(low.floor() as u64).min(figure),
        high: Some(exact.saturating_add(high.ceil() as u64).max(figure)),
    }
}

impl Samples {
    /// Returns the interval of a figure.
    pub(super) fn interval(&self, key: &str, value: u64) -> Interval {
        let Interval { low, high } = self.unlimited(key, value);
        let most = match self.most_bytes {
            0 => u64::MAX,
            most => most.max(value),
        };
        Interval {
            low,
            high: high.map(|high| high.min(most)),
        }
    }

    fn unlimited(&self, key: &str, value: u64) -> Interval {
        let mean = self.mean as f64;
        match key {
            "total_bytes" => of_sum(value, self.total, mean),
            "live_bytes" => of_sum(value, self.live, mean),
            "peak_bytes" => of_sum(value, self.peak, mean),
            // Temporary blocks are a part of those that the row allocated.
            "temporary_bytes" => {
                let estimate = self.total.estimate.min(value);
                of_sum(value, SampledSum::at_most(estimate), mean)
            }
            _ if key.ends_with("_bytes") => of_sum(value, SampledSum::at_most(value), mean),
            _ => Interval {
                low: self.least_count(key, value),
                high: None,
            },
        }
    }

    /// Returns the smallest number of blocks, or of other events, that there can have been with a
    /// confidence of 97.5 %: never less than those that were sampled.
    fn least_count(&self, key: &str, value: u64) -> u64 {
        let total = self.total.of_blocks(value);
        let sum = match key {
            "total_blocks" => total,
            "live_blocks" => self.live.of_blocks(value),
            "peak_blocks" => self.peak.of_blocks(value),
            "freed_blocks" => SampledSum {
                hits: self.total.hits.saturating_sub(self.live.hits),
                ..self.total
            }
            .of_blocks(value),
            // These are a part of the blocks that the row allocated.
            _ => SampledSum::at_most(total.estimate),
        };
        // Some block or event is behind a figure that is not 0.
        let certain = value.min(1).max(sum.seen);
        // The most blocks that one sample stands for: those that were sampled are no smaller, and
        // a block that was not is no part of the estimate.
        let x = self.least_bytes.max(1) as f64 / self.mean as f64;
        let weight = 1.0 / -(-x).exp_m1();
        // The peak is where the estimate is largest, so chance makes it too high.
        let too_high = match key {
            "peak_blocks" => sum.estimate.min(weight.ceil() as u64),
            _ => 0,
        };
        let sum = SampledSum {
            estimate: sum.estimate - too_high,
            variance: sum.variance - too_high,
            ..sum
        };
        let bounded = with_tail(value - too_high, sum, (weight, BOUND_TAIL));
        bounded.low.max(certain)
    }
}

/// The samples of a recording. The names are the keys in JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sampling {
    /// The mean number of bytes from one sample to the next, at the end.
    pub sample_bytes: u64,
    /// The largest mean.
    pub most_sample_bytes: u64,
    /// Number of times the mean was changed.
    pub changes: u64,
    /// Nanoseconds from the start to the first sample that could be taken. Before that, every
    /// event was recorded.
    pub since_ns: u64,
    /// Bytes allocated, exactly.
    pub total_bytes: u64,
    /// Blocks allocated, exactly, if they were counted.
    pub total_blocks: Option<u64>,
    /// Bytes freed, exactly, if they were counted.
    pub freed_bytes: Option<u64>,
    /// Blocks freed, exactly, if they were counted.
    pub freed_blocks: Option<u64>,
}

impl Sampling {
    /// Returns the exact figure of the process with a key, if it was counted.
    pub fn exact(&self, key: &str) -> Option<u64> {
        match key {
            "total_bytes" => Some(self.total_bytes),
            "total_blocks" => self.total_blocks,
            "freed_bytes" => self.freed_bytes,
            "freed_blocks" => self.freed_blocks,
            _ => None,
        }
    }

    /// Returns the sentence that says what the estimates are worth. `hits` is the number of
    /// samples; `figures` is the
    /// subject of the sentence.
    pub fn explained(&self, figures: &str, hits: u64) -> String {
        let begun = match self.since_ns {
            0 => String::new(),
            since => format!(", taken from {} on (all before is exact)", Nanos(since)),
        };
        let changes = match self.changes {
            0 => String::new(),
            _ => format!(
                " The mean was changed ({}, at most {}).",
                counted(self.changes, "time"),
                Bytes(self.most_sample_bytes)
            ),
        };
        format!(
            "{figures} are estimates from {}, one for each {} allocated on average{begun}.{changes} \
             The exact figure lies in its interval with a confidence of 95 %. Each place that is not \
             listed allocated less than {}, with the same confidence. Blocks and reallocations are \
             lower bounds, because small ones may never have been sampled.",
            counted(hits, "sample"),
            Bytes(self.sample_bytes),
            Bytes(self.most_unlisted_bytes())
        )
    }

    /// Returns the most bytes that a place that is not listed has allocated, with a confidence of
    /// 95 %.
    pub fn most_unlisted_bytes(&self) -> u64 {
        (self.most_sample_bytes as f64 * MOST_UNSEEN).ceil() as u64
    }
}

#[cfg(test)]
mod tests;
