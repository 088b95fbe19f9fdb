//! Access of phases and fields to the recording's scopes.
//!
//! Never allocates through the observed allocator. A scope that does not fit is counted at its
//! parent, and the recording says so. Access to a record needs [`Inside`], which does not exist
//! after a recording is finished, nor in a forked child.

use crate::hook::{self, Inside};
use crate::{session, start, sys};
use std::sync::atomic::Ordering::*;
use tracking_alloc_recording::{PHASE_IS_RUNNING, Scope, scope_flags};

/// Enters the scope `name` under `parent`. Returns `None` if the table is full or nothing records;
/// the thread then stays in `parent`.
pub(crate) fn enter(parent: u32, name: &str) -> Option<u32> {
    start::examine();
    let inside = Inside::enter()?;
    let session = session::current()?;
    let _errno = sys::Errno::keep();
    let found = session.write.lock().phase(parent, name.as_bytes());
    let Some(scope) = found else {
        count_lost(&inside);
        return None;
    };
    if let Some(record) = session::scope_record(scope) {
        record.entered.fetch_add(1, Relaxed);
    }
    Some(scope)
}

pub(super) fn count_lost(_: &Inside) {
    if let Some(header) = session::header() {
        header.lost_scopes.fetch_add(1, Relaxed);
    }
}

/// Adds to the figures that the program reports for a scope.
pub(crate) fn report(scope: u32, bytes: u64, records: u64) {
    with_record(scope, |record| {
        record.input_bytes.fetch_add(bytes, Relaxed);
        record.records.fetch_add(records, Relaxed);
    });
}

/// Takes a checkpoint, if one is due.
pub(crate) fn outermost_ended(scope: u32) {
    hook::phase_ended(scope);
}

pub(super) fn with_record<T>(scope: u32, change: impl FnOnce(&Scope) -> T) -> Option<T> {
    let _inside = Inside::enter()?;
    session::scope_record(scope).map(change)
}

/// A guard of one entry of a phase. When it is dropped, its time is added to that of the phase.
pub(crate) struct Running {
    scope: u32,
    since_ns: u64,
}

impl Running {
    /// Begins the time of an entry. While the entry lasts, the time of the phase is unknown.
    pub(crate) fn begin(scope: u32) -> Option<Running> {
        let since_ns = sys::now_ns();
        with_record(scope, |record| {
            record.value_bytes.fetch_add(PHASE_IS_RUNNING, Relaxed);
            Running { scope, since_ns }
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // At least 1, because 0 means that no time is known.
        let elapsed_ns = sys::now_ns().saturating_sub(self.since_ns).max(1);
        with_record(self.scope, |record| {
            let ended = elapsed_ns.wrapping_sub(PHASE_IS_RUNNING);
            record.value_bytes.fetch_add(ended, Relaxed);
        });
    }
}

/// A guard during which the calling thread is in a scope. When it is dropped, the bytes allocated
/// and not freed in the meantime count as bytes that stayed.
pub(crate) struct Stayed {
    scope: u32,
    /// The thread's net bytes when it entered.
    since: hook::Net,
}

impl Stayed {
    /// Enters a scope. Nothing is counted for scope 0. Returns `None` if nothing records, or if the
    /// thread has no lane of its own. In the latter case, the scope states that the bytes that stayed
    /// are unknown.
    pub(crate) fn enter(scope: u32) -> Option<Stayed> {
        if scope == 0 {
            return None;
        }
        let since = hook::net_here();
        if since.is_none() {
            with_record(scope, |record| {
                record.flags.fetch_or(scope_flags::STAYED_UNKNOWN, Relaxed);
            });
        }
        since.map(|since| Stayed { scope, since })
    }
}

impl Drop for Stayed {
    fn drop(&mut self) {
        // If the process was forked meanwhile, the thread has another lane, and the difference is
        // unknown.
        if let Some(stayed) = hook::net_here().and_then(|now| now.since(self.since)) {
            with_record(self.scope, |record| {
                record.stayed_bytes.fetch_add(stayed, Relaxed);
            });
        }
    }
}
