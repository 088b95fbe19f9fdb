//! What an arena must tell and do: the one trait that handles, collections and the derive are
//! written against.
//!
//! Portable: nothing here knows a platform, a recording or a crate of arenas. Never counts
//! anything.

use std::alloc::Layout;
use std::fmt;
use std::ptr::NonNull;

/// A piece of an arena's memory, or why there is none.
pub type PieceResult = Result<NonNull<u8>, AllocError>;

/// Memory that is allocated piece by piece and given back all at once.
///
/// Implemented for `bumpalo::Bump` (feature `bumpalo`), `bump_scope::Bump` (feature `bump-scope`),
/// references to arenas, and [`Tracked`](super::Tracked) ones; implement it for an arena of your
/// own and everything in this module works with it. Give it [`Reset`] too when it can be emptied.
///
/// # Safety
/// 1. A piece that [`try_alloc_layout`](Arena::try_alloc_layout), [`try_grow`](Arena::try_grow) or
///    [`try_shrink`](Arena::try_shrink) returned is aligned and sized as its layout asks, overlaps
///    no other piece in use, and stays valid until it is grown, shrunk or released, or until the
///    arena is reset or dropped; moving the arena does not move it.
/// 2. `try_grow` and `try_shrink` keep the bytes up to the smaller of both sizes. When they refuse,
///    the old piece stays as it was.
/// 3. Pieces may be used by whichever thread may use the arena.
/// 4. The arena that `bumpalo` or `bump_scope` answers with is the one pieces come from.
pub unsafe trait Arena {
    /// A piece of memory, not initialised.
    ///
    /// # Errors
    /// When the arena reached its limit, or the allocator behind it is out of memory.
    fn try_alloc_layout(&self, layout: Layout) -> PieceResult;

    /// Makes a piece larger, in place where the arena can. The default takes a new piece and
    /// copies.
    ///
    /// # Errors
    /// As [`try_alloc_layout`](Arena::try_alloc_layout); the piece is then as before.
    ///
    /// # Safety
    /// `place` is a piece of this arena in use with layout `old`; `new` is at least as large. On
    /// success `place` must not be used any more.
    unsafe fn try_grow(&self, place: NonNull<u8>, old: Layout, new: Layout) -> PieceResult {
        let moved = self.try_alloc_layout(new)?;
        // SAFETY: `place` has `old.size()` bytes, the new piece at least as many, and they do not
        // overlap.
        unsafe { moved.copy_from_nonoverlapping(place, old.size()) };
        Ok(moved)
    }

    /// Makes a piece smaller, giving bytes back where the arena can. The default leaves it where it
    /// is when its alignment allows that.
    ///
    /// # Errors
    /// As [`try_alloc_layout`](Arena::try_alloc_layout); the piece is then as before.
    ///
    /// # Safety
    /// `place` is a piece of this arena in use with layout `old`; `new` is at most as large. On
    /// success `place` must not be used any more.
    unsafe fn try_shrink(&self, place: NonNull<u8>, old: Layout, new: Layout) -> PieceResult {
        let _ = old;
        if place.addr().get().is_multiple_of(new.align()) {
            return Ok(place);
        }
        let moved = self.try_alloc_layout(new)?;
        // SAFETY: both pieces have `new.size()` bytes and do not overlap.
        unsafe { moved.copy_from_nonoverlapping(place, new.size()) };
        Ok(moved)
    }

    /// Gives a piece back. Most arenas can take back only the piece they allocated last; the
    /// default takes none.
    ///
    /// # Safety
    /// `place` is a piece of this arena in use with that layout. It must not be used any more.
    unsafe fn release(&self, place: NonNull<u8>, layout: Layout) {
        let _ = (place, layout);
    }

    /// Where the arena stands: a number that changes whenever something is allocated or taken back.
    /// Within one chunk two of them differ by the bytes used in between; those of two chunks are
    /// never the same. Usually the address up to which the present chunk is used. PERF: read before
    /// each piece.
    fn cursor(&self) -> usize;

    /// The [`cursor`](Arena::cursor) right after `place` was allocated.
    #[inline(always)]
    fn cursor_after(&self, place: NonNull<u8>, layout: Layout) -> usize {
        let _ = (place, layout);
        self.cursor()
    }

    /// Bytes used since the arena stood at `cursor`, over all chunks taken since; `None` when it
    /// does not stand behind it any more, because it was reset or rewound.
    fn used_since(&self, cursor: usize) -> Option<u64>;

    /// What the arena holds. May walk its chunks.
    fn chunks(&self) -> Chunks;

    /// Every piece takes a multiple of so many bytes, whatever its layout asks.
    fn min_align(&self) -> usize {
        1
    }

    /// The most chunk bytes it may hold.
    fn limit(&self) -> Option<u64> {
        None
    }

    /// The crate it comes from, for people to read.
    fn crate_name(&self) -> &'static str {
        "own"
    }

    /// The bumpalo arena behind it, for bumpalo's own collections.
    #[cfg(feature = "bumpalo")]
    fn bumpalo(&self) -> Option<&bumpalo::Bump> {
        None
    }

    /// The bump-scope arena behind it, for bump-scope's own collections.
    #[cfg(feature = "bump-scope")]
    fn bump_scope(&self) -> Option<&bump_scope::Bump> {
        None
    }

    /// Called where the program's place in the data changes. A [`Tracked`](super::Tracked) arena
    /// counts what was allocated without its handle; others have nothing to do.
    #[inline(always)]
    fn detect_bypass(&self) {}

    /// Called when a value was put at `place` whose drop the arena never runs. A
    /// [`Tracked`](super::Tracked) arena notes it; others have nothing to do.
    #[inline(always)]
    fn note_undropped<T>(&self, place: NonNull<T>)
    where
        Self: Sized,
    {
        let _ = place;
    }

    /// Puts a value into the arena, which will never drop it. A [`Tracked`](super::Tracked) arena
    /// notes values that own something while something records: their type, and the sites of the
    /// blocks they point to.
    ///
    /// # Errors
    /// As [`try_alloc_layout`](Arena::try_alloc_layout); the value is then dropped.
    #[inline(always)]
    fn try_alloc<T>(&self, value: T) -> Result<&mut T, AllocError>
    where
        Self: Sized,
    {
        let place = self.try_place(value)?;
        if std::mem::needs_drop::<T>() {
            self.note_undropped(NonNull::from(&mut *place));
        }
        Ok(place)
    }

    /// [`try_alloc`](Arena::try_alloc) without noting that the value is never dropped: for types
    /// that are known to own nothing outside of the arena.
    ///
    /// # Errors
    /// As [`try_alloc_layout`](Arena::try_alloc_layout); the value is then dropped.
    #[expect(clippy::mut_from_ref, reason = "each call hands out memory of its own")]
    #[inline(always)]
    fn try_place<T>(&self, value: T) -> Result<&mut T, AllocError>
    where
        Self: Sized,
    {
        let mut place = self.try_alloc_layout(Layout::new::<T>())?.cast::<T>();
        // SAFETY: the piece has T's layout and is ours alone for as long as the arena is borrowed.
        unsafe {
            place.write(value);
            Ok(place.as_mut())
        }
    }

    /// Copies a slice into the arena.
    ///
    /// # Errors
    /// As [`try_alloc_layout`](Arena::try_alloc_layout).
    #[expect(clippy::mut_from_ref, reason = "each call hands out memory of its own")]
    #[inline(always)]
    fn try_alloc_slice_copy<T: Copy>(&self, values: &[T]) -> Result<&mut [T], AllocError>
    where
        Self: Sized,
    {
        let place = self
            .try_alloc_layout(Layout::for_value(values))?
            .cast::<T>();
        // SAFETY: the piece has the slice's layout, is new, and ours alone for as long as the arena
        // is borrowed.
        unsafe {
            place.copy_from_nonoverlapping(NonNull::from(values).cast(), values.len());
            Ok(NonNull::slice_from_raw_parts(place, values.len()).as_mut())
        }
    }

    /// Copies a string into the arena.
    ///
    /// # Errors
    /// As [`try_alloc_layout`](Arena::try_alloc_layout).
    #[expect(clippy::mut_from_ref, reason = "each call hands out memory of its own")]
    #[inline(always)]
    fn try_alloc_str(&self, text: &str) -> Result<&mut str, AllocError>
    where
        Self: Sized,
    {
        let bytes = self.try_alloc_slice_copy(text.as_bytes())?;
        // SAFETY: the bytes were just copied from a string.
        Ok(unsafe { std::str::from_utf8_unchecked_mut(bytes) })
    }

    /// [`try_alloc`](Arena::try_alloc) for programs that treat a full arena as the end.
    ///
    /// # Panics
    /// When the arena refuses.
    #[inline]
    fn alloc<T>(&self, value: T) -> &mut T
    where
        Self: Sized,
    {
        self.try_alloc(value)
            .unwrap_or_else(|refused| panic!("{refused}"))
    }

    /// [`try_alloc_slice_copy`](Arena::try_alloc_slice_copy) for programs that treat a full arena
    /// as the end.
    ///
    /// # Panics
    /// When the arena refuses.
    #[inline]
    fn alloc_slice_copy<T: Copy>(&self, values: &[T]) -> &mut [T]
    where
        Self: Sized,
    {
        self.try_alloc_slice_copy(values)
            .unwrap_or_else(|refused| panic!("{refused}"))
    }

    /// [`try_alloc_str`](Arena::try_alloc_str) for programs that treat a full arena as the end.
    ///
    /// # Panics
    /// When the arena refuses.
    #[inline]
    fn alloc_str(&self, text: &str) -> &mut str
    where
        Self: Sized,
    {
        self.try_alloc_str(text)
            .unwrap_or_else(|refused| panic!("{refused}"))
    }
}

/// An arena that can be emptied and used again: an owned or mutably borrowed one.
pub trait Reset: Arena {
    /// Takes back everything allocated. Drops no values.
    fn reset(&mut self);
}

/// What an arena holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chunks {
    /// Chunks.
    pub count: u64,
    /// Usable bytes of them all.
    pub bytes: u64,
    /// The same with the arena's own headers: what it asked of the allocator behind it.
    pub bytes_with_metadata: u64,
    /// Bytes not used, in chunks before and after the present one too.
    pub unused_tail_bytes: u64,
    /// Bytes not used in the present chunk.
    pub free_bytes: u64,
    /// The lowest [`cursor`](Arena::cursor) in the present chunk; the highest lies
    /// [`present_bytes`](Chunks::present_bytes) above it.
    pub present_start: usize,
    /// Usable bytes of the present chunk.
    pub present_bytes: usize,
}

/// An arena had no room for a piece: its limit, or the end of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllocError {
    /// Bytes of the piece.
    pub bytes: usize,
    /// The arena's limit on chunk bytes, when it has one.
    pub limit: Option<u64>,
}

impl AllocError {
    /// A refusal of `layout` by `arena`.
    #[cold]
    #[inline(never)]
    pub fn by(arena: &(impl Arena + ?Sized), layout: Layout) -> Self {
        AllocError {
            bytes: layout.size(),
            limit: arena.limit(),
        }
    }
}

impl fmt::Display for AllocError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AllocError { bytes, limit } = self;
        match limit {
            Some(limit) => write!(
                f,
                "the arena has no room for {bytes} more bytes within its limit of {limit}: raise the limit or read less"
            ),
            None => write!(f, "the arena got no memory for {bytes} more bytes"),
        }
    }
}

impl std::error::Error for AllocError {}

/// Passes on what is asked of an arena to the one inside.
macro_rules! forward_questions {
    ($self:ident => $inside:expr) => {
        #[inline(always)]
        fn cursor(&$self) -> usize {
            $inside.cursor()
        }

        #[inline(always)]
        fn cursor_after(&$self, place: NonNull<u8>, layout: Layout) -> usize {
            $inside.cursor_after(place, layout)
        }

        fn used_since(&$self, cursor: usize) -> Option<u64> {
            $inside.used_since(cursor)
        }

        fn chunks(&$self) -> Chunks {
            $inside.chunks()
        }

        #[inline(always)]
        fn min_align(&$self) -> usize {
            $inside.min_align()
        }

        fn limit(&$self) -> Option<u64> {
            $inside.limit()
        }

        fn crate_name(&$self) -> &'static str {
            $inside.crate_name()
        }

        #[cfg(feature = "bumpalo")]
        #[inline(always)]
        fn bumpalo(&$self) -> Option<&bumpalo::Bump> {
            $inside.bumpalo()
        }

        #[cfg(feature = "bump-scope")]
        #[inline(always)]
        fn bump_scope(&$self) -> Option<&bump_scope::Bump> {
            $inside.bump_scope()
        }
    };
}
pub(super) use forward_questions;

/// Allocates pieces, changes them and takes them back by an allocator's own methods, which promise
/// the same.
#[cfg(any(feature = "bumpalo", feature = "bump-scope"))]
macro_rules! pieces_by_allocator {
    () => {
        #[inline(always)]
        fn try_alloc_layout(&self, layout: Layout) -> PieceResult {
            self.allocate(layout)
                .map(NonNull::cast)
                .map_err(|_| AllocError::by(self, layout))
        }

        #[inline]
        unsafe fn try_grow(&self, place: NonNull<u8>, old: Layout, new: Layout) -> PieceResult {
            // SAFETY: the caller's promises are those of `Allocator::grow`.
            unsafe { self.grow(place, old, new) }
                .map(NonNull::cast)
                .map_err(|_| AllocError::by(self, new))
        }

        #[inline]
        unsafe fn try_shrink(&self, place: NonNull<u8>, old: Layout, new: Layout) -> PieceResult {
            // SAFETY: the caller's promises are those of `Allocator::shrink`.
            unsafe { self.shrink(place, old, new) }
                .map(NonNull::cast)
                .map_err(|_| AllocError::by(self, new))
        }

        #[inline]
        unsafe fn release(&self, place: NonNull<u8>, layout: Layout) {
            // SAFETY: the caller's promises are those of `Allocator::deallocate`.
            unsafe { self.deallocate(place, layout) }
        }
    };
}
#[cfg(any(feature = "bumpalo", feature = "bump-scope"))]
pub(super) use pieces_by_allocator;

/// Passes every call on to the arena a reference points to.
macro_rules! forward_all {
    () => {
        forward_questions!(self => (**self));

        #[inline(always)]
        fn try_alloc_layout(&self, layout: Layout) -> PieceResult {
            A::try_alloc_layout(self, layout)
        }

        #[inline(always)]
        unsafe fn try_grow(&self, place: NonNull<u8>, old: Layout, new: Layout) -> PieceResult {
            // SAFETY: the caller's promises are the same.
            unsafe { A::try_grow(self, place, old, new) }
        }

        #[inline(always)]
        unsafe fn try_shrink(&self, place: NonNull<u8>, old: Layout, new: Layout) -> PieceResult {
            // SAFETY: the caller's promises are the same.
            unsafe { A::try_shrink(self, place, old, new) }
        }

        #[inline(always)]
        unsafe fn release(&self, place: NonNull<u8>, layout: Layout) {
            // SAFETY: the caller's promises are the same.
            unsafe { A::release(self, place, layout) }
        }

        #[inline(always)]
        fn detect_bypass(&self) {
            A::detect_bypass(self)
        }

        #[inline(always)]
        fn note_undropped<T>(&self, place: NonNull<T>) {
            A::note_undropped(self, place)
        }
    };
}

// SAFETY: every piece comes from the arena behind the reference, which outlives it.
unsafe impl<A: Arena> Arena for &A {
    forward_all!();
}

// SAFETY: as for `&A`.
unsafe impl<A: Arena> Arena for &mut A {
    forward_all!();
}

impl<A: Reset> Reset for &mut A {
    fn reset(&mut self) {
        A::reset(self);
    }
}
