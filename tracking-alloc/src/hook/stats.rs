//! `stats()` while a recording is written: the rows of all lanes, with what is counted beside them.

use super::peak::PeakChecks;
use crate::figures::Stats;
use crate::tables::sums_of_lanes;
use crate::{count, state};

/// The sums of all lanes, and the largest there was.
fn figures_of_lanes(highest: Option<(i64, i64)>) -> Stats {
    let sums = sums_of_lanes();
    let figures = Stats::new(sums, (0, 0));
    let live = (figures.live_bytes, figures.live_blocks);
    Stats::new(sums, highest.map_or(live, |highest| highest.max(live)))
}

/// The figures of all lanes together with what is counted beside them; `None` when no recording of
/// this process counts.
pub(crate) fn recorded_stats() -> Option<Stats> {
    if !state::rows_are_joined() {
        return None;
    }
    let inside = super::Inside::enter();
    if inside.is_none() && state::is_recording() {
        // A signal handler in the middle of an event, which may hold the lock.
        return Some(count::join(&figures_of_lanes(None)));
    }
    let checks = super::PEAK_CHECKS.try_lock(1_000_000)?;
    // Finished meanwhile: its sums are kept elsewhere now.
    state::rows_are_joined().then(|| count::join(&figures_of_lanes(Some(checks.highest()))))
}

/// The recording is finished: if `stats()` goes on, what it counted is kept. Under the peak lock.
pub(crate) fn part(checks: &PeakChecks) {
    if state::part_from_rows() {
        count::PROCESS.add_figures(&figures_of_lanes(Some(checks.highest())));
    }
}
