//! The tables of marks, and of rows as they were at the peaks of the windows that marks end.

use super::{Writer, counted_rows, figures_of, lanes_in_use};
use crate::figures::add_sums;
use std::sync::atomic::Ordering::*;
use tracking_alloc_recording::{MarkRowValue, MarkValue, table};

impl Writer {
    /// Keeps what a row held at the peak of the window that ends. `None` when there is no room.
    pub(crate) fn add_mark_row(
        &mut self,
        lane: u32,
        site: u32,
        (peak_bytes, peak_blocks): (i64, i64),
    ) -> Option<()> {
        let row = MarkRowValue {
            site,
            lane,
            peak_bytes,
            peak_blocks,
            ..MarkRowValue::default()
        };
        self.add(row).map(drop)
    }

    /// Rows kept so far.
    pub(crate) fn mark_rows(&self) -> u64 {
        self.len(table::MARK_ROWS)
    }

    /// Adds a mark, with the totals of this moment; `window` is a mark that holds the window of the peak which ends here, and
    /// nothing else.
    pub(crate) fn add_mark(
        &mut self,
        name: &[u8],
        window: Option<MarkValue>,
        time_ns: u64,
    ) -> Option<()> {
        let mut mark = MarkValue {
            name: self.string(name),
            time_ns,
            ..window.unwrap_or_default()
        };
        for row in lanes_in_use().flat_map(counted_rows) {
            add_sums(&mut mark.figures, &figures_of(row));
        }
        self.add(mark)?;
        if window.is_none() {
            self.store.header().lost_marks.fetch_add(1, Relaxed);
        }
        Some(())
    }
}
