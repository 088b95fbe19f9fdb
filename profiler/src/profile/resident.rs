//! Resident memory against live bytes: what Rust's allocator does not see.
//!
//! Must take both from one reading: figures of different moments have no difference.

use super::{Profile, TimelinePoint};

impl TimelinePoint {
    /// Resident but not live in Rust's allocator, bytes: the allocator's slack, C libraries, code, stacks, heapglass
    /// itself. `None` when live is larger: some of it was never touched.
    pub fn not_seen_bytes(&self) -> Option<u64> {
        self.rss_bytes.checked_sub(self.live_bytes)
    }
}

impl Profile {
    /// At the largest resident set size of the timeline; when the timeline has none, as last read. `None` when it was
    /// never read.
    pub fn resident(&self) -> Option<TimelinePoint> {
        let last = TimelinePoint {
            time_ns: self.process.duration_ns,
            live_bytes: self.totals.live_bytes,
            live_blocks: self.totals.live_blocks,
            total_bytes: self.totals.total_bytes,
            rss_bytes: self.capture.rss_bytes,
            own_bytes: self.capture.own_bytes,
        };
        let points = self.timeline.iter().filter(|point| point.rss_bytes > 0);
        let largest = points.max_by_key(|point| point.rss_bytes).copied();
        largest.or((last.rss_bytes > 0).then_some(last))
    }
}
