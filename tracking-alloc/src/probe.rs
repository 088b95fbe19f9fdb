//! Whether `TrackingAlloc` really is the program's global allocator: found out by allocating one
//! block.

use std::sync::atomic::{AtomicBool, Ordering::*};

static INSTALLED: AtomicBool = AtomicBool::new(false);

/// Whether an allocation of this thread reaches us.
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
/// When it is not, with the two lines to add.
pub(crate) fn assert_installed(what: &str) {
    assert!(is_installed(), "{what}: {}", crate::error::NOT_INSTALLED);
}

/// The same as an error.
#[cfg(any(recording, in_memory))]
pub(crate) fn require() -> Result<(), crate::Error> {
    if is_installed() {
        Ok(())
    } else {
        Err(crate::Error::not_installed())
    }
}
