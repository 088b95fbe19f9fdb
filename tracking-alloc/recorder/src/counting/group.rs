//! Groups of threads that are counted together, as used by a `Threads` handle.
//!
//! The frames with which threads enter a group count for it. Groups are never freed, like frames.

use super::pool::{Pool, Reusable};
use super::shared::Shared;
use crate::stats::Stats;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::*};

/// Threads that are counted together.
#[expect(
    missing_debug_implementations,
    reason = "a handle to counters that change"
)]
pub struct Group {
    /// The number of handles and frames that refer to the group. 0 means unused.
    users: AtomicU32,
    is_measured: AtomicBool,
    pub(crate) counters: Shared,
}

static GROUPS: Pool<Group> = Pool::new();

/// A measurement in progress, which ends when it is dropped.
#[expect(
    missing_debug_implementations,
    reason = "a handle to counters that change"
)]
pub struct Measurement {
    group: &'static Group,
    /// The group's counts at the start of the measurement.
    live_bytes: i64,
    figures: Stats,
}

impl Reusable for Group {
    const UNUSED: Self = Group {
        users: AtomicU32::new(0),
        is_measured: AtomicBool::new(false),
        counters: Shared::new(),
    };

    fn claim(&self) -> bool {
        self.users.compare_exchange(0, 1, Acquire, Relaxed).is_ok()
    }
}

impl Group {
    /// Takes a group with one user.
    pub fn take() -> &'static Group {
        GROUPS.take()
    }

    /// Adds a user.
    pub fn retain(&self) {
        self.users.fetch_add(1, Relaxed);
    }

    /// Removes a user.
    pub fn release(&'static self) {
        if self.users.fetch_sub(1, AcqRel) == 1 {
            GROUPS.note_free(self);
        }
    }

    /// Returns the number of handles and frames that refer to the group, for tests.
    #[doc(hidden)]
    pub fn users(&self) -> u32 {
        self.users.load(Acquire)
    }

    /// Begins a measurement. Returns `None` if one is in progress.
    pub fn measure(&'static self) -> Option<Measurement> {
        (!self.is_measured.swap(true, AcqRel)).then(|| Measurement {
            group: self,
            live_bytes: self.counters.restart_peak(),
            figures: self.counters.figures(),
        })
    }
}

impl Measurement {
    /// Returns the counts since the start. The blocks at the peak are unknown, because several
    /// threads change them.
    pub fn figures(&self) -> Stats {
        let counters = &self.group.counters;
        let peak = counters.peak_bytes() - self.live_bytes;
        counters.figures().since(&self.figures, (peak, 0))
    }
}

impl Drop for Measurement {
    fn drop(&mut self) {
        self.group.is_measured.store(false, Release);
    }
}
