//! The tables of marks, and of rows as they were at the peaks of the windows that marks end.

use super::{Writer, counted_rows, figures_of, lanes_in_use};
use std::sync::atomic::Ordering::*;
use tracking_alloc_recording::{Mark, MarkRow};

/// What a mark keeps of the window that ends with it.
pub(crate) struct Window {
    pub(crate) peak_bytes: i64,
    pub(crate) peak_blocks: i64,
    pub(crate) peak_ns: u64,
    pub(crate) doubt_bytes: i64,
    pub(crate) first_row: u64,
    pub(crate) rows: u64,
}

impl Writer {
    /// Keeps what a row held at the peak of the window that ends. `None` when there is no room.
    pub(crate) fn add_mark_row(
        &mut self,
        lane: u32,
        site: u32,
        (bytes, blocks): (i64, i64),
    ) -> Option<()> {
        let (_, place) = self.mark_rows.push::<MarkRow>(&mut self.store)?;
        // SAFETY: a zeroed record just handed out, mapped until the process ends.
        let kept = unsafe { place.as_ref() };
        kept.site.store(site, Relaxed);
        kept.lane.store(lane, Relaxed);
        kept.peak_bytes.store(bytes, Relaxed);
        kept.peak_blocks.store(blocks, Relaxed);
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
        let name = self.string(name);
        let header = self.store.header();
        let (index, place) = self.marks.push::<Mark>(&mut self.store)?;
        // SAFETY: a zeroed record just handed out, mapped until the process ends.
        let mark = unsafe { place.as_ref() };
        mark.name.store(name, Relaxed);
        mark.time_ns.store(now_ns, Relaxed);
        for row in lanes_in_use().flat_map(counted_rows) {
            for (sum, figure) in mark.figures.iter().zip(figures_of(row)) {
                sum.store(sum.load(Relaxed).wrapping_add(figure), Relaxed);
            }
        }
        if let Some(window) = window {
            mark.has_rows.store(1, Relaxed);
            mark.peak_bytes.store(window.peak_bytes, Relaxed);
            mark.peak_blocks.store(window.peak_blocks, Relaxed);
            mark.peak_ns.store(window.peak_ns, Relaxed);
            mark.doubt_bytes.store(window.doubt_bytes, Relaxed);
            mark.first_row.store(window.first_row, Relaxed);
            mark.rows.store(window.rows, Relaxed);
            header.window.store(index as u32 + 1, Relaxed);
        } else {
            header.lost_marks.fetch_add(1, Relaxed);
        }
        header.marks_len.store(index as u32 + 1, Release);
        Some(())
    }
}
