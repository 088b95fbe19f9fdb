//! Nothing records on this platform: arenas are counted in their handles only.

use super::super::counters::ArenaCounters;
use super::Event;

/// What a recording has of a handle: nothing.
#[derive(Default)]
pub(in super::super) struct Recorded;

impl Recorded {
    #[inline(always)]
    pub(in super::super) fn counters(&self) -> Option<&ArenaCounters> {
        None
    }

    pub(in super::super) fn begin(
        &self,
        _name: &str,
        _krate: &'static str,
        _inline: &ArenaCounters,
    ) {
    }

    #[inline(always)]
    pub(in super::super) fn count_allocated(&self, _bytes: u64) -> bool {
        false
    }

    pub(in super::super) fn count_grown(&self, _copied: u64) {}

    pub(in super::super) fn count_released(&self, _bytes: u64, _blocks: u64) -> bool {
        false
    }

    pub(in super::super) fn count_bypassed(&self, _bytes: i64) {}

    #[inline(always)]
    pub(in super::super) fn note_undropped(
        &self,
        _type_name: &'static str,
        _place: usize,
        _bytes: usize,
    ) {
    }

    pub(in super::super) fn emptied(&self) -> bool {
        false
    }

    pub(in super::super) fn sum_up(&self) {}

    pub(in super::super) fn publish(&self, event: Event) {
        if let Event::Chunk { used, piece } = event {
            let _ = (used, piece);
        } else if let Event::Reset { used } = event {
            let _ = used;
        }
    }

    pub(in super::super) fn end(&self, _used: u64) {}
}
