//! The counters of a handle. The handle counts in the memory of a slot, and decides when the
//! recording must be updated.

use super::counters::ArenaCounters;
use super::scope_counters::ScopeCounter;
use super::slot::Slot;
use super::{ArenaEvent, ArenaStats, values, writing};
use crate::{current_scope, hook, session, state, sys};
use std::cell::Cell;
use std::sync::atomic::Ordering::*;

/// Maximum number of bytes allocated between two updates.
const UPDATE_BYTES: u64 = 64 << 10;
/// Minimum number of bytes allocated between two updates.
const FIRST_UPDATE_BYTES: u64 = 1 << 10;

/// The counters of a handle: in its own memory, and in a slot once something records.
#[derive(Default)]
pub struct RecordedArena {
    /// The counters in the handle.
    pub inline: ArenaCounters,
    slot: Cell<Option<&'static Slot>>,
    /// The counter of the scope that the thread was in at the last call.
    counter: Cell<Option<&'static ScopeCounter>>,
    /// Number of bytes still to be allocated before the recording is updated.
    left: Cell<u64>,
}

impl RecordedArena {
    /// Returns `true` if the counters lie where the recording can reach them.
    #[inline(always)]
    pub fn is_recorded(&self) -> bool {
        self.slot.get().is_some()
    }

    /// Returns the counters, wherever they currently lie.
    #[inline(always)]
    pub fn counters(&self) -> &ArenaCounters {
        self.slot.get().map_or(&self.inline, |slot| &slot.counters)
    }

    /// Moves the counters to where the recording can reach them, if something records and they are
    /// not there yet. `place` is an address in the arena's current chunk, 0 if there is none.
    pub fn begin(&self, name: &str, krate: &'static str, place: usize) {
        if state::get() & state::RECORD == 0 {
            return;
        }
        let (Some(inside), Some(session)) = (hook::Inside::enter(), session::current()) else {
            return;
        };
        let known = self.slot.get();
        if known.is_some_and(|slot| slot.tag.load(Relaxed) == session.tag()) {
            return;
        }
        let errno = sys::Errno::keep();
        // After a fork, the old slot belongs to the parent. The counters continue in a new one.
        let counters = known.map_or(&self.inline, |slot| {
            slot.sum_up();
            &slot.counters
        });
        let slot = writing::open(
            &mut session.write.lock(),
            session.tag(),
            name.as_bytes(),
            krate.as_bytes(),
            counters,
        );
        drop(errno);
        drop(inside);
        let Some(slot) = slot else { return };
        self.slot.set(Some(slot));
        self.counter.set(None);
        // Earlier allocations belong to the scope in which the arena's recording begins.
        if let Some(counter) = self.counter(slot) {
            slot.adopt(counter);
        }
        self.publish(match slot.counters.chunks.get() {
            0 => ArenaEvent::Update,
            _ => ArenaEvent::Chunk {
                used: 0,
                piece: place,
            },
        });
    }

    /// Returns the counter of the thread's current scope, if it exists.
    #[inline(always)]
    fn known_counter(&self, slot: &'static Slot) -> Option<&'static ScopeCounter> {
        let scope = current_scope::current();
        match self.counter.get() {
            Some(counter) if counter.scope.get() == u64::from(scope) => Some(counter),
            _ => {
                let counter = slot.scopes.find(scope)?;
                self.counter.set(Some(counter));
                Some(counter)
            }
        }
    }

    fn counter(&self, slot: &'static Slot) -> Option<&'static ScopeCounter> {
        self.known_counter(slot).or_else(|| {
            let scope = current_scope::current();
            writing::add_counter(slot, scope)
        })
    }

    /// Counts an allocated piece.
    #[inline(always)]
    pub fn count_allocated(&self, bytes: u64) {
        let Some(slot) = self.slot.get() else {
            return self.inline.count_allocated(bytes);
        };
        // PERF: rare cases are one tail call, which needs no registers to be kept.
        let left = self.left.get().wrapping_sub(bytes);
        match self.known_counter(slot) {
            Some(counter) if left as i64 >= 0 => {
                counter.total_bytes.add(bytes);
                counter.total_blocks.add(1);
                self.left.set(left);
            }
            _ => self.allocated_and_update(slot, bytes),
        }
    }

    /// Counts an allocated piece if the scope is new to the arena, or an update is due.
    #[cold]
    #[inline(never)]
    fn allocated_and_update(&self, slot: &'static Slot, bytes: u64) {
        if let Some(counter) = self.counter(slot) {
            counter.total_bytes.add(bytes);
            counter.total_blocks.add(1);
        }
        match self.left.get().checked_sub(bytes) {
            Some(left) => self.left.set(left),
            None => self.publish(ArenaEvent::Update),
        }
    }

    /// Counts the growth of a piece.
    pub fn count_grown(&self, copied: u64) {
        let Some(slot) = self.slot.get() else { return };
        if let Some(counter) = self.counter(slot) {
            counter.grows.add(1);
            counter.copied_bytes.add(copied);
        }
    }

    /// Subtracts bytes and pieces that are no longer allocated.
    pub fn count_released(&self, bytes: u64, blocks: u64) {
        let Some(slot) = self.slot.get() else {
            return self.inline.count_released(bytes, blocks);
        };
        if let Some(counter) = self.counter(slot) {
            counter.gone_bytes.add(bytes);
            counter.gone_blocks.add(blocks);
        }
    }

    /// Counts bytes that bypassed the handle. The number is negative if such bytes were released.
    pub fn count_bypassed(&self, bytes: i64) {
        let Some(slot) = self.slot.get().filter(|_| bytes != 0) else {
            return;
        };
        if let Some(counter) = self.counter(slot) {
            counter.bypassed_bytes.add(bytes as u64);
        }
    }

    /// Records a value of `bytes` bytes at `place` whose drop never runs.
    #[inline(always)]
    pub fn note_undropped(&self, type_name: &'static str, place: usize, bytes: usize) {
        if let Some(slot) = self.slot.get() {
            values::note_undropped(slot, type_name, place, bytes);
        }
    }

    /// Notes that nothing is allocated any more.
    pub fn emptied(&self) {
        match self.slot.get() {
            Some(slot) => slot.empty(),
            None => self.inline.empty(),
        }
    }

    /// Updates the counters from those of the scopes.
    pub fn sum_up(&self) {
        if let Some(slot) = self.slot.get() {
            slot.sum_up();
        }
    }

    /// Updates the recording.
    #[cold]
    #[inline(never)]
    pub fn publish(&self, event: ArenaEvent) {
        let Some(slot) = self.slot.get() else { return };
        slot.sum_up();
        let allocated = slot.counters.total_allocated();
        self.left
            .set(allocated.clamp(FIRST_UPDATE_BYTES, UPDATE_BYTES));
        writing::publish(slot, event);
    }

    /// Notes that the handle is gone. `before` has the figures before that.
    pub fn end(&self, before: &ArenaStats) {
        if let Some(slot) = self.slot.take() {
            self.counter.set(None);
            writing::end(slot, before);
        }
    }
}
