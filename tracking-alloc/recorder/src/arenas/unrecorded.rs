//! Arenas on platforms without recordings. They are counted only in their handles.

use super::counters::ArenaCounters;
use super::{ArenaEvent, ArenaStats};

/// The counters of a handle.
#[derive(Default)]
pub struct RecordedArena {
    /// The counters in the handle.
    pub inline: ArenaCounters,
}

impl RecordedArena {
    /// Returns `false`, because nothing records.
    #[inline(always)]
    pub fn is_recorded(&self) -> bool {
        false
    }

    /// Returns the counters.
    #[inline(always)]
    pub fn counters(&self) -> &ArenaCounters {
        &self.inline
    }

    /// Does nothing, because nothing records.
    pub fn begin(&self, _name: &str, _krate: &'static str, _place: usize) {}

    /// Counts an allocated piece.
    #[inline(always)]
    pub fn count_allocated(&self, bytes: u64) {
        self.inline.count_allocated(bytes);
    }

    /// Does nothing, because nothing records.
    pub fn count_grown(&self, _copied: u64) {}

    /// Subtracts bytes and pieces that are no longer allocated.
    pub fn count_released(&self, bytes: u64, blocks: u64) {
        self.inline.count_released(bytes, blocks);
    }

    /// Does nothing, because nothing records.
    pub fn count_bypassed(&self, _bytes: i64) {}

    /// Does nothing, because nothing records.
    #[inline(always)]
    pub fn note_undropped(&self, _type_name: &'static str, _place: usize, _bytes: usize) {}

    /// Notes that nothing is allocated any more.
    pub fn emptied(&self) {
        self.inline.empty();
    }

    /// Does nothing, because nothing records.
    pub fn sum_up(&self) {}

    /// Does nothing, because nothing records.
    pub fn publish(&self, _event: ArenaEvent) {}

    /// Does nothing, because nothing records.
    pub fn end(&self, _before: &ArenaStats) {}
}
