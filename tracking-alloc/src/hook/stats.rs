//! `stats()` while a recording is written: the rows of all lanes, with what is counted beside them.

use super::peak::Looks;
use crate::tables::{counted_rows, figures_of, lanes_in_use};
use crate::{Figures, count, state};

/// The sums of all lanes, and the largest there was.
fn figures_of_lanes(highest: Option<(i64, i64)>) -> Figures {
    let mut sums = [0u64; 9];
    for row in lanes_in_use().flat_map(counted_rows) {
        sums.iter_mut()
            .zip(figures_of(row))
            .for_each(|(sum, figure)| *sum = sum.wrapping_add(figure));
    }
    let [
        total_bytes,
        total_blocks,
        freed_bytes,
        freed_blocks,
        grows,
        shrinks,
        copied_bytes,
        temporary_blocks,
        temporary_bytes,
    ] = sums;
    let live = (
        total_bytes.wrapping_sub(freed_bytes) as i64,
        total_blocks.wrapping_sub(freed_blocks) as i64,
    );
    let (peak_bytes, peak_blocks) = highest.map_or(live, |highest| highest.max(live));
    Figures {
        total_bytes,
        total_blocks,
        freed_bytes,
        freed_blocks,
        live_bytes: live.0,
        live_blocks: live.1,
        peak_bytes: peak_bytes.max(0) as u64,
        peak_blocks: peak_blocks.max(0) as u64,
        grows,
        shrinks,
        copied_bytes,
        temporary_blocks,
        temporary_bytes,
    }
}

/// The figures of all lanes together with what is counted beside them; `None` when no recording of this process counts.
pub(crate) fn recorded_stats() -> Option<Figures> {
    if !state::rows_are_joined() {
        return None;
    }
    let inside = super::Inside::enter();
    if inside.is_none() && state::get() & state::RECORD != 0 {
        // A signal handler in the middle of an event, which may hold the lock.
        return Some(count::join(&figures_of_lanes(None)));
    }
    let looks = super::LOOKS.try_hold(1_000_000)?;
    // Finished meanwhile: its sums are kept elsewhere now.
    state::rows_are_joined().then(|| count::join(&figures_of_lanes(Some(looks.highest()))))
}

/// The recording is finished: if `stats()` goes on, what it counted is kept. Under the look lock.
pub(crate) fn part(looks: &Looks) {
    if state::part_from_rows() {
        count::keep_rows(&figures_of_lanes(Some(looks.highest())));
    }
}
