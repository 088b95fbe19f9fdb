//! The figures that `measure()` and `stats()` return. `heapglass report --json` uses the same
//! names.

use crate::accounting::Sums;
use tracking_alloc_recording::for_each_counter;

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

macro_rules! conversions {
    ($($(#[$doc:meta])* $offset:literal $counter:ident $field:ident,)*) => {
        impl Stats {
            /// Makes figures from these counters, the largest live bytes and the blocks at that
            /// moment.
            pub(crate) fn new(sums: Sums, (peak_bytes, peak_blocks): (i64, i64)) -> Stats {
                let (live_bytes, live_blocks) = sums.net();
                Stats {
                    $($field: sums.$field,)*
                    live_bytes,
                    live_blocks,
                    peak_bytes: peak_bytes.max(0) as u64,
                    peak_blocks: peak_blocks.max(0) as u64,
                }
            }

            /// Returns the counters.
            pub(crate) fn sums(&self) -> Sums {
                Sums { $($field: self.$field,)* }
            }
        }
    };
}
for_each_counter!(conversions);

impl Stats {
    pub(crate) fn peak(&self) -> (i64, i64) {
        (self.peak_bytes as i64, self.peak_blocks as i64)
    }

    /// Adds these counters, and sets the peak.
    pub(crate) fn plus(&self, more: &Sums, peak: (i64, i64)) -> Stats {
        Stats::new(self.sums().zip(*more, u64::wrapping_add), peak)
    }

    /// Returns the events counted after `before`, with the peak in between.
    #[doc(hidden)]
    pub fn since(&self, before: &Stats, peak: (i64, i64)) -> Stats {
        Stats::new(self.sums().zip(before.sums(), u64::wrapping_sub), peak)
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
