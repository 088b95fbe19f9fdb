//! The hook: the code that runs at each allocator call while something records.
//!
//! The hook never allocates through the observed allocator, never panics, takes no lock on its hot
//! path, and keeps `errno`. An allocation is forwarded first and then recorded; a free is recorded
//! first and then forwarded. A realloc is one event.
//!
//! The reasons for its choices are in `docs/src/decisions/events.md`.

mod event;
mod here;
mod lane;
mod looks;
mod net;
mod owner;
mod peak;
mod resident;
mod sampled;
mod signal;
mod snapshots;
mod stats;
mod visits;
mod writers;

pub(crate) use event::{
    allocated, freed, freed_unsized, reallocated, reallocated_among_samples, reallocating,
    reallocating_in_pool, request_failed,
};
#[cfg(captures)]
pub use net::PassedOver;
pub(crate) use net::{Net, measuring, net_here};
pub(crate) use peak::{
    PeakChecks, check_peak_now, end_last_pause, mark_window, phase_ended, sample, set_paused,
    start_paused,
};
pub(crate) use resident::{forget as forget_resident, read as read_resident};
pub(crate) use sampled::TakenBlock;
pub(crate) use signal::{forget_signals, install_signals, remove_signals};

pub(crate) use snapshots::{
    attach, forget as forget_snapshots, take_at_end, take_at_mark, take_now, wants_end,
};
pub(crate) use stats::{part, recorded_stats};
pub(crate) use visits::{visit, visit_again};
pub(crate) use writers::{Inside, forget_all, forget_made, wait_until_idle};

use crate::sys::Lock;

/// The peak lock, for the peak, the timeline, checkpoints and marks. It is taken before the write
/// lock, never after it.
pub(crate) static PEAK_CHECKS: Lock<PeakChecks> = Lock::new(PeakChecks::new());
