//! The arithmetic of samples. It calls no mathematical function of libc, because the preloaded
//! library must not need one more library.

use crate::accounting::Amount;
use tracking_alloc_recording::Sampled;

/// The blocks that a sample stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Weight {
    /// The requested size of the sampled block.
    pub(crate) size: u64,
    /// Blocks and bytes. Whole numbers, rounded up or down at random, so that their sums stay
    /// unbiased.
    pub(crate) amount: Amount,
    pub(crate) variance: f64,
}

impl Weight {
    /// Returns the weight of a block of `size` bytes, sampled with this mean.
    pub(crate) fn of(size: u64, mean: u64, random: Draw) -> Weight {
        let bytes = size as f64;
        let p = one_less_exp(bytes / mean as f64);
        let round = |number: f64, draw: f64| (number + draw) as u64;
        Weight {
            size,
            amount: Amount {
                blocks: round(1.0 / p, random.first),
                bytes: round(bytes / p, random.second),
            },
            variance: bytes * bytes * (1.0 - p) / (p * p),
        }
    }

    /// Returns the weight of the same blocks, all reallocated to `size` while nothing is sampled.
    pub(crate) fn resized(self, size: u64) -> Weight {
        let ratio = size as f64 / self.size as f64;
        Weight {
            size,
            amount: Amount {
                blocks: self.amount.blocks,
                bytes: (self.amount.bytes as f64 * ratio).round() as u64,
            },
            variance: self.variance * ratio * ratio,
        }
    }

    /// Returns the part of the weight that `part` of the block's bytes have.
    pub(crate) fn share(self, part: u64) -> Amount {
        let bytes = u128::from(self.amount.bytes) * u128::from(part.min(self.size));
        Amount {
            blocks: self.amount.blocks,
            bytes: (bytes / u128::from(self.size.max(1))) as u64,
        }
    }

    /// Returns the figures of this one sample.
    pub(crate) fn sampled(self) -> Sampled {
        Sampled {
            hits: 1,
            blocks: self.amount.blocks,
            bytes: self.amount.bytes,
            seen_bytes: self.size,
            variance: self.variance,
        }
    }
}

/// Two random numbers, at least 0 and less than 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draw {
    pub(crate) first: f64,
    pub(crate) second: f64,
}

/// Returns `1 - exp(-x)` of a number that is not negative, without loss of precision near 0.
fn one_less_exp(x: f64) -> f64 {
    // Beyond this, the result is 1 in the precision of the type.
    if x > 40.0 {
        return 1.0;
    }
    let (mut x, mut halvings) = (x, 0);
    while x > 1.0 / 16.0 {
        x /= 2.0;
        halvings += 1;
    }
    // x - x^2/2! + x^3/3! - ..., from the last term.
    let mut series = 0.0;
    for divisor in (2..=10).rev() {
        series = (1.0 - series) * x / f64::from(divisor);
    }
    let mut result = x * (1.0 - series);
    // 1 - exp(-2x) = (1 - exp(-x)) (1 + exp(-x)).
    for _ in 0..halvings {
        result *= 2.0 - result;
    }
    result
}

/// Returns the natural logarithm of a positive normal number.
fn ln(number: f64) -> f64 {
    const MANTISSA: u64 = (1 << 52) - 1;
    let bits = number.to_bits();
    let mut exponent = (bits >> 52) as i32 - 1023;
    let mut mantissa = f64::from_bits(bits & MANTISSA | 1023 << 52);
    if mantissa > std::f64::consts::SQRT_2 {
        mantissa /= 2.0;
        exponent += 1;
    }
    // 2 (z + z^3/3 + z^5/5 + ...), from the last term; z is at most 0.172.
    let z = (mantissa - 1.0) / (mantissa + 1.0);
    let mut series = 0.0;
    for divisor in [21, 19, 17, 15, 13, 11, 9, 7, 5, 3] {
        series = (series + 1.0 / f64::from(divisor)) * z * z;
    }
    f64::from(exponent) * std::f64::consts::LN_2 + 2.0 * z * (1.0 + series)
}

/// Returns the bytes of a countdown. `uniform` is above 0 and at most 1. Rounded up, so that a
/// block is sampled exactly when the rest of the countdown is at most its size.
pub(super) fn exponential(mean: u64, uniform: f64) -> i64 {
    (-ln(uniform) * mean as f64).ceil() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_near(one: f64, other: f64) -> bool {
        (one - other).abs() <= 1e-14 * other.abs().max(1e-300)
    }

    #[test]
    fn functions_agree_with_those_of_libc() {
        let mut x = 1e-12;
        while x < 60.0 {
            let (own, other) = (one_less_exp(x), -(-x).exp_m1());
            assert!(is_near(own, other), "1 - exp(-{x}): {own} {other}");
            x *= 1.37;
        }
        let mut x = 1.0 / (1_u64 << 53) as f64;
        while x < 1.0 {
            let (own, other) = (ln(x), x.ln());
            assert!(is_near(own, other), "ln({x}): {own} {other}");
            x *= 1.41;
        }
        assert_eq!(ln(1.0), 0.0);
        // A countdown of 0: the next block is sampled, whatever its size.
        assert_eq!(exponential(512 << 10, 1.0), 0);
    }

    const HALF: Draw = Draw {
        first: 0.5,
        second: 0.5,
    };

    #[test]
    fn small_blocks_stand_for_the_mean_and_large_ones_for_themselves() {
        let mean = 512 << 10;
        let small = Weight::of(16, mean, HALF);
        assert_eq!(small.amount.bytes, mean + 8);
        assert_eq!(small.amount.blocks, 32_769);
        assert!((small.variance / (mean * mean) as f64 - 1.0).abs() < 1e-4);
        let large = Weight::of(1 << 30, mean, HALF);
        assert_eq!(large.amount, Amount::one(1 << 30));
        assert!(large.variance < 1.0);
        assert_eq!(small.share(4).bytes, (mean + 8) / 4);
        let moved = small.resized(32);
        assert_eq!(
            (moved.amount.blocks, moved.amount.bytes),
            (32_769, 2 * mean + 16)
        );
    }
}
