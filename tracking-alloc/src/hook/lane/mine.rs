//! What a thread asks of its own lane outside events: its net, and how often it entered the scope of a field.
//!
//! Counting a visit is on the path of every value that is deserialized: no lock, no atomic addition.

use super::{Lane, MEASURED, of_thread, own};
use crate::hook::Inside;
use crate::state;
use crate::tables::{self, net_bytes};
use std::sync::atomic::Ordering::*;

/// Net bytes of a thread at some moment.
#[derive(Clone, Copy)]
pub(crate) struct Net {
    lane: *const Lane,
    bytes: i64,
}

impl Net {
    /// The difference from an earlier moment; `None` when the lane has changed.
    pub(crate) fn since(self, before: Net) -> Option<i64> {
        (self.lane == before.lane).then(|| self.bytes.wrapping_sub(before.bytes))
    }
}

/// Net bytes of the calling thread. `None` when nothing records, or its lane is shared with other threads.
pub(crate) fn net_here() -> Option<Net> {
    let lane = mine()?;
    Some(Net {
        lane,
        bytes: net_bytes(lane.all()),
    })
}

/// The calling thread's own lane in the present recording, made if it has none.
fn mine() -> Option<&'static Lane> {
    let word = state::get();
    if word & state::RECORD == 0 {
        return None;
    }
    match known(word & !state::PAUSED) {
        Some(lane) => Some(lane),
        None => move_in(),
    }
}

/// The calling thread's lane, if it is of the recording with this tag.
fn known(tag: u32) -> Option<&'static Lane> {
    own().filter(|lane| lane.is_of(tag))
}

#[cold]
#[inline(never)]
fn move_in() -> Option<&'static Lane> {
    let _inside = Inside::enter()?;
    let session = tables::current()?;
    // SAFETY: `Inside` has set `busy` for this thread.
    unsafe { of_thread(session) }.filter(|lane| !lane.is_shared())
}

/// The calling thread begins to measure itself, or has ended: only its own events ask further questions meanwhile.
pub(crate) fn measuring(begins: bool) {
    match own() {
        Some(lane) if begins => lane.tag.fetch_or(MEASURED, Relaxed),
        Some(lane) => lane.tag.fetch_and(!MEASURED, Relaxed),
        None => 0,
    };
}

#[cfg(feature = "serde")]
pub(super) use visits::Visited;
#[cfg(feature = "serde")]
pub(crate) use visits::{visit, visit_again};

#[cfg(feature = "serde")]
mod visits {
    use super::super::PARKED;
    use super::*;
    use crate::sys::Errno;
    use crate::tables::{add, push, scope_number, scope_record};
    use std::cell::Cell;
    use std::sync::atomic::compiler_fence;
    use tracking_alloc_recording::Visits;

    /// Where a lane counts a scope.
    #[repr(transparent)]
    pub(in super::super) struct Visited(Cell<*const Visits>);

    /// The calling thread enters the scope of a field.
    #[inline(always)]
    pub(crate) fn visit(scope: u32) {
        if !visit_again(scope) {
            visit_anyhow(scope);
        }
    }

    /// The same for a scope that its lane has counted before; false, and not counted, when anything is unusual.
    #[inline(always)]
    pub(crate) fn visit_again(scope: u32) -> bool {
        let Some(lane) = own() else {
            return false;
        };
        if lane.busy.load(Relaxed) {
            return false;
        }
        let tag = lane.tag.load(Relaxed) & !(MEASURED | PARKED);
        lane.busy.store(true, Relaxed);
        // NOTE: as in an event: busy before the state is read, so that nobody writes into a finished recording.
        compiler_fence(SeqCst);
        let counted = state::get() == tag && lane.count_visit(scope);
        compiler_fence(SeqCst);
        lane.busy.store(false, Relaxed);
        counted
    }

    /// The first visit of a scope in a lane, or a shared lane.
    #[cold]
    #[inline(never)]
    fn visit_anyhow(scope: u32) {
        let word = state::get();
        // What is not counted as allocated is not counted as a value either.
        if word & state::RECORD == 0 || word & state::PAUSED != 0 {
            return;
        }
        let lane = mine();
        let Some(_inside) = Inside::enter() else {
            return;
        };
        // A scope of another recording is none of this one's.
        let Some(record) = scope_record(scope) else {
            return;
        };
        if lane.is_some_and(|lane| lane.count_visit(scope) || lane.count_first_visit(scope)) {
            return;
        }
        record.entered.fetch_add(1, Relaxed);
    }

    impl Lane {
        #[inline(always)]
        fn count_visit(&self, scope: u32) -> bool {
            // PERF: the generation above the number falls away.
            let chunk = self.visits[(scope as usize / super::super::CHUNK) % self.visits.len()]
                .load(Relaxed);
            if chunk.is_null() {
                return false;
            }
            // SAFETY: a chunk has CHUNK entries, reached by the lane's owner alone; what they point to stays mapped.
            let Some(visits) = (unsafe {
                (*chunk.add(scope as usize % super::super::CHUNK))
                    .0
                    .get()
                    .as_ref()
            }) else {
                return false;
            };
            add(&visits.count, 1);
            true
        }

        /// Makes the record. False when there is no room for it.
        fn count_first_visit(&self, scope: u32) -> bool {
            let errno = Errno::keep();
            let made = self.make_visits(scope).is_some();
            drop(errno);
            made
        }

        fn make_visits(&self, scope: u32) -> Option<()> {
            use super::super::CHUNK;
            // SAFETY: the tables belong to the lane's owner, who is calling.
            let tables = unsafe { &mut *self.tables.get() };
            let scope = scope_number(scope);
            let place = self.visits.get(scope as usize / CHUNK)?;
            if place.load(Relaxed).is_null() {
                place.store(tables.bump.take::<Visited>(CHUNK)?.as_ptr(), Relaxed);
            }
            let (index, record) = push::<Visits>(&mut tables.visits)?;
            // SAFETY: a zeroed record that is the lane's own and stays mapped.
            let visits: &'static Visits = unsafe { record.as_ref() };
            visits.scope.store(scope, Relaxed);
            visits.count.store(1, Relaxed);
            // SAFETY: the chunk has CHUNK entries.
            unsafe { &*place.load(Relaxed).add(scope as usize % CHUNK) }
                .0
                .set(visits);
            self.record().visits_len.store(index as u32 + 1, Release);
            Some(())
        }
    }
}
