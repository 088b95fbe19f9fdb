//! Groups of threads that are counted together: what is behind a `Threads` handle.
//!
//! A group is counted by the frames that threads enter it with, and lies in memory that is never given back, as frames do.

use super::pool::{Pool, Reusable};
use super::shared::Shared;
#[cfg(captures)]
use super::sites::Stacks;
use crate::counters::Event;
use crate::figures::Stats;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::*};

pub(crate) struct Group {
    /// Handles and frames that refer to it. 0 = unused.
    users: AtomicU32,
    is_measured: AtomicBool,
    counters: Shared,
}

static GROUPS: Pool<Group> = Pool::new();

/// What a group had counted when a measurement began.
#[derive(Clone, Copy)]
pub(crate) struct GroupStart {
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
    /// A group with one user.
    pub(crate) fn take() -> &'static Group {
        GROUPS.take()
    }

    /// One more user.
    pub(crate) fn retain(&self) {
        self.users.fetch_add(1, Relaxed);
    }

    /// One user less.
    pub(crate) fn release(&'static self) {
        if self.users.fetch_sub(1, AcqRel) == 1 {
            GROUPS.note_free(self);
        }
    }

    #[cfg(test)]
    pub(crate) fn users(&self) -> u32 {
        self.users.load(Acquire)
    }

    pub(super) fn count(&self, event: Event, is_temporary: bool) {
        self.counters.count(event, is_temporary);
    }

    /// Begins to capture stacks of what it counts. `None` when another assertion does.
    #[cfg(captures)]
    pub(crate) fn capture(&'static self) -> Option<Stacks> {
        self.counters.capture()
    }

    /// Begins a measurement. `None` when one is in progress.
    pub(crate) fn begin(&self) -> Option<GroupStart> {
        if self.is_measured.swap(true, AcqRel) {
            return None;
        }
        Some(GroupStart {
            live_bytes: self.counters.restart_peak(),
            figures: self.counters.figures(),
        })
    }

    /// What was counted since a measurement began. The blocks at the peak are not known: several threads move them.
    pub(crate) fn figures_since(&self, begun: &GroupStart) -> Stats {
        let peak = self.counters.peak_bytes() - begun.live_bytes;
        let now = self.counters.figures();
        now.since(&begun.figures, (peak, 0))
    }

    /// The measurement has ended.
    pub(crate) fn end(&self) {
        self.is_measured.store(false, Release);
    }
}
