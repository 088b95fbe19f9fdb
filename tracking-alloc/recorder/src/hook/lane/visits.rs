//! The number of times a thread entered the scope of a field.
//!
//! Every deserialized value counts a visit, so counting uses no lock and no atomic addition.

use super::net::own_or_new;
use super::{Lane, own};
use crate::hook::Inside;
use crate::session::{add, scope_number, scope_record};
use crate::state;
use crate::sys::{CHUNK, Errno};
use std::cell::Cell;
use std::sync::atomic::{Ordering::*, compiler_fence};
use tracking_alloc_recording::Visits;

/// The counter of a lane for a scope.
#[repr(transparent)]
pub(super) struct Visited(Cell<*const Visits>);

/// Counts that the calling thread enters the scope of a field.
#[inline(always)]
pub(crate) fn visit(scope: u32) {
    if !visit_again(scope) {
        visit_slowly(scope);
    }
}

/// Counts a visit of a scope that the lane has counted before. Returns `false` without counting if
/// the slow path is needed.
#[inline(always)]
pub(crate) fn visit_again(scope: u32) -> bool {
    let Some(lane) = own() else {
        return false;
    };
    if lane.busy.load(Relaxed) {
        return false;
    }
    lane.busy.store(true, Relaxed);
    // NOTE: as in an event, the busy flag is set before the state is read, so that nobody writes
    // into a finished recording.
    compiler_fence(SeqCst);
    let counted = lane.is_of(state::get()) && lane.count_visit(scope);
    compiler_fence(SeqCst);
    lane.busy.store(false, Relaxed);
    counted
}

/// Counts the first visit of a scope in a lane, or a visit in a shared lane.
#[cold]
#[inline(never)]
fn visit_slowly(scope: u32) {
    let word = state::get();
    // If allocations are not counted, values are not counted either.
    if word & state::RECORD == 0 || word & state::PAUSED != 0 {
        return;
    }
    let lane = own_or_new();
    let Some(_inside) = Inside::enter() else {
        return;
    };
    // A scope of another recording does not exist in this one.
    let Some(record) = scope_record(scope) else {
        return;
    };
    if lane.is_some_and(|lane| lane.count_visit(scope) || lane.count_first_visit(scope).is_some()) {
        return;
    }
    record.entered.fetch_add(1, Relaxed);
}

impl Lane {
    #[inline(always)]
    fn count_visit(&self, scope: u32) -> bool {
        // SAFETY: only the lane's owner reaches this. It is null or a record, which stays mapped.
        let known = |visited: &Visited| unsafe { visited.0.get().as_ref() };
        // The table ignores the generation in the upper bits of the number.
        let visits = self.visits.get(scope).and_then(known);
        if let Some(visits) = visits {
            add(&visits.count, 1);
        }
        visits.is_some()
    }

    /// Creates the record. Returns `None` if there is no room.
    fn count_first_visit(&self, scope: u32) -> Option<()> {
        let _errno = Errno::keep();
        let scope = scope_number(scope);
        // SAFETY: the tables belong to the lane's owner, who is the caller.
        let bump = unsafe { &mut (*self.tables.get()).bump };
        let visited = self.visits.get_or_make(scope, || bump.take(CHUNK))?;
        let fill = |visits: &Visits| {
            visits.scope.store(scope, Relaxed);
            visits.count.store(1, Relaxed);
        };
        let (_, visits) =
            self.add_record(|tables| &mut tables.visits, |lane| &lane.visits_len, fill)?;
        visited.0.set(visits);
        Some(())
    }
}
