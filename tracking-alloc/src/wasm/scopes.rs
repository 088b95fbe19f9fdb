//! What phases and `Profiled` ask of the recorder: the same questions as of the mapped recording's scopes.

use super::hook::with;
#[cfg(feature = "serde")]
use crate::current_scope::{Added, NewScope};
#[cfg(feature = "serde")]
use crate::state;

/// 1 while the module is recorded, else 0.
#[cfg(feature = "serde")]
#[inline]
pub(crate) fn generation() -> u32 {
    u32::from(state::get() & state::RECORD != 0)
}

pub(crate) fn enter(parent: u32, name: &str) -> Option<u32> {
    with(|recorder| recorder.phase(parent, name)).flatten()
}

#[cfg(feature = "serde")]
pub(crate) fn add(new: &NewScope<'_>) -> Added {
    let place = (new.parent, new.kind, new.flags);
    let values = (new.type_name, new.value_bytes);
    with(|recorder| recorder.field(place, new.name, values)).unwrap_or(Added::NotNow)
}

#[cfg(feature = "serde")]
pub(crate) fn flag(scope: u32, flags: u32) {
    with(|recorder| recorder.flag(scope, flags));
}

#[cfg(feature = "serde")]
pub(crate) fn rename(scope: u32, kind: u32, name: &str) {
    with(|recorder| recorder.rename(scope, kind, name));
}

#[cfg(feature = "serde")]
pub(crate) fn retype(scope: u32, type_name: &'static str, value_bytes: u64) {
    with(|recorder| recorder.retype(scope, type_name, value_bytes));
}

#[cfg(feature = "serde")]
pub(crate) fn visit(scope: u32) {
    with(|recorder| recorder.visit(scope));
}

#[cfg(feature = "serde")]
pub(crate) fn lost() {
    with(|recorder| recorder.lose_scope());
}

pub(crate) fn report(scope: u32, bytes: u64, records: u64) {
    with(|recorder| recorder.report(scope, bytes, records));
}

/// Live bytes when a scope was entered.
#[derive(Clone, Copy)]
pub(crate) struct Since(i64);

impl Since {
    /// `None` when nothing records.
    pub(crate) fn enter(_scope: u32) -> Option<Since> {
        with(|recorder| recorder.live_bytes()).map(Since)
    }

    /// What was allocated and not freed meanwhile was retained.
    pub(crate) fn leave(self, scope: u32) {
        with(|recorder| recorder.left(scope, self.0));
    }
}
