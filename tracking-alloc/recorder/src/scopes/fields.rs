//! Access of the tree of `Profiled` to the recording's scopes.

use super::recorded::{count_lost, with_record};
use crate::current_scope::{Added, NewScope};
use crate::hook::Inside;
use crate::session::{self, Writer};
use crate::{state, sys};
use std::sync::atomic::Ordering::*;
use tracking_alloc_recording::Scope;

/// Returns a number that identifies the current recording. A forked child's own recording has
/// another number. Returns 0 if nothing records.
#[inline]
pub(crate) fn generation() -> u32 {
    if state::is_recording() {
        session::current_tag()
    } else {
        0
    }
}

/// Adds the scope of a field.
pub(crate) fn add(new: &NewScope<'_>) -> Added {
    let (Some(_inside), Some(session)) = (Inside::enter(), session::current()) else {
        return Added::NotNow;
    };
    let _errno = sys::Errno::keep();
    session.write.lock().add_field(new)
}

/// Sets flags of a scope.
pub(crate) fn flag(scope: u32, flags: u32) {
    with_record(scope, |record| {
        record.flags.fetch_or(flags, Relaxed);
    });
}

/// Gives a scope another kind and name, which became known after it was entered.
pub(crate) fn rename(scope: u32, kind: u32, name: &str) {
    change(scope, |record, writer| {
        let reference = writer.string(name.as_bytes());
        if reference != 0 {
            record.name.store(reference, Relaxed);
            record.kind.store(kind, Relaxed);
        }
    });
}

/// Gives a scope the type of its values, which became known after it was entered.
pub(crate) fn retype(scope: u32, type_name: &'static str, value_bytes: u64) {
    change(scope, |record, writer| {
        record
            .type_name
            .store(writer.name(type_name.as_bytes()), Relaxed);
        record.value_bytes.store(value_bytes, Relaxed);
    });
}

fn change(scope: u32, change: impl FnOnce(&Scope, &mut Writer)) {
    with_record(scope, |record| {
        if let Some(session) = session::current() {
            let _errno = sys::Errno::keep();
            change(record, &mut session.write.lock());
        }
    });
}

/// Counts a request for a scope that did not fit.
pub(crate) fn lost() {
    if let Some(inside) = Inside::enter() {
        count_lost(&inside);
    }
}
