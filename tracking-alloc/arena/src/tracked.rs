//! A named handle to an arena. It allocates in the arena and counts exactly how the chunks' bytes
//! are used.
//!
//! Counters are plain cells, and counting allocates nothing. Padding is never guessed: it is the
//! number of bytes that the arena used, minus the bytes allocated, abandoned, and used without the
//! handle.

use super::traits::forward_questions;
use super::{Arena, ArenaStats, Chunks, PieceResult, Reset};
use heapglass_recorder::arenas::{ArenaEvent, RecordedArena};
use std::alloc::Layout;
use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;
use std::ptr::NonNull;

/// A named arena that counts everything allocated through it, exactly.
///
/// `A` is an arena or a reference to one; [`reset`](Reset::reset) needs an owned or mutably
/// borrowed arena. Instances with the same name are one row in the recording. An instance lives as
/// long as its handle. Only one thread at a time can use a handle, whatever the arena allows.
///
/// A value moved in by [`alloc`](Arena::alloc) is never dropped, even if it owns something outside
/// of the arena (a `String`). The recording names the type of such a value and the sites of the
/// blocks that it points to.
///
/// The handle finds allocations that bypass it (bumpalo's own collections on the bare arena) by the
/// change in the arena's own figures, at its next use or at [`stats`](Tracked::stats). It does not
/// know what they were: a `String` moved in by `bump.alloc` is leaked without being named.
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
    /// The arena's position after the last call.
    pub(super) cursor: Cell<usize>,
    /// Cursors of the current chunk: the lowest, and the distance from it to the highest.
    pub(super) chunk: Cell<(usize, usize)>,
    /// The same as `chunk` while the counters are in the handle, otherwise cursors that do not
    /// exist.
    pub(super) fast: Cell<(usize, usize)>,
    pub(super) recorded: RecordedArena,
}

impl<A: Arena> Tracked<A> {
    /// Names an arena. Bytes that it already uses count as bypassed.
    pub fn new(name: impl Into<Cow<'static, str>>, arena: A) -> Self {
        let new = Tracked {
            name: name.into(),
            arena,
            cursor: Cell::default(),
            chunk: Cell::default(),
            fast: Cell::default(),
            recorded: RecordedArena::default(),
        };
        new.refresh();
        let counters = new.counters();
        counters.bypassed.set(counters.base_used.get());
        new.begin();
        new
    }

    /// Returns the arena's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the arena itself. Direct allocations in it bypass the handle.
    pub fn arena(&self) -> &A {
        &self.arena
    }

    /// Resizes a piece with `resize` and counts the change with `count`.
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

    /// Returns the figures so far.
    pub fn stats(&self) -> ArenaStats {
        self.checked_cursor();
        self.refresh();
        self.counters().cursor.set(self.cursor.get() as u64);
        // If recording has begun in the meantime, record the arena from now on.
        self.begin();
        self.recorded.publish(ArenaEvent::Update);
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
        let before = self.emptying();
        self.recorded.end(&before);
    }
}

// SAFETY: every piece comes from the inner arena, which gives the same guarantees.
unsafe impl<A: Arena> Arena for Tracked<A> {
    // PERF: inlined, so that the caller's knowledge of the layout is available here.
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
            // SAFETY: the caller gives the same guarantees.
            unsafe { self.arena.try_grow(place, old, new) }
        })
    }

    #[inline]
    unsafe fn try_shrink(&self, place: NonNull<u8>, old: Layout, new: Layout) -> PieceResult {
        self.resized(old, new, Self::shrunk, || {
            // SAFETY: the caller gives the same guarantees.
            unsafe { self.arena.try_shrink(place, old, new) }
        })
    }

    #[inline]
    unsafe fn release(&self, place: NonNull<u8>, layout: Layout) {
        let before = self.checked_cursor();
        // SAFETY: the caller gives the same guarantees.
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
        let before = self.emptying();
        self.arena.reset();
        self.emptied(before);
    }
}
