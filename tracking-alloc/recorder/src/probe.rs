//! Finds out if the allocations of this program are reported, by allocating one block.

use crate::error::{Error, NOT_INSTALLED};
use std::sync::atomic::{AtomicBool, Ordering::*};

static OBSERVED: AtomicBool = AtomicBool::new(false);

/// Returns `true` if an allocation of the program's global allocator is reported to this recorder.
pub fn is_observing() -> bool {
    if OBSERVED.load(Relaxed) {
        return true;
    }
    let (block, figures) = crate::measured(|| std::hint::black_box(Box::new(0u8)));
    drop(block);
    let seen = figures.total_blocks > 0;
    OBSERVED.store(seen, Relaxed);
    seen
}

/// Checks [`is_observing`] for the caller of the function `what`.
///
/// # Panics
/// If the global allocator is not reported, with the two lines to add.
pub fn assert_observing(what: &str) {
    assert!(is_observing(), "{what}: {NOT_INSTALLED}");
}

/// Returns an error where [`assert_observing`] panics.
///
/// # Errors
/// If the global allocator is not reported, with the two lines to add.
pub fn require_observing() -> Result<(), Error> {
    if is_observing() {
        Ok(())
    } else {
        Err(Error::not_installed())
    }
}
