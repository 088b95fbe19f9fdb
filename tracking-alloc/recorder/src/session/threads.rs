//! The table of ended threads, merged by name.

use super::Writer;
use super::rows::{CLOCK, at_peak, epoch};
use crate::hash::fnv1a;
use std::sync::atomic::Ordering::*;
use tracking_alloc_recording::{Clock, Row, Sums, ThreadName, ThreadNameValue, Word};

/// Maximum number of names. Threads with further names are merged.
const MOST_NAMES: u64 = 512;

/// The name of merged threads if there are too many names.
const OTHERS: [u64; 2] = [
    u64::from_le_bytes(*b"(other t"),
    u64::from_le_bytes(*b"hreads)\0"),
];

impl Writer {
    /// Adds the figures of an ended thread to those of threads with its name. `since` contains the
    /// net of its lane, and the clock, at the time when it got the lane.
    pub(crate) fn thread_ended(
        &mut self,
        name: [u64; 2],
        sums: Sums,
        all: &Row,
        ((bytes, blocks), since_clock): ((i64, i64), Clock),
    ) {
        let named = self.thread_name(name, MOST_NAMES - 1);
        let Some(record) = named.or_else(|| self.thread_name(OTHERS, MOST_NAMES)) else {
            self.store.header().lost_threads.fetch_add(1, Relaxed);
            return;
        };
        // Compute the bytes and blocks held at the peak. Threads merged before the current epoch
        // ended before its peak, so they hold what they left behind. This thread holds nothing if
        // it came after the peak.
        let epoch = epoch();
        let merged = Sums::load(&record.sums);
        let (mut peak_bytes, mut peak_blocks) = merged.net();
        if record.clock.load(Relaxed).epoch() == epoch {
            (peak_bytes, peak_blocks) = (
                record.peak_bytes.load(Relaxed),
                record.peak_blocks.load(Relaxed),
            );
        }
        if since_clock.epoch() < epoch {
            let (at_bytes, at_blocks) = at_peak(all, epoch);
            peak_bytes += at_bytes - bytes;
            peak_blocks += at_blocks - blocks;
        }
        record.count.store(record.count.load(Relaxed) + 1, Relaxed);
        merged.zip(sums, u64::wrapping_add).store(&record.sums);
        record.peak_bytes.store(peak_bytes, Relaxed);
        record.peak_blocks.store(peak_blocks, Relaxed);
        record.clock.store(CLOCK.load(Relaxed), Relaxed);
    }

    fn thread_name(&mut self, name: [u64; 2], most: u64) -> Option<&'static ThreadName> {
        let key = fnv1a(0, name.into_iter().flat_map(u64::to_le_bytes));
        let record = ThreadNameValue {
            name,
            ..ThreadNameValue::default()
        };
        self.intern_placed(key, record, most, |known| {
            known.name.each_ref().map(|word| word.load(Relaxed)) == name
        })
    }
}
