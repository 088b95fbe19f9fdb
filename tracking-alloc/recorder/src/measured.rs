//! Figures on request: of the process, and of a thread while a function runs.
//!
//! The functions here are never inlined. Otherwise the compiler could keep the address of a
//! thread-local across the call of the measured function, which may return on another thread.

use crate::counting::{self, Frame, Group};
use crate::stats::Stats;

/// Returns the figures of the process since the first call of this function or since the current
/// recording began, whichever was earlier. Counting continues when a recording begins or ends.
///
/// Frees of older blocks are counted too, unless the current recording began before the first call.
/// The figures are exact if no other thread is inside the allocator. Otherwise each thread may be
/// one event ahead, and the peak is known within the recording's error bound.
pub fn stats() -> Stats {
    #[cfg(in_memory)]
    if let Some(stats) = crate::wasm::hook::recorded_stats() {
        return stats;
    }
    counting::begin();
    #[cfg(recording)]
    if let Some(stats) = crate::hook::recorded_stats() {
        return stats;
    }
    counting::PROCESS.figures()
}

/// Runs `f` and counts the allocations and frees of this thread in it, exactly, with or without a
/// recording. Calls nest. A panic in `f` passes through.
pub fn measured<R>(f: impl FnOnce() -> R) -> (R, Stats) {
    measured_with(None, f)
}

/// Runs `f` and counts this thread's events, also for `group`.
///
/// NOTE: the stacks of counted events end at the frame of this function, so it must not be inlined.
#[inline(never)]
pub fn measured_with<R>(group: Option<&'static Group>, f: impl FnOnce() -> R) -> (R, Stats) {
    let entered = Entered(enter(group));
    let result = f();
    let figures = counting::figures_of(entered.0);
    drop(entered);
    (result, figures)
}

/// A guard during which a frame counts this thread's events. It also ends when `f` unwinds.
struct Entered(&'static Frame);

impl Drop for Entered {
    fn drop(&mut self) {
        leave(self.0);
    }
}

#[inline(never)]
fn enter(group: Option<&'static Group>) -> &'static Frame {
    let (frame, _is_first) = counting::enter(group);
    #[cfg(recording)]
    if _is_first {
        crate::hook::measuring(true);
    }
    frame
}

#[inline(never)]
fn leave(frame: &'static Frame) {
    let _was_last = counting::leave(frame);
    #[cfg(recording)]
    if _was_last {
        crate::hook::measuring(false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thread;

    fn is_measuring() -> bool {
        thread::with(|thread| !thread.measure.get().is_null()) == Some(true)
    }

    #[test]
    fn a_thread_measures_as_long_as_the_function_runs() {
        let (inside, _) = measured(|| measured(is_measuring).0 && is_measuring());
        assert!(inside);
        assert!(!is_measuring());
        let unwound =
            std::panic::catch_unwind(|| measured(|| std::panic::resume_unwind(Box::new(()))));
        assert!(unwound.is_err());
        assert!(!is_measuring());
    }
}
