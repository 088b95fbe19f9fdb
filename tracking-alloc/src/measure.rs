//! Runs a function and counts what its thread does meanwhile.
//!
//! What it calls is never inlined: a thread-local's address must not be kept over the call of the
//! function, which may return on another thread.

use crate::count::{self, Frame, Group};
use crate::figures::Stats;

/// Runs `f`, counting this thread's events.
pub(crate) fn measured<R>(f: impl FnOnce() -> R) -> (R, Stats) {
    counted(None, f)
}

/// Runs `f`, counting this thread's events, for `group` too.
///
/// NOTE: its frame is where the stacks of what is counted end, so it must be there.
#[inline(never)]
pub(crate) fn counted<R>(group: Option<&'static Group>, f: impl FnOnce() -> R) -> (R, Stats) {
    let entered = Entered(enter(group));
    let result = f();
    let figures = count::figures_of(entered.0);
    drop(entered);
    (result, figures)
}

/// While it lives, this thread's events go to a frame; also when `f` unwinds.
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
