//! A named handle to an arena: hands out through it and counts exactly what becomes of the chunks' bytes.
//!
//! Counting is plain cells; nothing is allocated. Padding is never guessed: it is what the arena used less what was
//! handed out, abandoned, and found to have gone past the handle.

use super::ledger::Ledger;
use super::{AllocError, Arena, ArenaStats, Chunks, Reset};
use std::alloc::Layout;
use std::borrow::Cow;
use std::fmt;
use std::ptr::NonNull;

/// A named arena: everything handed out through it is counted, exactly.
///
/// `A` is an arena, or a reference to one: [`reset`](Reset::reset) needs it owned or mutably borrowed. Instances of one
/// name are one row in the recording; an instance lives as long as its handle. A handle belongs to one thread at a
/// time, whatever the arena allows.
///
/// A value put in by [`alloc`](Arena::alloc) that owns something outside (a `String`) is never dropped: a recording names
/// its type, and the sites of the blocks it points to.
///
/// What goes past the handle (bumpalo's own collections on the bare arena) is found at the next use of the handle, and
/// at [`stats`](Tracked::stats), by the change of the arena's own figures. What it was nobody knows: a `String` that
/// `bump.alloc` put in is leaked and not named.
///
/// ```
/// # #[cfg(feature = "bumpalo")] {
/// use tracking_alloc::arena::{Arena, Tracked};
/// let bump = bumpalo::Bump::new();
/// let cities = Tracked::new("cities", &bump);
/// let name = cities.alloc_str("Ulm");
/// assert_eq!((&*name, cities.stats().handed_bytes), ("Ulm", 3));
/// # }
/// ```
pub struct Tracked<A: Arena> {
    name: Cow<'static, str>,
    ledger: Ledger,
    arena: A,
}

impl<A: Arena> Tracked<A> {
    /// Names an arena. What it used before counts as gone past the handle.
    pub fn new(name: impl Into<Cow<'static, str>>, arena: A) -> Self {
        let name = name.into();
        let ledger = Ledger::open(&name, &arena);
        Tracked {
            name,
            ledger,
            arena,
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The arena itself. What it hands out counts as gone past the handle.
    pub fn arena(&self) -> &A {
        &self.arena
    }

    /// What it holds and did so far.
    pub fn stats(&self) -> ArenaStats {
        self.ledger.stats(&self.name, &self.arena)
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
        self.ledger.close(&self.arena);
    }
}

// SAFETY: every piece comes from the arena inside, whose promises pass through.
unsafe impl<A: Arena> Arena for Tracked<A> {
    // PERF: inlined, so that what is known of the layout where it is called is known here.
    #[inline(always)]
    fn try_alloc_layout(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        let before = self.ledger.look(&self.arena);
        match self.arena.try_alloc_layout(layout) {
            Ok(place) => {
                let after = self.arena.cursor_after(place, layout);
                self.ledger
                    .handed_out(&self.arena, before, after, place, layout.size());
                Ok(place)
            }
            Err(refused) => Err(self.ledger.refused(&self.arena, refused)),
        }
    }

    #[inline]
    unsafe fn try_grow(
        &self,
        place: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Result<NonNull<u8>, AllocError> {
        let before = self.ledger.look(&self.arena);
        // SAFETY: the caller's promises are the same.
        match unsafe { self.arena.try_grow(place, old, new) } {
            Ok(place) => {
                let used = self.ledger.moved(&self.arena, before, Some(place));
                self.ledger.grown(&self.arena, old.size(), new.size(), used);
                Ok(place)
            }
            Err(refused) => Err(self.ledger.refused(&self.arena, refused)),
        }
    }

    #[inline]
    unsafe fn try_shrink(
        &self,
        place: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Result<NonNull<u8>, AllocError> {
        let before = self.ledger.look(&self.arena);
        // SAFETY: the caller's promises are the same.
        match unsafe { self.arena.try_shrink(place, old, new) } {
            Ok(place) => {
                let used = self.ledger.moved(&self.arena, before, Some(place));
                self.ledger
                    .shrunk(&self.arena, old.size(), new.size(), used);
                Ok(place)
            }
            Err(refused) => Err(self.ledger.refused(&self.arena, refused)),
        }
    }

    #[inline]
    unsafe fn release(&self, place: NonNull<u8>, layout: Layout) {
        let before = self.ledger.look(&self.arena);
        // SAFETY: the caller's promises are the same.
        unsafe { self.arena.release(place, layout) };
        let used = self.ledger.moved(&self.arena, before, None);
        self.ledger.released(&self.arena, layout.size(), used);
    }

    #[inline(always)]
    fn cursor(&self) -> usize {
        self.arena.cursor()
    }

    #[inline(always)]
    fn cursor_after(&self, place: NonNull<u8>, layout: Layout) -> usize {
        self.arena.cursor_after(place, layout)
    }

    fn used_since(&self, cursor: usize) -> Option<u64> {
        self.arena.used_since(cursor)
    }

    fn chunks(&self) -> Chunks {
        self.arena.chunks()
    }

    #[inline(always)]
    fn min_align(&self) -> usize {
        self.arena.min_align()
    }

    fn limit(&self) -> Option<u64> {
        self.arena.limit()
    }

    fn crate_name(&self) -> &'static str {
        self.arena.crate_name()
    }

    #[cfg(feature = "bumpalo")]
    #[inline(always)]
    fn bumpalo(&self) -> Option<&bumpalo::Bump> {
        self.arena.bumpalo()
    }

    #[cfg(feature = "bump-scope")]
    #[inline(always)]
    fn bump_scope(&self) -> Option<&bump_scope::Bump> {
        self.arena.bump_scope()
    }

    #[inline(always)]
    fn look(&self) {
        self.ledger.look(&self.arena);
    }

    #[inline(always)]
    fn put_in<T>(&self, place: NonNull<T>) {
        self.ledger.put_in(place);
    }
}

impl<A: Reset> Reset for Tracked<A> {
    fn reset(&mut self) {
        let used = self.ledger.emptying(&self.arena);
        self.arena.reset();
        self.ledger.emptied(&self.arena, used);
    }
}
