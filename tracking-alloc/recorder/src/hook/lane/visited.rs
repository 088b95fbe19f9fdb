//! The counters of a lane for the scopes of fields.

use super::Lane;
use crate::session::{add, scope_number};
use crate::sys::{CHUNK, Errno};
use std::cell::Cell;
use std::sync::atomic::Ordering::*;
use tracking_alloc_recording::Visits;

/// The counter of a lane for a scope.
#[repr(transparent)]
pub(super) struct Visited(Cell<*const Visits>);

impl Lane {
    #[inline(always)]
    pub(in crate::hook) fn count_visit(&self, scope: u32) -> bool {
        // SAFETY: only the lane's owner reaches this. It is null or a record, which stays mapped
        // while the recording is current.
        let known = |visited: &Visited| unsafe { visited.0.get().as_ref() };
        // The table ignores the generation in the upper bits of the number.
        let visits = self.visits.get(scope).and_then(known);
        if let Some(visits) = visits {
            add(&visits.count, 1);
        }
        visits.is_some()
    }

    /// Creates the record. Returns `None` if there is no room.
    pub(in crate::hook) fn count_first_visit(&self, scope: u32) -> Option<()> {
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
