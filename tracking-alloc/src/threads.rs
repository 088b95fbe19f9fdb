//! `Threads`: a group of threads that `assert_allocs!` counts together.

use heapglass_recorder::counting::Group;
use heapglass_recorder::{Stats, measured_with};
use std::fmt;

/// A handle to count several threads together in [`assert_allocs!`](crate::assert_allocs). Only
/// threads that enter it are counted.
///
/// Clones are the same handle. A block that one thread allocates and another frees is no longer
/// live if both threads are inside.
///
/// ```
/// # #[global_allocator] static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();
/// let threads = tracking_alloc::Threads::new();
/// let (sender, receiver) = std::sync::mpsc::channel::<String>();
/// let reader = std::thread::spawn({
///     let threads = threads.clone();
///     move || threads.enter(|| receiver.iter().map(drop).count())
/// });
/// // The sender allocates, the reader frees.
/// tracking_alloc::assert_allocs!(threads, bytes <= 10_000, {
///     (0..50).for_each(|_| sender.send(String::with_capacity(100)).expect("it reads"));
///     drop(sender);
///     assert_eq!(reader.join().expect("it ends"), 50);
/// });
/// ```
pub struct Threads {
    pub(crate) group: &'static Group,
}

impl Threads {
    /// Creates a handle that no thread has entered. Does not allocate.
    #[must_use]
    pub fn new() -> Self {
        Threads {
            group: Group::take(),
        }
    }

    /// Runs `f` and counts this thread's events for the `assert_allocs!` block that uses this
    /// handle, if there is one.
    ///
    /// Outside of such a block, `f` runs uncounted. A thread that is inside when a block begins is
    /// counted from that moment; a thread that is inside when the block ends is counted up to that
    /// moment. An allocator call at that exact moment may be counted in part. Calls nest, also in
    /// one thread, where each event counts once. A panic in `f` passes through.
    pub fn enter<R>(&self, f: impl FnOnce() -> R) -> R {
        measured_with(Some(self.group), f).0
    }

    /// Runs `f` inside the handle and counts the events of all threads that are inside in the
    /// meantime.
    ///
    /// # Panics
    /// If another call of this function with this handle is in progress.
    #[track_caller]
    pub(crate) fn measure<R>(&self, f: impl FnOnce() -> R) -> (R, Stats) {
        let Some(measurement) = self.group.measure() else {
            panic!(
                "assert_allocs: this `Threads` counts another block already; make one for each block"
            )
        };
        let result = self.enter(f);
        (result, measurement.figures())
    }
}

impl Clone for Threads {
    fn clone(&self) -> Self {
        self.group.retain();
        Threads { group: self.group }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.group.release();
    }
}

impl Default for Threads {
    fn default() -> Self {
        Threads::new()
    }
}

impl fmt::Debug for Threads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Threads").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_used_by_its_handles_and_by_the_threads_inside_and_then_again() {
        let threads = Threads::new();
        let group = threads.group;
        let clone = threads.clone();
        assert_eq!(group.users(), 2);
        clone.enter(|| assert_eq!(group.users(), 3));
        drop(threads);
        assert_eq!(group.users(), 1);
        drop(clone);
        assert_eq!(group.users(), 0);
        assert!(std::ptr::eq(Threads::new().group, group));
    }
}
