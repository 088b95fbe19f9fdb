//! One thread at a time adds to the tree. Nobody waits for long: a place that cannot be made now is counted at its
//! parent.
//!
//! The word is the process that holds it, so that a forked child takes it from a thread that does not exist there.
//! Additions are published by one store each, at the end: an abandoned one was never seen.

use std::sync::atomic::{AtomicU32, Ordering::*};

static HOLDER: AtomicU32 = AtomicU32::new(0);

/// While it lives, this thread alone adds.
pub(super) struct Turn;

impl Turn {
    pub(super) fn take() -> Option<Turn> {
        let me = process();
        for _ in 0..2000 {
            match HOLDER.compare_exchange(0, me, Acquire, Relaxed) {
                Ok(_) => return Some(Turn),
                Err(holder)
                    if holder != me
                        && HOLDER
                            .compare_exchange(holder, me, Acquire, Relaxed)
                            .is_ok() =>
                {
                    return Some(Turn);
                }
                Err(_) => std::thread::yield_now(),
            }
        }
        None
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        HOLDER.store(0, Release);
    }
}

#[cfg(any(unix, windows))]
fn process() -> u32 {
    std::process::id().max(1)
}

#[cfg(not(any(unix, windows)))]
fn process() -> u32 {
    1
}
