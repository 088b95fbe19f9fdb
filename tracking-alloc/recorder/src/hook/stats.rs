//! `stats()` while a recording is written: the rows of all lanes, plus the events counted
//! separately.

use super::peak::PeakChecks;
use crate::session::sums_of_lanes;
use crate::stats::Stats;
use crate::{counting, state};

/// Returns the sums of all lanes, with the largest sum.
fn figures_of_lanes(highest: Option<(i64, i64)>) -> Stats {
    let sums = sums_of_lanes();
    let figures = Stats::new(sums, (0, 0));
    let live = (figures.live_bytes, figures.live_blocks);
    Stats::new(sums, highest.map_or(live, |highest| highest.max(live)))
}

/// Returns the figures of all lanes plus the events counted separately. Returns `None` if no
/// recording of this process counts.
pub(crate) fn recorded_stats() -> Option<Stats> {
    if !state::rows_are_joined() {
        return None;
    }
    let inside = super::Inside::enter();
    if inside.is_none() && state::is_recording() {
        // A signal handler during an event may hold the lock.
        return Some(counting::join(&figures_of_lanes(None)));
    }
    let checks = super::PEAK_CHECKS.try_lock(1_000_000)?;
    // The recording was finished in the meantime, so its sums are kept elsewhere now.
    if !state::rows_are_joined() {
        return None;
    }
    let rows = figures_of_lanes(Some(checks.highest()));
    let mut joined = counting::join(&rows);
    if state::samples() {
        // The rows have an estimate.
        let exact = checks.exact_total_bytes();
        let difference = exact.wrapping_sub(rows.total_bytes);
        joined.total_bytes = joined.total_bytes.wrapping_add(difference);
    }
    Some(joined)
}

/// Keeps the sums of a finished recording if `stats()` continues. Call under the peak lock.
pub(crate) fn part(checks: &PeakChecks) {
    if state::part_from_rows() {
        counting::PROCESS.add_figures(&figures_of_lanes(Some(checks.highest())));
    }
}
