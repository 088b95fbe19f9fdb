//! Marks: the end of one window of the peak and the beginning of the next.

use super::{Looks, look_now};
use crate::hook::lane::rows_of;
use crate::hook::row::at_peak;
use crate::hook::{CLOCK, lanes_in_use};
use crate::session;
use std::sync::atomic::Ordering::*;
use tracking_alloc_recording::{CLOCK_SNAPSHOT_BITS, MarkRow};

/// What a mark keeps of the window that ends with it.
pub(crate) struct Window {
    pub(crate) peak_bytes: i64,
    pub(crate) peak_blocks: i64,
    pub(crate) peak_ns: u64,
    pub(crate) doubt_bytes: i64,
    pub(crate) first_row: u64,
    pub(crate) rows: u64,
}

/// Ends the present window of the peak: writes down every row as it was at the window's peak, and begins the next.
/// When the rows find no room the window goes on, and `None` comes back.
pub(crate) fn mark_window(looks: &mut Looks) -> Option<Window> {
    look_now(looks, true);
    let epoch = CLOCK.load(Relaxed) >> CLOCK_SNAPSHOT_BITS;
    let mut writer = session::current()?.write.hold();
    let first_row = writer.mark_rows.len();
    let mut whole = true;
    for lane in lanes_in_use() {
        let mut keep = |row: &'static tracking_alloc_recording::Row| {
            let (bytes, blocks) = at_peak(row, epoch);
            if !whole || (bytes, blocks) == (0, 0) {
                return;
            }
            let writer = &mut *writer;
            match writer.mark_rows.push::<MarkRow>(&mut writer.store) {
                Some((_, place)) => {
                    // SAFETY: a zeroed record just handed out, mapped until the process ends.
                    let kept = unsafe { place.as_ref() };
                    kept.site.store(row.site.load(Relaxed), Relaxed);
                    kept.lane.store(lane, Relaxed);
                    kept.peak_bytes.store(bytes, Relaxed);
                    kept.peak_blocks.store(blocks, Relaxed);
                }
                None => whole = false,
            }
        };
        rows_of(lane, &mut keep);
        (1..3)
            .filter_map(|which| crate::hook::row::fixed_row(lane, which))
            .for_each(&mut keep);
    }
    let rows = writer.mark_rows.len() - first_row;
    if let Some(header) = crate::hook::header() {
        header.mark_rows_len.store(writer.mark_rows.len(), Release);
    }
    drop(writer);
    if !whole {
        return None;
    }
    let mut window = Window {
        peak_bytes: looks.peak,
        peak_blocks: looks.peak_blocks,
        peak_ns: looks.peak_ns,
        doubt_bytes: looks.doubt,
        first_row,
        rows,
    };
    looks.begin_window();
    look_now(looks, false);
    // What moved while the window ended counts for it as well; the next look tells the bound of the new one.
    window.doubt_bytes = window.doubt_bytes.max(looks.doubt);
    looks.doubt = 0;
    if let Some(header) = crate::hook::header() {
        header.doubt_bytes.store(0, Relaxed);
    }
    crate::hook::lane::reset_limits();
    Some(window)
}
