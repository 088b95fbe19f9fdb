//! Resident memory against live bytes: what Rust's allocator does not see.
//!
//! Must take both from one reading: figures of different moments have no difference.

use super::Profile;

/// Resident set size and live bytes at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resident {
    /// When, nanoseconds after the start.
    pub time_ns: u64,
    /// Resident set size, bytes.
    pub rss_bytes: u64,
    /// Bytes live in Rust's allocator then.
    pub live_bytes: u64,
    /// Resident bytes of heapglass itself, part of the resident set.
    pub own_bytes: u64,
}

impl Resident {
    /// Resident but not live in Rust's allocator, bytes: the allocator's slack, C libraries, code, stacks, heapglass
    /// itself. `None` when live is larger: some of it was never touched.
    pub fn not_seen_bytes(&self) -> Option<u64> {
        self.rss_bytes.checked_sub(self.live_bytes)
    }
}

impl Profile {
    /// At the largest resident set size of the timeline; when the timeline has none, as last read. `None` when it was
    /// never read.
    pub fn resident(&self) -> Option<Resident> {
        let points = self.timeline.iter().filter(|point| point.rss_bytes > 0);
        let largest = points.max_by_key(|point| point.rss_bytes);
        let largest = largest.map(|point| Resident {
            time_ns: point.time_ns,
            rss_bytes: point.rss_bytes,
            live_bytes: point.live_bytes,
            own_bytes: point.own_bytes,
        });
        let last = (self.capture.rss_bytes > 0).then_some(Resident {
            time_ns: self.process.duration_ns,
            rss_bytes: self.capture.rss_bytes,
            live_bytes: self.totals.live_bytes,
            own_bytes: self.capture.own_bytes,
        });
        largest.or(last)
    }
}
