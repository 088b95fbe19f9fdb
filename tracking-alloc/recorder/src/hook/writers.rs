//! The count of threads that may still write into the recording, so that it is not sealed while
//! they write.
//!
//! Events on the hot path set their lane's busy flag instead. All other writers (a thread that gets
//! its lane, phases, marks) are counted here, and read the state only after they were counted.

use super::lane;
use crate::{state, sys, thread};
use std::sync::atomic::{AtomicU32, Ordering::*};

static WRITERS: AtomicU32 = AtomicU32::new(0);

/// Returns `true` if a counted writer is still writing.
pub(super) fn is_open() -> bool {
    WRITERS.load(SeqCst) != 0
}

/// Returns `true` if the calling thread itself is inside the hook, because a signal interrupted it
/// there.
pub(super) fn is_here() -> bool {
    let in_event = lane::own().is_some_and(|lane| lane.busy.load(Relaxed));
    in_event || thread::with(|thread| thread.busy.get()) == Some(true)
}

/// Waits until no owner is known to be inside the hook. Returns `false` if one stays inside: it was
/// killed there, or it is this thread itself, in a signal handler.
pub(crate) fn wait_until_idle() -> bool {
    // A few seconds.
    const SLEEPS: u32 = 30_000;
    if is_here() || !sys::fence_all_threads() && !sys::wait_for_stores() {
        return false;
    }
    let mut patience = sys::Patience::new(SLEEPS);
    // The shared lane is never busy. Threads that use it are counted as open writers.
    patience.wait_until(|| !is_open())
        && lane::lanes().all(|lane| patience.wait_until(|| !lane.busy.load(Acquire)))
}

/// Forgets the memory of lanes, in a forked child: the threads that own them are the parent's.
pub(crate) fn forget_made() {
    lane::forget_made();
}

/// Forgets all lanes and writers of the parent, for a forked child that starts its own recording.
/// Their memory is not freed.
pub(crate) fn forget_all() {
    lane::forget_all();
    WRITERS.store(0, SeqCst);
}

/// A guard that counts as one writer.
pub(super) struct Open;

impl Open {
    pub(super) fn count() -> Open {
        WRITERS.fetch_add(1, SeqCst);
        Open
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        WRITERS.fetch_sub(1, SeqCst);
    }
}

/// A guard for a thread that works on the recording outside of an event's fast path. Events of its
/// signal handlers are counted without a stack, so that they never wait for a lock that this thread
/// holds.
pub(crate) struct Inside {
    _open: Open,
}

impl Inside {
    /// Returns `None` if nothing records, or if a signal handler calls this during an event.
    pub(crate) fn enter() -> Option<Inside> {
        state::notice_fork();
        if !state::is_recording() || is_here() {
            return None;
        }
        set_busy(true);
        let inside = Inside {
            _open: Open::count(),
        };
        state::is_recording().then_some(inside)
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        set_busy(false);
    }
}

/// Marks this thread, and its own lane if it has one.
fn set_busy(busy: bool) {
    if let Some(lane) = lane::own() {
        lane.busy.store(busy, Release);
    }
    thread::with(|thread| thread.busy.set(busy));
}

#[cfg(test)]
mod tests {
    use super::lane::Lane;
    use super::*;
    use std::mem::MaybeUninit;

    #[test]
    fn a_forked_child_forgets_the_writers_of_its_parent() {
        let parent = Open::count();
        assert!(is_open());
        forget_all();
        assert!(!is_open());
        std::mem::forget(parent);
        drop((Open::count(), Open::count()));
        assert!(!is_open());
    }

    #[test]
    fn a_thread_is_in_the_hook_by_its_own_mark_or_that_of_its_lane() {
        assert!(!is_here());
        thread::with(|thread| thread.busy.set(true));
        assert!(is_here());
        thread::with(|thread| thread.busy.set(false));
        assert!(!is_here());
        // SAFETY: all-zero bytes are a lane that never had an owner.
        let lane = Box::new(unsafe { MaybeUninit::<Lane>::zeroed().assume_init() });
        let place: *const Lane = &raw const *lane;
        // The pointer is reset below, before the lane is dropped.
        thread::with(|thread| thread.lane.set(place.cast()));
        assert!(!is_here());
        lane.busy.store(true, Relaxed);
        assert!(is_here());
        thread::with(|thread| thread.lane.set(std::ptr::null()));
        assert!(!is_here());
    }
}
