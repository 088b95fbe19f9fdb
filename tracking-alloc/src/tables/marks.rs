//! The tables of marks, and of rows as they were at the peaks of the windows that marks end.

use super::{Writer, counted_rows, figures_of, lanes_in_use};
use crate::figures::add_sums;
use std::sync::atomic::Ordering::*;
use tracking_alloc_recording::{MarkRowValue, MarkValue};

/// What a mark keeps of the window that ends with it.
pub(crate) struct Window {
    pub(crate) peak_bytes: i64,
    pub(crate) peak_blocks: i64,
    pub(crate) peak_ns: u64,
    pub(crate) peak_bound_bytes: i64,
    pub(crate) first_row: u64,
    pub(crate) rows: u64,
}

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
        self.mark_rows.add(&mut self.store, row)?;
        Some(())
    }

    /// Rows kept so far.
    pub(crate) fn mark_rows(&self) -> u64 {
        self.mark_rows.len()
    }

    /// Adds a mark, with the totals of this moment.
    pub(crate) fn add_mark(
        &mut self,
        name: &[u8],
        window: Option<&Window>,
        now_ns: u64,
    ) -> Option<()> {
        let mut mark = MarkValue {
            name: self.string(name),
            time_ns: now_ns,
            ..MarkValue::default()
        };
        for row in lanes_in_use().flat_map(counted_rows) {
            add_sums(&mut mark.figures, &figures_of(row));
        }
        if let Some(window) = window {
            mark.has_rows = 1;
            mark.peak_bytes = window.peak_bytes;
            mark.peak_blocks = window.peak_blocks;
            mark.peak_ns = window.peak_ns;
            mark.peak_bound_bytes = window.peak_bound_bytes;
            mark.first_row = window.first_row;
            mark.rows = window.rows;
        }
        let header = self.store.header();
        let (index, _) = self.marks.add(&mut self.store, mark)?;
        if window.is_none() {
            header.lost_marks.fetch_add(1, Relaxed);
        }
        header.marks_len.store(index + 1, Release);
        Some(())
    }
}
