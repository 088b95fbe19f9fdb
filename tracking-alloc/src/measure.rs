//! Runs a function and counts the events of its thread in the meantime.
//!
//! The functions here are never inlined: the address of a thread-local must not be kept across the
//! call of the measured function, which may return on another thread.

use crate::count::{self, Frame, Group};
use crate::figures::Stats;

/// Runs `f`, counting this thread's events.
pub(crate) fn measured<R>(f: impl FnOnce() -> R) -> (R, Stats) {
    counted(None, f)
}

/// Runs `f` and counts this thread's events, also for `group`.
///
/// NOTE: the stacks of counted events end at the frame of this function, so it must not be inlined.
#[inline(never)]
pub(crate) fn counted<R>(group: Option<&'static Group>, f: impl FnOnce() -> R) -> (R, Stats) {
    let entered = Entered(enter(group));
    let result = f();
    let figures = count::figures_of(entered.0);
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
    let (frame, _is_first) = count::enter(group);
    #[cfg(recording)]
    if _is_first {
        crate::hook::measuring(true);
    }
    frame
}

#[inline(never)]
fn leave(frame: &'static Frame) {
    let _was_last = count::leave(frame);
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
