//! A named handle to an arena: allocates in it and counts exactly what becomes of the chunks'
//! bytes.
//!
//! Counting is plain cells; nothing is allocated. Padding is never guessed: it is what the arena
//! used less what was allocated, abandoned, and found to have bypassed the handle.

use super::record::{Event, Recorded};
use super::traits::forward_questions;
use super::{Arena, ArenaStats, Chunks, PieceResult, Reset};
use std::alloc::Layout;
use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;
use std::ptr::NonNull;

/// A named arena: everything allocated through it is counted, exactly.
///
/// `A` is an arena, or a reference to one: [`reset`](Reset::reset) needs it owned or mutably
/// borrowed. Instances of one name are one row in the recording; an instance lives as long as its
/// handle. A handle belongs to one thread at a time, whatever the arena allows.
///
/// A value moved in by [`alloc`](Arena::alloc) that owns something outside (a `String`) is never
/// dropped: a recording names its type, and the sites of the blocks it points to.
///
/// What bypasses the handle (bumpalo's own collections on the bare arena) is found at the next use
/// of the handle, and at [`stats`](Tracked::stats), by the change of the arena's own figures. What
/// it was is not known: a `String` moved in by `bump.alloc` is leaked and not named.
///
/// ```
/// # #[cfg(feature = "bumpalo")] {
/// use tracking_alloc::arena::{Arena, Tracked};
/// let bump = bumpalo::Bump::new();
/// let cities = Tracked::new("cities", &bump);
/// let name = cities.alloc_str("Ulm");
/// assert_eq!((&*name, cities.stats().used_bytes), ("Ulm", 3));
/// # }
/// ```
pub struct Tracked<A: Arena> {
    pub(super) name: Cow<'static, str>,
    pub(super) arena: A,
    /// Where the arena stood after the last call.
    pub(super) cursor: Cell<usize>,
    /// Cursors of the present chunk: the lowest, and how far the highest lies above it.
    pub(super) chunk: Cell<(usize, usize)>,
    /// The same while the counters lie here, else cursors that there are not.
    pub(super) fast: Cell<(usize, usize)>,
    pub(super) recorded: Recorded,
}

impl<A: Arena> Tracked<A> {
    /// Names an arena. What it used before counts as having bypassed the handle.
    pub fn new(name: impl Into<Cow<'static, str>>, arena: A) -> Self {
        let new = Tracked {
            name: name.into(),
            arena,
            cursor: Cell::default(),
            chunk: Cell::default(),
            fast: Cell::default(),
            recorded: Recorded::default(),
        };
        new.refresh();
        let counters = new.counters();
        counters.bypassed.set(counters.base_used.get());
        new.begin();
        new
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The arena itself. What is allocated in it directly bypasses the handle.
    pub fn arena(&self) -> &A {
        &self.arena
    }

    /// Changes the size of a piece by `resize` and counts it by `count`.
    #[inline(always)]
    fn resized(
        &self,
        old: Layout,
        new: Layout,
        count: fn(&Self, usize, usize, i64),
        resize: impl FnOnce() -> PieceResult,
    ) -> PieceResult {
        let before = self.checked_cursor();
        let place = resize().map_err(|refused| self.refused(refused))?;
        let used = self.moved(before, Some(place));
        count(self, old.size(), new.size(), used);
        Ok(place)
    }

    /// What it holds and did so far.
    pub fn stats(&self) -> ArenaStats {
        self.checked_cursor();
        self.refresh();
        self.counters().cursor.set(self.cursor.get() as u64);
        // It is recorded from now on, when something records by now.
        self.begin();
        self.recorded.publish(Event::Update);
        self.recorded.sum_up();
        let stats = self.counters().stats(self.arena.limit());
        self.counters().most_used.raise(stats.most_occupied_bytes);
        stats
    }
}

impl<A: Arena> fmt::Debug for Tracked<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tracked")
            .field("name", &self.name)
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}

impl<A: Arena> Drop for Tracked<A> {
    fn drop(&mut self) {
        let used = self.emptying();
        self.recorded.end(used);
    }
}

// SAFETY: every piece comes from the arena inside, whose promises pass through.
unsafe impl<A: Arena> Arena for Tracked<A> {
    // PERF: inlined, so that what is known of the layout where it is called is known here.
    #[inline(always)]
    fn try_alloc_layout(&self, layout: Layout) -> PieceResult {
        let before = self.checked_cursor();
        match self.arena.try_alloc_layout(layout) {
            Ok(place) => {
                let after = self.arena.cursor_after(place, layout);
                self.count_piece(before, after, place, layout.size());
                Ok(place)
            }
            Err(refused) => Err(self.refused(refused)),
        }
    }

    #[inline]
    unsafe fn try_grow(&self, place: NonNull<u8>, old: Layout, new: Layout) -> PieceResult {
        self.resized(old, new, Self::grown, || {
            // SAFETY: the caller's promises are the same.
            unsafe { self.arena.try_grow(place, old, new) }
        })
    }

    #[inline]
    unsafe fn try_shrink(&self, place: NonNull<u8>, old: Layout, new: Layout) -> PieceResult {
        self.resized(old, new, Self::shrunk, || {
            // SAFETY: the caller's promises are the same.
            unsafe { self.arena.try_shrink(place, old, new) }
        })
    }

    #[inline]
    unsafe fn release(&self, place: NonNull<u8>, layout: Layout) {
        let before = self.checked_cursor();
        // SAFETY: the caller's promises are the same.
        unsafe { self.arena.release(place, layout) };
        let used = self.moved(before, None);
        self.released(layout.size(), used);
    }

    forward_questions!(self => self.arena);

    #[inline(always)]
    fn detect_bypass(&self) {
        self.checked_cursor();
    }

    #[inline(always)]
    fn note_undropped<T>(&self, place: NonNull<T>) {
        self.recorded.note_undropped(
            std::any::type_name::<T>(),
            place.addr().get(),
            size_of::<T>(),
        );
    }
}

impl<A: Reset> Reset for Tracked<A> {
    fn reset(&mut self) {
        let used = self.emptying();
        self.arena.reset();
        self.emptied(used);
    }
}
