//! Finds out if the allocations of this program are reported, by allocating one block.

use crate::error::{Error, NOT_INSTALLED};
use std::sync::atomic::{AtomicBool, Ordering::*};

static OBSERVED: AtomicBool = AtomicBool::new(false);

/// The reason why a function that needs every event is refused while samples are taken.
const SAMPLES: &str = "this recording takes samples, so it does not know every block; record in mode `exact`, \
    or without a recording";

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

/// Checks [`assert_observing`], and that every event is seen, for the caller of the function
/// `what`.
///
/// # Panics
/// If the global allocator is not reported, or if the recording in progress takes samples.
pub fn assert_exact(what: &str) {
    assert_observing(what);
    assert!(sees_every_event(), "{what}: {SAMPLES}");
}

/// Returns `false`, with a line on standard error the first time, where [`assert_exact`] panics
/// because of samples.
pub fn is_exact(what: &str) -> bool {
    static SAID: AtomicBool = AtomicBool::new(false);
    let is_exact = sees_every_event();
    if !is_exact && !SAID.swap(true, Relaxed) {
        #[cfg(recording)]
        crate::sys::write_stderr(&[
            b"heapglass: ",
            what.as_bytes(),
            b": ",
            SAMPLES.as_bytes(),
            b"\n",
        ]);
    }
    #[cfg(not(recording))]
    let _ = what;
    is_exact
}

fn sees_every_event() -> bool {
    #[cfg(recording)]
    {
        crate::state::need_every_event();
        !crate::state::samples()
    }
    #[cfg(not(recording))]
    true
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
