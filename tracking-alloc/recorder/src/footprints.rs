//! The data of a measured value, in the form in which a source passes it to the recording.

pub use crate::session::usable_bytes;
pub use crate::session::{Measured, Part, Type};

use crate::{hook, session, sys};
use std::sync::atomic::Ordering::Relaxed;

/// Returns the live bytes of the recording in progress, or `None` if nothing records.
pub fn live_bytes() -> Option<u64> {
    Some(hook::recorded_stats()?.live_bytes.max(0) as u64)
}

/// Writes a footprint if something still records. Parts that do not fit are counted as lost.
pub fn record<'p>(
    measured: &Measured<'_>,
    types: &mut [Type],
    parts: impl Iterator<Item = Part<'p>>,
) {
    let (Some(_inside), Some(session), Some(header)) =
        (hook::Inside::enter(), session::current(), session::header())
    else {
        return;
    };
    let _errno = sys::Errno::keep();
    let now_ns = hook::PEAK_CHECKS.lock().timeline.elapsed_ns();
    let mut writer = session.write.lock();
    let added = writer.add_footprint(measured, types, parts, now_ns);
    if added.is_none() {
        header.lost_records.fetch_add(1, Relaxed);
    }
}
