//! The figures that `measure()` and `stats()` return. `heapglass report --json` uses the same
//! names.

use crate::accounting::Sums;

/// Counts of one thread in a window ([`measure`](crate::counting)), or of the process so far
/// ([`stats`](crate::stats())).
///
/// `total_*` counts every allocation, and every realloc with its full new size. `freed_*` counts
/// every free, and every realloc with its old size. So `live = total - freed`, and the number of
/// fresh allocations is `total_blocks - grows - shrinks`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Bytes allocated.
    pub total_bytes: u64,
    /// Blocks allocated.
    pub total_blocks: u64,
    /// Bytes freed.
    pub freed_bytes: u64,
    /// Blocks freed.
    pub freed_blocks: u64,
    /// Bytes allocated and not freed; negative if the window freed more than it allocated.
    pub live_bytes: i64,
    /// Blocks allocated and not freed.
    pub live_blocks: i64,
    /// The largest `live_bytes` in the window.
    pub peak_bytes: u64,
    /// Live blocks at that moment.
    pub peak_blocks: u64,
    /// Reallocs to the same or a larger size.
    pub grows: u64,
    /// Reallocs to a smaller size.
    pub shrinks: u64,
    /// `min(old, new)` bytes of reallocs that moved their block: an upper bound on the bytes
    /// copied.
    pub copied_bytes: u64,
    /// Blocks that their thread freed before it allocated another one.
    pub temporary_blocks: u64,
    /// Bytes of `temporary_blocks`.
    pub temporary_bytes: u64,
}

/// The changes in a window, as returned by [`measure`](crate::counting).
pub type Delta = Stats;

impl Stats {
    /// Creates figures from counters, the largest live bytes, and the blocks at that moment.
    pub(crate) fn new(sums: Sums, (peak_bytes, peak_blocks): (i64, i64)) -> Stats {
        let [
            total_bytes,
            total_blocks,
            freed_bytes,
            freed_blocks,
            grows,
            shrinks,
            copied_bytes,
            temporary_blocks,
            temporary_bytes,
        ] = sums;
        Stats {
            total_bytes,
            total_blocks,
            freed_bytes,
            freed_blocks,
            live_bytes: total_bytes.wrapping_sub(freed_bytes) as i64,
            live_blocks: total_blocks.wrapping_sub(freed_blocks) as i64,
            peak_bytes: peak_bytes.max(0) as u64,
            peak_blocks: peak_blocks.max(0) as u64,
            grows,
            shrinks,
            copied_bytes,
            temporary_blocks,
            temporary_bytes,
        }
    }

    /// Returns the counters.
    pub(crate) fn sums(&self) -> Sums {
        [
            self.total_bytes,
            self.total_blocks,
            self.freed_bytes,
            self.freed_blocks,
            self.grows,
            self.shrinks,
            self.copied_bytes,
            self.temporary_blocks,
            self.temporary_bytes,
        ]
    }

    pub(crate) fn peak(&self) -> (i64, i64) {
        (self.peak_bytes as i64, self.peak_blocks as i64)
    }

    /// Adds these counters, and sets the peak.
    pub(crate) fn plus(&self, more: &Sums, peak: (i64, i64)) -> Stats {
        let mut sums = self.sums();
        add_sums(&mut sums, more);
        Stats::new(sums, peak)
    }

    /// Returns the events counted after `before`, with the peak in between.
    #[doc(hidden)]
    pub fn since(&self, before: &Stats, peak: (i64, i64)) -> Stats {
        let (now, before) = (self.sums(), before.sums());
        let sums = std::array::from_fn(|sum| now[sum].wrapping_sub(before[sum]));
        Stats::new(sums, peak)
    }

    /// Adds a window inside this one that has just ended.
    pub(crate) fn plus_inner(&self, inner: &Stats) -> Stats {
        let (bytes, blocks) = inner.peak();
        let peak = self.live_bytes + bytes;
        // If both maxima are equal, take the later one. If the inner window allocated nothing, they
        // are the same moment.
        self.plus(
            &inner.sums(),
            if peak >= self.peak().0 {
                (peak, self.live_blocks + blocks)
            } else {
                self.peak()
            },
        )
    }
}

/// Adds counters one by one.
pub(crate) fn add_sums(sums: &mut Sums, more: &Sums) {
    for (sum, more) in sums.iter_mut().zip(more) {
        *sum = sum.wrapping_add(*more);
    }
}
