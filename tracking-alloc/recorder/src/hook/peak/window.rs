//! Marks: the end of one window of the peak and the beginning of the next.

use super::{PeakChecks, check_peak_now};
use crate::hook::lane::rows_of;
use crate::session::{self, at_peak, epoch, fixed_rows, lanes_in_use};
use std::sync::atomic::Ordering::*;
use tracking_alloc_recording::{MarkRowValue, MarkValue, table};

/// Ends the current window of the peak: writes every row as it was at the window's peak, and begins
/// the next window. Returns the window's figures, which a mark keeps. If the rows do not fit, the
/// window continues, and `None` is returned.
pub(crate) fn mark_window(checks: &mut PeakChecks) -> Option<MarkValue> {
    check_peak_now(checks, true);
    let epoch = epoch();
    let mut writer = session::current()?.write.lock();
    let first_row = writer.len(table::MARK_ROWS);
    let mut whole = true;
    for lane in lanes_in_use() {
        let fixed = fixed_rows(lane).into_iter().flat_map(|[_, rest @ ..]| rest);
        for row in rows_of(lane).chain(fixed) {
            let (peak_bytes, peak_blocks) = at_peak(row, epoch);
            if whole && (peak_bytes, peak_blocks) != (0, 0) {
                let held = MarkRowValue {
                    site: row.site.load(Relaxed),
                    lane,
                    peak_bytes,
                    peak_blocks,
                    ..MarkRowValue::default()
                };
                whole = writer.add(held).is_some();
            }
        }
    }
    let rows = writer.len(table::MARK_ROWS) - first_row;
    drop(writer);
    if !whole {
        return None;
    }
    let mut window = MarkValue {
        has_rows: 1,
        peak_bytes: checks.peak,
        peak_blocks: checks.peak_blocks,
        peak_ns: checks.peak_ns,
        peak_bound_bytes: checks.bound,
        first_row,
        rows,
        ..MarkValue::default()
    };
    checks.begin_window();
    check_peak_now(checks, false);
    // Changes made while the window ended also count for it. The next check determines the bound of
    // the new window.
    window.peak_bound_bytes = window.peak_bound_bytes.max(checks.bound);
    checks.bound = 0;
    if let Some(header) = session::header() {
        header.peak_bound_bytes.store(0, Relaxed);
    }
    crate::hook::lane::reset_limits();
    Some(window)
}
