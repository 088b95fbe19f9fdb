//! The table of ended threads, merged by name.

use super::Writer;
use super::rows::{CLOCK, at_peak, epoch, figures_net};
use crate::hash::fnv1a;
use std::sync::atomic::Ordering::*;
use tracking_alloc_recording::{CLOCK_SNAPSHOT_BITS, Row, ThreadName, ThreadNameValue};

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
        figures: [u64; 9],
        all: &Row,
        ((bytes, blocks), since_clock): ((i64, i64), u64),
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
        let (mut peak_bytes, mut peak_blocks) = figures_net(&record.figures);
        if record.clock.load(Relaxed) >> CLOCK_SNAPSHOT_BITS == epoch {
            (peak_bytes, peak_blocks) = (
                record.peak_bytes.load(Relaxed),
                record.peak_blocks.load(Relaxed),
            );
        }
        if since_clock >> CLOCK_SNAPSHOT_BITS < epoch {
            let (at_bytes, at_blocks) = at_peak(all, epoch);
            peak_bytes += at_bytes - bytes;
            peak_blocks += at_blocks - blocks;
        }
        record.count.store(record.count.load(Relaxed) + 1, Relaxed);
        for (sum, figure) in record.figures.iter().zip(figures) {
            sum.store(sum.load(Relaxed).wrapping_add(figure), Relaxed);
        }
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
