//! The hook: what happens at each allocator call while something records.
//!
//! Never allocates through the hooked allocator, never panics, takes no lock on its hot path, keeps `errno`.
//! Order: alloc = forward, then record; free = record, then forward; realloc is one event.

mod event;
mod lane;
mod open;
mod peak;
mod sizes;
mod stats;

pub(crate) use event::{allocated, freed, reallocated, reallocating};
#[cfg(feature = "serde")]
pub(crate) use lane::visit;
pub(crate) use lane::{Net, measuring, net_here, release_all, wait_until_idle};
pub(crate) use open::Inside;
pub(crate) use peak::{Looks, look_now, mark_window};
pub(crate) use stats::{part, recorded_stats};

use crate::sys::Lock;

/// The look lock: the peak, the timeline, snapshots, marks. Held before the write lock, never after it.
pub(crate) static LOOKS: Lock<Looks> = Lock::new(Looks::new());
