//! The write lock of the tree: one thread at a time adds to it. Nobody waits for ever: a place that
//! cannot be made in a second is counted at its parent, as a loss.
//!
//! The word is the process that holds it, so that a forked child takes it from a thread that does
//! not exist there. Additions are published by one store each, at the end: an abandoned one was
//! never seen.

use std::sync::atomic::{AtomicU32, Ordering::*};

static HOLDER: AtomicU32 = AtomicU32::new(0);

const YIELDS: u32 = 200;
/// In total a second: far more than a holder can need, and an end when it is this very thread, in a
/// signal handler.
const SLEEPS: u32 = 10_000;
const SLEEP_NS: u32 = 100_000;

/// While it lives, this thread alone adds.
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
                // The holder may have been taken off its core on a busy machine: yielding gets
                // nobody anywhere then.
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

/// No cancellation point where the recorder's own calls can be had.
fn sleep() {
    #[cfg(recording)]
    heapglass_recorder::sleep(SLEEP_NS);
    #[cfg(not(recording))]
    std::thread::sleep(std::time::Duration::from_nanos(SLEEP_NS.into()));
}

/// 1 where there are no processes.
fn process() -> u32 {
    if cfg!(any(unix, windows)) {
        std::process::id().max(1)
    } else {
        1
    }
}
