//! The write lock of the tree: only one thread at a time adds to it. No thread waits forever. A
//! place that cannot be created within a second is counted at its parent, as a loss.
//!
//! The word contains the process that holds the lock, so that a forked child can take it from a
//! thread that does not exist there. Each addition is published by one store at its end, so an
//! abandoned addition was never visible.

use std::sync::atomic::{AtomicU32, Ordering::*};

static HOLDER: AtomicU32 = AtomicU32::new(0);

const YIELDS: u32 = 200;
/// A second in total. That is far more than a holder needs, and it ends the wait if the holder is
/// this same thread, in a signal handler.
const SLEEPS: u32 = 10_000;
const SLEEP_NS: u32 = 100_000;

/// A guard during which only this thread adds to the tree.
pub(super) struct WriteLock;

impl WriteLock {
    pub(super) fn acquire() -> Option<WriteLock> {
        let me = process();
        for attempt in 0..YIELDS + SLEEPS {
            // Free, or held by a thread that does not exist in this process.
            let take = |holder| (holder != me).then_some(me);
            if HOLDER.fetch_update(Acquire, Relaxed, take).is_ok() {
                return Some(WriteLock);
            }
            if attempt < YIELDS {
                std::thread::yield_now();
            } else {
                // On a busy machine, the holder may not be running. Yielding does not help then.
                sleep();
            }
        }
        None
    }
}

impl Drop for WriteLock {
    fn drop(&mut self) {
        HOLDER.store(0, Release);
    }
}

/// Sleeps. Where the recorder's own calls are available, this is not a cancellation point.
fn sleep() {
    #[cfg(recording)]
    heapglass_recorder::sleep(SLEEP_NS);
    #[cfg(not(recording))]
    std::thread::sleep(std::time::Duration::from_nanos(SLEEP_NS.into()));
}

/// Returns the id of the process, or 1 on platforms without processes.
fn process() -> u32 {
    if cfg!(any(unix, windows)) {
        std::process::id().max(1)
    } else {
        1
    }
}
