//! The table of ended threads, merged by name.

use super::Writer;
use super::rows::{CLOCK, at_peak, epoch, figures_net};
use std::sync::atomic::Ordering::*;
use tracking_alloc_recording::{CLOCK_SNAPSHOT_BITS, Row, ThreadName, ThreadNameValue};

/// Different names kept apart; further threads are merged as one.
const MOST_NAMES: usize = 512;

/// The name under which threads are merged when there are too many names.
const OTHERS: [u64; 2] = [
    u64::from_le_bytes(*b"(other t"),
    u64::from_le_bytes(*b"hreads)\0"),
];

/// Records of thread names, for merging. All-zero bytes are none.
pub(super) struct Names {
    records: [*const ThreadName; MOST_NAMES],
    len: usize,
}

impl Writer {
    /// Adds what an ended thread did to the threads of its name. `since` is its lane's net when it came, and the clock then.
    pub(crate) fn thread_ended(
        &mut self,
        name: [u64; 2],
        figures: [u64; 9],
        all: &Row,
        ((bytes, blocks), since_clock): ((i64, i64), u64),
    ) {
        let Some(record) = self.thread_name(name) else {
            self.store.header().lost_threads.fetch_add(1, Relaxed);
            return;
        };
        // What its threads held at the peak. Those merged before the present epoch ended before its peak: they hold
        // what they left behind. This one holds nothing if it came after the peak.
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

    fn thread_name(&mut self, name: [u64; 2]) -> Option<&'static ThreadName> {
        let same = |record: &&ThreadName| {
            let mut words = record.name.iter().zip(name);
            words.all(|(word, name)| word.load(Relaxed) == name)
        };
        // SAFETY: every listed record is mapped until the process ends.
        let known = self.names.records[..self.names.len]
            .iter()
            .map(|record| unsafe { &**record })
            .find(same);
        if known.is_some() || self.names.len == MOST_NAMES {
            // SAFETY: as above; the last one takes what found no place of its own.
            return known.or_else(|| self.names.records.last().map(|record| unsafe { &**record }));
        }
        let is_last = self.names.len + 1 == MOST_NAMES;
        let (_, record) = self.add(ThreadNameValue {
            name: if is_last { OTHERS } else { name },
            ..ThreadNameValue::default()
        })?;
        self.names.records[self.names.len] = record;
        self.names.len += 1;
        Some(record)
    }
}
