//! Changes of the mode while recording: the first sample, and the mean.
//!
//! The program asks for a change, or any process that may write the file ([`Exchange::mode`]). It
//! is followed where pauses are.

use super::{PeakChecks, check_peak_now};
use crate::hook::PEAK_CHECKS;
use crate::hook::writers::Inside;
use crate::sys::{self, Errno};
use crate::{samples, session, state};
use std::sync::atomic::Ordering::*;
use tracking_alloc_recording::{Exchange, Header, change_refused, mode};

/// Makes the recording in progress sample, with this mean. The error is a value of
/// [`change_refused`].
pub(crate) fn sample(mean: u64) -> Result<(), u32> {
    let header = session::header().ok_or(change_refused::INVALID)?;
    let _inside = Inside::enter().ok_or(change_refused::INVALID)?;
    let _errno = Errno::keep();
    change(&mut PEAK_CHECKS.lock(), header, mode::SAMPLE, mean)
}

/// Makes the change that another process wants, and answers.
pub(super) fn follow(exchange: &Exchange, checks: &mut PeakChecks, header: &Header) {
    let wanted = exchange.mode.swap(0, AcqRel);
    let mean = exchange.sample_bytes.swap(0, Relaxed);
    if wanted == 0 || !state::is_recording() {
        return;
    }
    let refused = match change(checks, header, wanted, mean) {
        Ok(()) => change_refused::NOTHING,
        Err(reason) => reason,
    };
    exchange.refused.store(refused, Relaxed);
    exchange.mode_answers.fetch_add(1, Release);
}

fn change(checks: &mut PeakChecks, header: &Header, wanted: u32, mean: u64) -> Result<(), u32> {
    let now = header.mode.load(Relaxed);
    let before = header.sample_bytes.load(Relaxed);
    let mean = match (mean, before) {
        (0, 0) => samples::mean(),
        (0, before) => before,
        (mean, _) => mean,
    };
    if !samples::is_valid(mean) {
        return Err(change_refused::INVALID);
    }
    match (now, wanted) {
        (mode::SAMPLE, mode::SAMPLE) => {}
        (mode::EXACT, mode::SAMPLE) if state::needs_every_event() => {
            return Err(change_refused::MEASURES);
        }
        (mode::EXACT, mode::SAMPLE) => {}
        (mode::SAMPLE, mode::EXACT) => return Err(change_refused::EXACT_AFTER_SAMPLES),
        (mode::COUNT, mode::SAMPLE | mode::EXACT) => return Err(change_refused::COUNTS),
        (_, mode::EXACT) => return Ok(()),
        _ => return Err(change_refused::INVALID),
    }
    if now == mode::SAMPLE && mean == before {
        return Ok(());
    }
    check_peak_now(checks, true);
    samples::set_mean(mean);
    header.most_sample_bytes.fetch_max(mean, Relaxed);
    header.sample_bytes.store(mean, Relaxed);
    if now == mode::SAMPLE {
        header.sample_changes.fetch_add(1, Relaxed);
        return Ok(());
    }
    header
        .sampled_since_ns
        .store(header.elapsed_ns.load(Relaxed).max(1), Relaxed);
    // Blocks of the exact recording must be followed. Every thread sees this before it sees the new
    // state.
    samples::watch_all();
    let _ = sys::fence_all_threads() || sys::wait_for_stores();
    // At last, because all threads still record exactly.
    let exact = session::sums_of_lanes();
    checks.exact_bytes = exact.total_bytes;
    header.exact_total_bytes.store(exact.total_bytes, Relaxed);
    header.exact_total_blocks.store(exact.total_blocks, Relaxed);
    header.exact_freed_bytes.store(exact.freed_bytes, Relaxed);
    header.exact_freed_blocks.store(exact.freed_blocks, Relaxed);
    header.mode.store(mode::SAMPLE, Release);
    state::sample(header.sample_counts.load(Relaxed) != 0);
    Ok(())
}
