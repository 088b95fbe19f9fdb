//! Finds out whether `TrackingAlloc` is the program's global allocator, by allocating one block.

use std::sync::atomic::{AtomicBool, Ordering::*};

static INSTALLED: AtomicBool = AtomicBool::new(false);

/// Returns `true` if an allocation of this thread reaches `TrackingAlloc`.
pub(crate) fn is_installed() -> bool {
    if INSTALLED.load(Relaxed) {
        return true;
    }
    let (block, figures) = crate::measure::measured(|| std::hint::black_box(Box::new(0u8)));
    drop(block);
    let seen = figures.total_blocks > 0;
    INSTALLED.store(seen, Relaxed);
    seen
}

/// # Panics
/// If `TrackingAlloc` is not the global allocator, with the two lines to add.
pub(crate) fn assert_installed(what: &str) {
    assert!(is_installed(), "{what}: {}", crate::error::NOT_INSTALLED);
}

/// Returns an error where [`assert_installed`] panics.
#[cfg(any(recording, in_memory))]
pub(crate) fn require() -> Result<(), crate::Error> {
    if is_installed() {
        Ok(())
    } else {
        Err(crate::Error::not_installed())
    }
}
