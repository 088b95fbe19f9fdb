//! The table of requests that the allocator refused, by site.

use super::Writer;
use std::sync::atomic::Ordering::*;
use tracking_alloc_recording::FailedRequestValue;

/// Maximum number of sites. Requests of further sites are counted only in the header.
const MOST_SITES: u64 = 256;

impl Writer {
    /// Counts a failed request of a site.
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
