//! The number of times a thread entered the scope of a field.
//!
//! Every deserialized value counts a visit, so counting uses no lock and no atomic addition.

use super::lane::own;
use super::net::own_or_new;
use super::writers::Inside;
use crate::session::scope_record;
use crate::state;
use std::sync::atomic::{Ordering::*, compiler_fence};

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
