//! Where in the data an arena's pieces belong: entered around each field, element, key and value that the derive reads.
//!
//! The place is kept in a word of the thread, because seeds and visitors of other people lie between one level and the
//! next. While nothing records there is no place, and entering one is a load and a compare.
//!
//! What bypassed a tracked arena's handle is counted at the place where it did: checked where code of other people ends;
//! ours does not bypass it.

use super::Arena;
use crate::profiled::{Place, Rooted};
use std::cell::Cell;

pub(super) use crate::profiled::PathStep;

thread_local! {
    /// The place the thread is in, if a derived decode runs and something records.
    static PLACE: Cell<Option<Place>> = const { Cell::new(None) };
}

/// While it lives the thread is in a place; then, also when a visitor panics, in the one it came from.
// PERF: one word, and the same for all types: a decode enters millions of places.
pub(super) struct Entered(Option<Place>);

impl Drop for Entered {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn drop(&mut self) {
        if let Some(before) = self.0 {
            before.resume();
            PLACE.set(Some(before));
        }
    }
}

/// Enters a place whose values are `T`s.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn enter<T>(below: PathStep) -> Entered {
    within(|place| place.enter::<T>(below))
}

/// Enters a place that has no type of its own.
#[inline]
pub(super) fn enter_untyped(below: PathStep) -> Entered {
    within(|place| place.enter_untyped(below))
}

#[cfg_attr(not(debug_assertions), inline(always))]
fn within(enter: impl FnOnce(Place) -> Place) -> Entered {
    let before = PLACE.get();
    if let Some(place) = before {
        PLACE.set(Some(enter(place)));
    }
    Entered(before)
}

/// While it lives the thread is where a path begins, unless it was inside of one already.
pub(super) struct PathGuard<'a, A: Arena> {
    arena: &'a A,
    rooted: Option<Rooted>,
}

impl<A: Arena> Drop for PathGuard<'_, A> {
    fn drop(&mut self) {
        self.arena.detect_bypass();
        if self.rooted.is_some() {
            PLACE.set(None);
        }
    }
}

/// Begins a path of values of `T`.
#[inline]
pub(super) fn begin<T, A: Arena>(arena: &A) -> PathGuard<'_, A> {
    let rooted = match PLACE.get() {
        // A seed that somebody uses inside of another decode: at the place it is used.
        Some(_) => {
            arena.detect_bypass();
            None
        }
        None => Place::root::<T>().map(|(place, rooted)| {
            arena.detect_bypass();
            PLACE.set(Some(place));
            rooted
        }),
    };
    PathGuard { arena, rooted }
}
