//! Where the path of a value begins that is read into an arena.
//!
//! What bypassed a tracked arena's handle is counted at the place where it did: checked where code of other people ends;
//! ours does not bypass it.

use super::Arena;
use crate::profiled::arena_path::{self, Rooted};

/// While it lives the thread is where a path begins, unless it was inside of one already.
pub(super) struct PathGuard<'a, A: Arena> {
    arena: &'a A,
    _rooted: Option<Rooted>,
}

impl<A: Arena> Drop for PathGuard<'_, A> {
    fn drop(&mut self) {
        self.arena.detect_bypass();
    }
}

/// Begins a path of values of `T`. A seed that somebody uses inside of another decode is at the place it is used.
#[inline]
pub(super) fn begin<T, A: Arena>(arena: &A) -> PathGuard<'_, A> {
    let is_inside = arena_path::is_inside();
    let rooted = (!is_inside).then(arena_path::root::<T>).flatten();
    if is_inside || rooted.is_some() {
        arena.detect_bypass();
    }
    PathGuard {
        arena,
        _rooted: rooted,
    }
}
