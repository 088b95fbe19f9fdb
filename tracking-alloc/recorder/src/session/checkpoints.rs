//! Checkpoints: moments at which the recording keeps what each row holds.
//!
//! Taking one stores its moment and advances the clock. The cost comes later: each row that changes
//! afterwards first saves what it held. So the number of saved values is counted, and no checkpoint
//! is taken while they cost more than the run allows.

use std::ptr::null;
use std::sync::atomic::{AtomicU64, Ordering::*};

use super::rows::CLOCK;
use crate::sys;
use tracking_alloc_recording::{
    CHECKPOINT_GROUP, CHECKPOINT_SLOTS, CheckpointMoment, CheckpointMomentValue,
    Checkpoints as CheckpointRecord, Clock, Record, checkpoint_kind,
};

/// The kinds of checkpoints.
const KINDS: [u32; 3] = [
    checkpoint_kind::TIME,
    checkpoint_kind::PHASE,
    checkpoint_kind::MARK,
];

/// If there are fewer checkpoints due by time and fewer at ends of phases, those at marks are
/// dropped, as long as there are at least as many.
const FEW: usize = 8;

/// An upper estimate of the time that saving a row for one checkpoint takes, page faults included,
/// in nanoseconds. It takes 180 instructions, and 75 for each further checkpoint.
const SAVE_NS: u64 = 100;
/// The time that checkpoints may take: one part in this number of the run, and this much more.
const ONE_IN: u64 = 100;
const ALLOWED_NS: u64 = 1_000_000;

/// After a refusal, ends of phases do not ask again for this time, in nanoseconds. For as long, the
/// ends of phases that are entered often make no check.
pub(super) const RETRY_NS: u64 = 10_000_000;

/// The bytes that saved values may take in the recording, as far as the first group of each row
/// leaves any.
const MOST_BYTES: u64 = 8 << 20;

/// Number of rows of sites, in all lanes.
static ROWS: AtomicU64 = AtomicU64::new(0);

/// Counts a new row, whose values take space at each checkpoint.
pub(crate) fn count_row() {
    ROWS.fetch_add(1, Relaxed);
}

/// Returns the number of slots that may be used with so many rows: a row that changes after a
/// checkpoint has a record for each group of slots.
fn slots_for(rows: u64) -> usize {
    let groups = MOST_BYTES / size_of::<CheckpointRecord>() as u64 / rows.max(1);
    let most = (CHECKPOINT_SLOTS / CHECKPOINT_GROUP) as u64;
    groups.clamp(1, most) as usize * CHECKPOINT_GROUP
}

/// Number of values saved since the recording began: one for each row and checkpoint.
static SAVED_VALUES: AtomicU64 = AtomicU64::new(0);
/// The numbers and slots of the last checkpoints: the number is shifted by [`SLOT_BITS`].
static LAST_SLOTS: [AtomicU64; CHECKPOINT_SLOTS] = [const { AtomicU64::new(0) }; CHECKPOINT_SLOTS];
const SLOT_BITS: u32 = 8;
const _: () = assert!(CHECKPOINT_SLOTS <= 1 << SLOT_BITS);
/// The tick before which the end of a phase takes no checkpoint.
static PHASE_DUE_TICKS: AtomicU64 = AtomicU64::new(0);

/// The tick before which the end of a phase that is entered often makes no check.
static CHECK_DUE_TICKS: AtomicU64 = AtomicU64::new(0);

/// The moments of a recording, one for each slot.
pub(crate) type Moments = [CheckpointMoment; CHECKPOINT_SLOTS];

/// The reason for a checkpoint: its kind, and the string with its name.
#[derive(Clone, Copy)]
pub(crate) struct Reason {
    pub(crate) kind: u32,
    pub(crate) name: u32,
}

/// The state of checkpoints, accessed under the peak lock.
pub(super) struct Checkpoints {
    /// In the mapping, or null before the start.
    moments: *const Moments,
    /// Number of checkpoints so far.
    taken: u64,
    /// The time of the last checkpoint, and of the last one of each kind.
    last_ns: u64,
    last_of_kind_ns: [u64; KINDS.len()],
    /// The least time between two checkpoints of each kind. For those that are due by time, since
    /// the last one of any kind.
    step_ns: [u64; KINDS.len()],
    /// Scratch for [`thin`](Checkpoints::thin): numbers and slots by age. It is not on the stack,
    /// because events have little.
    by_age: [(u64, usize); CHECKPOINT_SLOTS],
}

impl Checkpoints {
    pub(super) const fn new(step_ns: u64) -> Self {
        Checkpoints {
            moments: null(),
            taken: 0,
            last_ns: 0,
            last_of_kind_ns: [0; KINDS.len()],
            step_ns: [step_ns, 0, 0],
            by_age: [(0, 0); CHECKPOINT_SLOTS],
        }
    }

    /// Begins with the mapped moments.
    pub(super) fn start(&mut self, moments: *const Moments) {
        self.moments = moments;
        SAVED_VALUES.store(0, Relaxed);
        ROWS.store(0, Relaxed);
        PHASE_DUE_TICKS.store(0, Relaxed);
        CHECK_DUE_TICKS.store(0, Relaxed);
    }

    /// Returns the number of the last checkpoint.
    pub(super) fn taken(&self) -> u64 {
        self.taken
    }

    /// Takes a checkpoint, unless it follows the last one too soon or checkpoints already cost too
    /// much. `ticks_of` turns nanoseconds into ticks.
    pub(super) fn take(
        &mut self,
        reason: Reason,
        moment: CheckpointMomentValue,
        (ticks, ticks_of): (u64, impl Fn(u64) -> u64),
    ) -> bool {
        let kind = reason.kind as usize;
        // SAFETY: null, or mapped while the recording is current.
        let (Some(moments), Some(&step_ns)) =
            (unsafe { self.moments.as_ref() }, self.step_ns.get(kind))
        else {
            return false;
        };
        let now = moment.time_ns;
        let last_ns = match reason.kind {
            checkpoint_kind::TIME => self.last_ns,
            _ => self.last_of_kind_ns[kind],
        };
        let is_first = last_ns == 0 && reason.kind != checkpoint_kind::TIME;
        let due_ns = if is_first { 0 } else { last_ns + step_ns };
        let cost_ns = SAVED_VALUES.load(Relaxed).saturating_mul(SAVE_NS);
        let is_cheap = cost_ns <= ALLOWED_NS + now / ONE_IN;
        if now < due_ns || !is_cheap || self.taken >= Clock::LAST_CHECKPOINT {
            let wait_ns = due_ns.saturating_sub(now).max(RETRY_NS);
            if reason.kind == checkpoint_kind::PHASE {
                PHASE_DUE_TICKS.store(ticks.saturating_add(ticks_of(wait_ns)), Relaxed);
            }
            return false;
        }
        let slots = slots_for(ROWS.load(Relaxed));
        let free = || {
            let is_free = |moment: &CheckpointMoment| moment.sequence.load(Relaxed) == 0;
            moments.iter().take(slots).position(is_free)
        };
        let mut slot = free();
        // Each time, half of one kind goes, of any slots.
        for _ in 0..CHECKPOINT_SLOTS {
            if slot.is_some() || !self.thin(moments, now) {
                break;
            }
            slot = free();
        }
        let Some((slot, place)) = slot.and_then(|slot| Some((slot, moments.get(slot)?))) else {
            return false;
        };
        self.taken += 1;
        (self.last_ns, self.last_of_kind_ns[kind]) = (now, now.max(1));
        let value = CheckpointMomentValue {
            sequence: 0,
            kind: reason.kind,
            name: reason.name,
            ..moment
        };
        value.store(place);
        let entry = self.taken << SLOT_BITS | slot as u64;
        LAST_SLOTS[self.taken as usize % CHECKPOINT_SLOTS].store(entry, Release);
        place.sequence.store(self.taken, Release);
        true
    }

    /// Drops half of the checkpoints of one kind, those that are closest together, and doubles the
    /// step of that kind. Never drops the first checkpoint. Returns `false` if there is none to
    /// drop.
    ///
    /// Of those due by time and those at ends of phases, the kind goes that has more. So a program
    /// with many phases still has moments that are spread over all of its run.
    fn thin(&mut self, moments: &Moments, now: u64) -> bool {
        let by_age = &mut self.by_age;
        let mut kept = 0;
        for (slot, moment) in moments.iter().enumerate() {
            let number = moment.sequence.load(Relaxed);
            // Free slots have the number 0. The sort of the library would need more stack.
            if number != 0 {
                let place = by_age[..kept].partition_point(|(earlier, _)| *earlier < number);
                by_age.copy_within(place..kept, place + 1);
                by_age[place] = (number, slot);
                kept += 1;
            }
        }
        let kind_of = |slot: usize| moments[slot].kind.load(Relaxed);
        let number = |kind: u32| {
            let later = by_age.get(1..kept).unwrap_or_default().iter();
            later.filter(|(_, slot)| kind_of(*slot) == kind).count()
        };
        let [by_time, at_phases, at_marks] = KINDS.map(number);
        let others = by_time.max(at_phases);
        let kind = if others == 0 && at_marks == 0 {
            return false;
        } else if others == 0 || (others < FEW && at_marks >= FEW) {
            checkpoint_kind::MARK
        } else if at_phases > by_time {
            checkpoint_kind::PHASE
        } else {
            checkpoint_kind::TIME
        };
        for _ in 0..number(kind).div_ceil(2) {
            let gap = |place: &usize| {
                let time = |place: usize| moments[by_age[place].1].time_ns.load(Relaxed);
                let next = if place + 1 < kept {
                    time(place + 1)
                } else {
                    now
                };
                next.saturating_sub(time(place - 1))
            };
            let places = (1..kept).filter(|place| kind_of(by_age[*place].1) == kind);
            let Some(closest) = places.min_by_key(gap) else {
                break;
            };
            moments[by_age[closest].1].sequence.store(0, Relaxed);
            by_age.copy_within(closest + 1..kept, closest);
            kept -= 1;
        }
        let step = &mut self.step_ns[kind as usize];
        *step = (2 * *step).max(now / CHECKPOINT_SLOTS as u64);
        true
    }
}

/// Returns `true` if the end of a phase may take a checkpoint now.
pub(crate) fn may_follow_phase() -> bool {
    sys::ticks() >= PHASE_DUE_TICKS.load(Relaxed)
}

/// Returns `true` if the end of a phase that is entered often may make a check now.
pub(crate) fn may_check_after_phase() -> bool {
    sys::ticks() >= CHECK_DUE_TICKS.load(Relaxed)
}

/// Lets ends of phases that are entered often make no check before a tick.
pub(super) fn defer_checks_after_phases(due_ticks: u64) {
    CHECK_DUE_TICKS.store(due_ticks, Relaxed);
}

/// Returns the slot of one of the last checkpoints. Returns `None` if later ones have taken its
/// place in the list.
fn slot_of(number: u64) -> Option<usize> {
    let entry = LAST_SLOTS[number as usize % CHECKPOINT_SLOTS].load(Acquire);
    let slot = (entry & ((1 << SLOT_BITS) - 1)) as usize;
    (entry >> SLOT_BITS == number && slot < CHECKPOINT_SLOTS).then_some(slot)
}

/// Calls `save` with the slot of each checkpoint taken after number `seen`, and counts the calls.
/// Calls it twice for some if they are too many to be listed.
pub(crate) fn save_row(moments: &Moments, seen: u64, mut save: impl FnMut(usize)) {
    let mut saved = 0;
    let mut save = |slot| {
        saved += 1;
        save(slot);
    };
    let last = CLOCK.load(Acquire).checkpoint();
    // The common case: one or a few checkpoints, so most slots need no look.
    let are_listed = (seen + 1..=last).all(|number| {
        let Some(slot) = slot_of(number) else {
            return false;
        };
        if moments[slot].sequence.load(Acquire) == number {
            save(slot);
        }
        true
    });
    if !are_listed {
        for (slot, moment) in moments.iter().enumerate() {
            if moment.sequence.load(Acquire) > seen {
                save(slot);
            }
        }
    }
    SAVED_VALUES.fetch_add(saved, Relaxed);
}
