//! The hook: the code that runs at each allocator call while something records.
//!
//! Never allocates through the hooked allocator, never panics, takes no lock on its hot path, keeps
//! `errno`. Order: alloc = forward, then record; free = record, then forward; realloc is one event.

mod event;
mod lane;
mod open;
mod peak;
mod resident;
mod sizes;
mod stats;

pub(crate) use event::{allocated, freed, reallocated, reallocating, request_failed};
#[cfg(captures)]
pub(crate) use lane::PassedOver;
pub(crate) use lane::{Net, measuring, net_here, release_all, wait_until_idle};
#[cfg(feature = "serde")]
pub(crate) use lane::{visit, visit_again};
pub(crate) use open::Inside;
pub(crate) use peak::{PeakChecks, check_peak_now, mark_window};
pub(crate) use resident::{forget as forget_resident, read as read_resident};
pub(crate) use stats::{part, recorded_stats};

use crate::sys::Lock;

/// The peak lock, for the peak, the timeline, checkpoints and marks. It is taken before the write
/// lock, never after it.
pub(crate) static PEAK_CHECKS: Lock<PeakChecks> = Lock::new(PeakChecks::new());
