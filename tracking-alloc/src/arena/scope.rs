//! Where in the data an arena's pieces belong: entered around each field, element, key and value that the derive reads.
//!
//! The place is kept in a word of the thread, because seeds and visitors of other people lie between one level and the
//! next. While nothing records there is no place, and entering one is a load and a compare.

use super::Arena;
use crate::profiled::{Inside, Place, Rooted};
use std::cell::Cell;

pub(super) use crate::profiled::Below;

thread_local! {
    /// The place the thread is in, if a derived decode runs and something records.
    static PLACE: Cell<Option<Place>> = const { Cell::new(None) };
}

/// Puts the thread's place back, also when a visitor panics.
struct Back(Option<Place>);

impl Drop for Back {
    #[inline(always)]
    fn drop(&mut self) {
        PLACE.set(self.0);
    }
}

/// While it lives the thread is in a place; what went past a tracked arena's handle is booked before and after.
pub(super) struct Entered<'a, A: Arena> {
    arena: &'a A,
    inside: Option<(Inside, Back)>,
}

impl<A: Arena> Drop for Entered<'_, A> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.inside.is_some() {
            self.arena.look();
        }
    }
}

/// Enters a place whose values are `T`s.
#[inline(always)]
pub(super) fn enter<T, A: Arena>(arena: &A, below: Below) -> Entered<'_, A> {
    within(arena, |place| place.enter::<T>(below))
}

/// Enters a place that has no type of its own.
#[inline]
pub(super) fn enter_untyped<A: Arena>(arena: &A, below: Below) -> Entered<'_, A> {
    within(arena, |place| place.enter_untyped(below))
}

#[inline(always)]
fn within<A: Arena>(arena: &A, enter: impl FnOnce(Place) -> (Place, Inside)) -> Entered<'_, A> {
    let before = PLACE.get();
    let inside = before.map(|place| {
        arena.look();
        let (place, inside) = enter(place);
        PLACE.set(Some(place));
        (inside, Back(before))
    });
    Entered { arena, inside }
}

/// While it lives the thread is where a path begins, unless it was inside of one already.
pub(super) struct Begun<'a, A: Arena> {
    arena: &'a A,
    rooted: Option<(Rooted, Back)>,
}

impl<A: Arena> Drop for Begun<'_, A> {
    fn drop(&mut self) {
        if self.rooted.is_some() {
            self.arena.look();
        }
    }
}

/// Begins a path of values of `T`.
#[inline]
pub(super) fn begin<T, A: Arena>(arena: &A) -> Begun<'_, A> {
    let before = PLACE.get();
    let rooted = match before {
        // A seed that somebody uses inside of another decode: at the place it is used.
        Some(_) => None,
        None => Place::root::<T>().map(|(place, rooted)| {
            arena.look();
            PLACE.set(Some(place));
            (rooted, Back(before))
        }),
    };
    Begun { arena, rooted }
}
