//! All lanes together: for checks, marks, and the one who finishes.

use super::{CHUNK, Lane, TABLE};
use crate::hook::open;
use crate::sys;
use crate::tables::{LANES_USED, OVERFLOW_USED};
use std::ptr::null_mut;
use std::sync::atomic::Ordering::*;
use tracking_alloc_recording::{MAX_LANES, Row};

/// The lane of a number, once it was made.
pub(super) fn lane_at(number: u32) -> Option<&'static Lane> {
    // SAFETY: null or a lane, which is never unmapped.
    unsafe { TABLE.get(number as usize)?.load(Acquire).as_ref() }
}

fn lanes() -> impl Iterator<Item = &'static Lane> {
    (0..MAX_LANES as u32).filter_map(lane_at)
}

/// Rows of a lane that are published, in order.
pub(in super::super) fn rows_of(lane: u32, mut each: impl FnMut(&'static Row)) {
    let Some(lane) = lane_at(lane) else {
        return;
    };
    let mut left = lane.record().rows_len.load(Acquire);
    for chunk in &lane.chunks {
        let chunk = chunk.load(Acquire);
        if chunk.is_null() || left == 0 {
            continue;
        }
        for index in 0..CHUNK {
            // SAFETY: a chunk has CHUNK slots. The owner may be writing one: its row is read as a whole word.
            let row = unsafe {
                (&raw const (*chunk.add(index)).row)
                    .cast::<*const Row>()
                    .read_volatile()
            };
            // SAFETY: null, "(table full)", or a row, all mapped until the process ends.
            if let Some(row) = unsafe { row.as_ref() }
                && !std::ptr::eq(row, lane.full)
            {
                each(row);
                left = left.saturating_sub(1);
            }
        }
    }
}

/// Waits until no owner is inside the hook, as far as that can be known. False when one stayed: it was killed there, or
/// it is this very thread, in a signal handler.
pub(crate) fn wait_until_idle() -> bool {
    // On a busy machine a thread may wait long for a core: yield for a while, then sleep, for some seconds in total.
    const YIELDS: u32 = 1_000;
    const SLEEPS: u32 = 30_000;
    const SLEEP_NS: u32 = 100_000;
    if !sys::fence_all_threads() || open::is_here() {
        return false;
    }
    let mut tries = 0;
    let mut waits = |busy: &dyn Fn() -> bool| {
        while busy() {
            tries += 1;
            match tries {
                0..=YIELDS => sys::yield_now(),
                _ if tries < YIELDS + SLEEPS => sys::sleep(SLEEP_NS),
                _ => return false,
            }
        }
        true
    };
    if !waits(&open::is_open) {
        return false;
    }
    // The shared lane is never busy: threads on it were counted as open.
    lanes().all(|lane| waits(&|| lane.busy.load(Acquire)))
}

/// Forgets all lanes: for a forked child that begins a recording of its own. Their memory is left to the process.
pub(crate) fn release_all() {
    TABLE
        .iter()
        .for_each(|slot| slot.store(null_mut(), Release));
    LANES_USED.store(0, Release);
    OVERFLOW_USED.store(0, Release);
    open::forget();
}

/// Makes the next fall of every lane check: the maximum was reset. Under the peak lock.
pub(in super::super) fn reset_limits() {
    lanes().for_each(|lane| lane.limit.store(i64::MIN, Relaxed));
}
