//! The figures of samples that rows need for an interval.

use crate::words::Word;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Sums over the samples of a row. Differences wrap, as those of other counters do; only sums over
/// all lanes are facts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sampled {
    /// Number of samples.
    pub hits: u64,
    /// The sum of their weights in blocks.
    pub blocks: u64,
    /// The sum of their weights in bytes.
    pub bytes: u64,
    /// The sum of their sizes.
    pub seen_bytes: u64,
    /// The sum of `size^2 (1 - p) / p^2`: the variance of `bytes`.
    pub variance: f64,
}

impl Eq for Sampled {}

impl Sampled {
    const WORDS: usize = 5;

    /// Returns the sum.
    #[must_use]
    pub fn plus(self, more: Sampled) -> Sampled {
        Sampled {
            hits: self.hits.wrapping_add(more.hits),
            blocks: self.blocks.wrapping_add(more.blocks),
            bytes: self.bytes.wrapping_add(more.bytes),
            seen_bytes: self.seen_bytes.wrapping_add(more.seen_bytes),
            variance: self.variance + more.variance,
        }
    }

    /// Returns the difference.
    #[must_use]
    pub fn minus(self, less: Sampled) -> Sampled {
        Sampled {
            hits: self.hits.wrapping_sub(less.hits),
            blocks: self.blocks.wrapping_sub(less.blocks),
            bytes: self.bytes.wrapping_sub(less.bytes),
            seen_bytes: self.seen_bytes.wrapping_sub(less.seen_bytes),
            variance: self.variance - less.variance,
        }
    }
}

impl From<[u64; Sampled::WORDS]> for Sampled {
    fn from([hits, blocks, bytes, seen_bytes, variance]: [u64; Sampled::WORDS]) -> Sampled {
        Sampled {
            hits,
            blocks,
            bytes,
            seen_bytes,
            variance: f64::from_bits(variance),
        }
    }
}

impl From<Sampled> for [u64; Sampled::WORDS] {
    fn from(sampled: Sampled) -> [u64; Sampled::WORDS] {
        let Sampled {
            hits,
            blocks,
            bytes,
            seen_bytes,
            variance,
        } = sampled;
        [hits, blocks, bytes, seen_bytes, variance.to_bits()]
    }
}

impl Word for Sampled {
    type Cell = [AtomicU64; Sampled::WORDS];

    fn parse(bytes: &[u8]) -> Self {
        <[u64; Sampled::WORDS]>::parse(bytes).into()
    }

    fn write(self, out: &mut [u8]) {
        <[u64; Sampled::WORDS]>::from(self).write(out);
    }

    fn load(cells: &Self::Cell) -> Self {
        cells.each_ref().map(|cell| cell.load(Relaxed)).into()
    }

    #[inline]
    fn store(self, cells: &Self::Cell) {
        <[u64; Sampled::WORDS]>::from(self).store(cells);
    }
}
