//! The functions that phases and `Profiled` use, as for the scopes of a mapped recording.

pub(crate) use fields::*;

use super::hook::with;

pub(crate) fn enter(parent: u32, name: &str) -> Option<u32> {
    with(|recorder| recorder.phase(parent, name)).flatten()
}

pub(crate) fn report(scope: u32, bytes: u64, records: u64) {
    with(|recorder| recorder.report(scope, bytes, records));
}

/// A recording in memory has no checkpoints.
pub(crate) fn outermost_ended(_scope: u32) {}

/// No time is counted: a module has no clock.
pub(crate) enum Running {}

impl Running {
    pub(crate) fn begin(_scope: u32) -> Option<Running> {
        None
    }
}

/// A guard during which the module is in a scope. When it is dropped, the bytes allocated and not
/// freed in the meantime count as bytes that stayed.
pub(crate) struct Stayed {
    scope: u32,
    /// The live bytes when the scope was entered.
    since: i64,
}

impl Stayed {
    /// Enters a scope. Nothing is counted for scope 0. Returns `None` if nothing records.
    pub(crate) fn enter(scope: u32) -> Option<Stayed> {
        if scope == 0 {
            return None;
        }
        let since = with(|recorder| recorder.live_bytes())?;
        Some(Stayed { scope, since })
    }
}

impl Drop for Stayed {
    fn drop(&mut self) {
        with(|recorder| recorder.left(self.scope, self.since));
    }
}

/// The functions that the tree of `Profiled` uses.
mod fields {
    use super::with;
    use crate::current_scope::{Added, NewScope};
    use crate::state;

    /// Returns 1 while the module is recorded, otherwise 0.
    #[inline]
    pub(crate) fn generation() -> u32 {
        u32::from(state::get() & state::RECORD != 0)
    }

    pub(crate) fn add(new: &NewScope<'_>) -> Added {
        with(|recorder| recorder.field(new)).unwrap_or(Added::NotNow)
    }

    pub(crate) fn flag(scope: u32, flags: u32) {
        with(|recorder| recorder.flag(scope, flags));
    }

    pub(crate) fn rename(scope: u32, kind: u32, name: &str) {
        with(|recorder| recorder.rename(scope, kind, name));
    }

    pub(crate) fn retype(scope: u32, type_name: &'static str, value_bytes: u64) {
        with(|recorder| recorder.retype(scope, type_name, value_bytes));
    }

    pub(crate) fn visit(scope: u32) {
        with(|recorder| recorder.visit(scope));
    }

    pub(crate) fn visit_again(scope: u32) -> bool {
        visit(scope);
        true
    }

    pub(crate) fn lost() {
        with(|recorder| recorder.lose_scope());
    }
}
