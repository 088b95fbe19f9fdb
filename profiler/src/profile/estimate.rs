//! Estimates of recordings that sample: the samples behind a figure, and the interval in which the
//! exact figure lies.
//!
//! A block of `s` bytes is sampled with the probability `p = 1 - exp(-s / R)`, R being the mean
//! number of bytes from one sample to the next. A sum over samples has three parts: the estimate,
//! the sum of `s / p`; its variance, the sum of `s^2 (1 - p) / p^2`; and what was seen, the sum of
//! the sampled sizes. The [interval](Estimated::interval) is computed from these alone, and nowhere
//! else.

use crate::units::{Bytes, Nanos, counted};

/// A sum over samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SampledSum {
    /// The estimate.
    pub(crate) estimate: u64,
    /// The variance, divided by the mean R: small blocks add R to it, as to the estimate.
    pub(crate) variance: u64,
    /// The sum of what was sampled.
    pub(crate) seen: u64,
    /// The estimated number of blocks. What a figure has beyond that was counted exactly.
    pub(crate) blocks: u64,
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
        }
    }

    /// Returns the sum of the blocks, of a figure with so many.
    fn of_blocks(self, figure: u64) -> SampledSum {
        let estimate = self.blocks.min(figure);
        SampledSum {
            // A block that was seen is certain.
            seen: u64::from(self.seen > 0).min(estimate),
            ..SampledSum::at_most(estimate)
        }
    }

    fn add(&mut self, other: SampledSum) {
        self.estimate = self.estimate.saturating_add(other.estimate);
        self.variance = self.variance.saturating_add(other.variance);
        self.seen = self.seen.saturating_add(other.seen);
        self.blocks = self.blocks.saturating_add(other.blocks);
    }
}

/// The samples behind the figures of a row. All zero in a recording without samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Samples {
    /// The largest mean number of bytes from one sample to the next; 0 = every event was recorded.
    pub(crate) mean: u64,
    /// Number of samples of allocated blocks.
    pub(crate) hits: u64,
    /// The size of the smallest sampled block; 0 = none.
    pub(crate) least_bytes: u64,
    pub(crate) total: SampledSum,
    pub(crate) live: SampledSum,
    pub(crate) peak: SampledSum,
}

impl Samples {
    /// The samples of a row of which only the figures are known.
    pub(crate) fn at_most(mean: u64, [total, live, peak]: [u64; 3]) -> Samples {
        Samples {
            mean,
            hits: 0,
            least_bytes: 0,
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
        self.hits
    }

    /// Adds the samples of another row.
    pub(crate) fn add(&mut self, other: &Samples) {
        self.mean = self.mean.max(other.mean);
        self.hits = self.hits.saturating_add(other.hits);
        self.least_bytes = match (self.least_bytes, other.least_bytes) {
            (0, least) | (least, 0) => least,
            (one, other) => one.min(other),
        };
        self.total.add(other.total);
        self.live.add(other.live);
        self.peak.add(other.peak);
    }
}

/// The smallest and the largest value that a figure may have, with a confidence of 95 %.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// The smallest value.
    pub low: u64,
    /// The largest value.
    pub high: u64,
}

/// The probability that the exact figure is below, and that it is above an interval.
const TAIL: f64 = 0.025;
/// The distance of a normal variable from its mean, in standard deviations, with that probability.
const DEVIATIONS: f64 = 1.959_963_985;

/// Bytes of a place that was never sampled, in means: it allocated less with a confidence of 95 %,
/// from one side.
const MOST_UNSEEN: f64 = 2.996;

/// An estimate by samples of weight at most `weight`.
struct Estimated {
    estimate: f64,
    variance: f64,
    seen: f64,
    weight: f64,
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
        let high = variance / estimate * quantile(shape, 1.0 - TAIL);
        if self.variance <= 0.0 || self.estimate <= 0.0 {
            return (self.estimate.max(self.seen), high);
        }
        let shape = self.estimate * self.estimate / self.variance;
        let low = self.variance / self.estimate * conditional_quantile(shape);
        (low.max(self.seen), high)
    }
}

/// Shapes above this have quantiles by the approximation of Wilson and Hilferty, which is then
/// closer than a millionth.
const LARGE_SHAPE: f64 = 500.0;

/// Returns the quantile of a gamma distribution of scale 1.
fn quantile(shape: f64, probability: f64) -> f64 {
    if shape > LARGE_SHAPE {
        return approximate(shape, DEVIATIONS);
    }
    solve(shape, |x| gamma_p(shape, x) < probability)
}

/// Returns the lower quantile, given that a Poisson variable with that mean was not 0.
fn conditional_quantile(shape: f64) -> f64 {
    if shape > LARGE_SHAPE {
        return approximate(shape, -DEVIATIONS);
    }
    solve(shape, |x| gamma_p(shape, x) < TAIL * -(-x).exp_m1())
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
    let exact = figure.saturating_sub(sampled.estimate);
    let (low, high) = Estimated {
        estimate: sampled.estimate as f64,
        variance: sampled.variance as f64 * weight,
        seen: sampled.seen as f64,
        weight,
    }
    .interval();
    Interval {
        low: exact.saturating_add(low.floor() as u64).min(figure),
        high: exact.saturating_add(high.ceil() as u64).max(figure),
    }
}

impl Samples {
    /// Returns the interval of a figure. `mean_block_bytes` is the mean size of the row's blocks.
    pub(super) fn interval(
        &self,
        key: &str,
        value: u64,
        mean_block_bytes: Option<u64>,
    ) -> Interval {
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
            // The blocks that one sample stands for, unless unseen blocks are smaller than all that
            // were seen.
            _ => {
                let least = match self.least_bytes {
                    0 => mean_block_bytes.unwrap_or(1),
                    least => least,
                };
                let x = least.max(1) as f64 / mean;
                let weight = 1.0 / -(-x).exp_m1();
                let sum = match key {
                    "total_blocks" => self.total.of_blocks(value),
                    "live_blocks" => self.live.of_blocks(value),
                    "peak_blocks" => self.peak.of_blocks(value),
                    "temporary_blocks" => SampledSum::at_most(self.total.of_blocks(value).estimate),
                    _ => SampledSum::at_most(value),
                };
                of_sum(value, sum, weight)
            }
        }
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
             listed allocated less than {}, with the same confidence.",
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
