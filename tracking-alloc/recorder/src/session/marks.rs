//! The table of marks.

use super::{Writer, sums_of_lanes};
use std::sync::atomic::Ordering::*;
use tracking_alloc_recording::MarkValue;

impl Writer {
    /// Adds a mark with the totals of this moment. `window` is a mark that contains only the peak
    /// window that ends here.
    pub(crate) fn add_mark(
        &mut self,
        name: &[u8],
        window: Option<MarkValue>,
        time_ns: u64,
    ) -> Option<()> {
        let mark = MarkValue {
            name: self.string(name),
            time_ns,
            figures: sums_of_lanes(),
            ..window.unwrap_or_default()
        };
        self.add(mark)?;
        if window.is_none() {
            self.store.header().lost_marks.fetch_add(1, Relaxed);
        }
        Some(())
    }
}
