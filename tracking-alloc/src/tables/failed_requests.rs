//! The table of requests that the allocator refused, by site.

use super::Writer;
use std::sync::atomic::Ordering::*;
use tracking_alloc_recording::FailedRequestValue;

/// Sites that are told apart; requests of further sites are only counted in the header.
const MOST_SITES: u64 = 256;

impl Writer {
    /// Counts a request of a site that the allocator refused.
    pub(crate) fn request_failed(&mut self, site: u32, bytes: u64) {
        let header = self.store.header();
        let last = header.failed_requests.fetch_add(1, Relaxed) + 1;
        let new = FailedRequestValue {
            site,
            ..FailedRequestValue::default()
        };
        let found = self.intern_placed(site.into(), new, MOST_SITES, |known| {
            known.site.load(Relaxed) == site
        });
        let Some(record) = found else {
            header.lost_records.fetch_add(1, Relaxed);
            return;
        };
        record.count.fetch_add(1, Relaxed);
        record.largest_bytes.fetch_max(bytes, Relaxed);
        record.last.store(last, Relaxed);
    }
}
