//! The traits of arenas, on which handles, collections and the derive are built.
//!
//! They do not depend on a platform, a recording or an arena crate, and they count nothing.

use heapglass_recorder::arenas::Chunks;
use std::alloc::Layout;
use std::fmt;
use std::ptr::NonNull;

/// A piece of an arena's memory, or the error if there is no room.
pub type PieceResult = Result<NonNull<u8>, AllocError>;

/// Memory that is allocated piece by piece and released all at once.
///
/// Implemented for `bumpalo::Bump` (feature `bumpalo`), `bump_scope::Bump` (feature `bump-scope`),
/// references to arenas, and [`Tracked`](super::Tracked) arenas. Implement it for your own arena to
/// use it with everything in this module. Also implement [`Reset`] if the arena can be emptied.
///
/// # Safety
/// 1. A piece returned by [`try_alloc_layout`](Arena::try_alloc_layout),
///    [`try_grow`](Arena::try_grow) or [`try_shrink`](Arena::try_shrink) has the alignment and size
///    of its layout, and overlaps no other piece in use. It stays valid until it is grown, shrunk
///    or released, or until the arena is reset or dropped. Moving the arena does not move it.
/// 2. `try_grow` and `try_shrink` keep the bytes up to the smaller of both sizes. If they fail, the
///    old piece stays unchanged.
/// 3. Every thread that may use the arena may use its pieces.
/// 4. Pieces come from the arena that `bumpalo` or `bump_scope` returns.
pub unsafe trait Arena {
    /// Allocates an uninitialized piece of memory.
    ///
    /// # Errors
    /// If the arena has reached its limit, or its allocator is out of memory.
    fn try_alloc_layout(&self, layout: Layout) -> PieceResult;

    /// Grows a piece, in place if the arena can. The default allocates a new piece and copies.
    ///
    /// # Errors
    /// The same as for [`try_alloc_layout`](Arena::try_alloc_layout). The piece is then unchanged.
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

    /// Shrinks a piece, and takes bytes back if the arena can. The default leaves the piece in its
    /// place if its alignment allows that.
    ///
    /// # Errors
    /// The same as for [`try_alloc_layout`](Arena::try_alloc_layout). The piece is then unchanged.
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

    /// Releases a piece. Most arenas can take back only the piece that they allocated last; the
    /// default does nothing.
    ///
    /// # Safety
    /// `place` is a piece of this arena in use with that layout. It must not be used any more.
    unsafe fn release(&self, place: NonNull<u8>, layout: Layout) {
        let _ = (place, layout);
    }

    /// Returns the arena's position: a number that changes whenever something is allocated or taken
    /// back. Two positions in the same chunk differ by the bytes used in between. Positions in
    /// different chunks are never equal. Usually the position is the address up to which the
    /// current chunk is used.
    ///
    /// PERF: it is read before each piece.
    fn cursor(&self) -> usize;

    /// Returns the [`cursor`](Arena::cursor) directly after `place` was allocated.
    #[inline(always)]
    fn cursor_after(&self, place: NonNull<u8>, layout: Layout) -> usize {
        let _ = (place, layout);
        self.cursor()
    }

    /// Returns the bytes used since the position `cursor`, over all chunks taken since. Returns
    /// `None` if the arena was reset or rewound to before that position.
    fn used_since(&self, cursor: usize) -> Option<u64>;

    /// Returns the chunks that the arena holds. It may walk them.
    fn chunks(&self) -> Chunks;

    /// Returns the minimum alignment. Every piece takes a multiple of this many bytes, whatever its
    /// layout.
    fn min_align(&self) -> usize {
        1
    }

    /// Returns the limit on chunk bytes, if there is one.
    fn limit(&self) -> Option<u64> {
        None
    }

    /// Returns the name of the arena's crate, for display.
    fn crate_name(&self) -> &'static str {
        "own"
    }

    /// Returns the underlying bumpalo arena, for bumpalo's own collections.
    #[cfg(feature = "bumpalo")]
    fn bumpalo(&self) -> Option<&bumpalo::Bump> {
        None
    }

    /// Returns the underlying bump-scope arena, for bump-scope's own collections.
    #[cfg(feature = "bump-scope")]
    fn bump_scope(&self) -> Option<&bump_scope::Bump> {
        None
    }

    /// Runs when the program's place in the data changes. A [`Tracked`](super::Tracked) arena then
    /// counts allocations made without its handle. Other arenas do nothing.
    #[inline(always)]
    fn detect_bypass(&self) {}

    /// Runs after a value that the arena never drops was put at `place`. A
    /// [`Tracked`](super::Tracked) arena records it. Other arenas do nothing.
    #[inline(always)]
    fn note_undropped<T>(&self, place: NonNull<T>)
    where
        Self: Sized,
    {
        let _ = place;
    }

    /// Puts a value into the arena, which never drops it. While something records, a
    /// [`Tracked`](super::Tracked) arena records values that need a drop: their type, and the sites
    /// of the blocks to which they point.
    ///
    /// # Errors
    /// The same as for [`try_alloc_layout`](Arena::try_alloc_layout). The value is then dropped.
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

    /// Puts a value into the arena like [`try_alloc`](Arena::try_alloc), but does not record that
    /// the value is never dropped. Use it for types that own nothing outside of the arena.
    ///
    /// # Errors
    /// The same as for [`try_alloc_layout`](Arena::try_alloc_layout). The value is then dropped.
    #[expect(clippy::mut_from_ref, reason = "each call hands out memory of its own")]
    #[inline(always)]
    fn try_place<T>(&self, value: T) -> Result<&mut T, AllocError>
    where
        Self: Sized,
    {
        let mut place = self.try_alloc_layout(Layout::new::<T>())?.cast::<T>();
        // SAFETY: the piece has T's layout, and nobody else uses it while the arena is borrowed.
        unsafe {
            place.write(value);
            Ok(place.as_mut())
        }
    }

    /// Copies a slice into the arena.
    ///
    /// # Errors
    /// The same as for [`try_alloc_layout`](Arena::try_alloc_layout).
    #[expect(clippy::mut_from_ref, reason = "each call hands out memory of its own")]
    #[inline(always)]
    fn try_alloc_slice_copy<T: Copy>(&self, values: &[T]) -> Result<&mut [T], AllocError>
    where
        Self: Sized,
    {
        let place = self
            .try_alloc_layout(Layout::for_value(values))?
            .cast::<T>();
        // SAFETY: the piece is new and has the slice's layout, and nobody else uses it while the
        // arena is borrowed.
        unsafe {
            place.copy_from_nonoverlapping(NonNull::from(values).cast(), values.len());
            Ok(NonNull::slice_from_raw_parts(place, values.len()).as_mut())
        }
    }

    /// Copies a string into the arena.
    ///
    /// # Errors
    /// The same as for [`try_alloc_layout`](Arena::try_alloc_layout).
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

    /// Puts a value into the arena like [`try_alloc`](Arena::try_alloc), but panics if the arena is
    /// full.
    ///
    /// # Panics
    /// If the arena has no room.
    #[inline]
    fn alloc<T>(&self, value: T) -> &mut T
    where
        Self: Sized,
    {
        self.try_alloc(value)
            .unwrap_or_else(|refused| panic!("{refused}"))
    }

    /// Copies a slice like [`try_alloc_slice_copy`](Arena::try_alloc_slice_copy), but panics if the
    /// arena is full.
    ///
    /// # Panics
    /// If the arena has no room.
    #[inline]
    fn alloc_slice_copy<T: Copy>(&self, values: &[T]) -> &mut [T]
    where
        Self: Sized,
    {
        self.try_alloc_slice_copy(values)
            .unwrap_or_else(|refused| panic!("{refused}"))
    }

    /// Copies a string like [`try_alloc_str`](Arena::try_alloc_str), but panics if the arena is
    /// full.
    ///
    /// # Panics
    /// If the arena has no room.
    #[inline]
    fn alloc_str(&self, text: &str) -> &mut str
    where
        Self: Sized,
    {
        self.try_alloc_str(text)
            .unwrap_or_else(|refused| panic!("{refused}"))
    }
}

/// An arena that can be emptied and used again. It is owned or mutably borrowed.
pub trait Reset: Arena {
    /// Takes back all pieces without dropping values.
    fn reset(&mut self);
}

/// The error of an arena without room for a piece: it reached its limit, or memory ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllocError {
    /// The requested bytes.
    pub bytes: usize,
    /// The arena's limit on chunk bytes, if it has one.
    pub limit: Option<u64>,
}

impl AllocError {
    /// Creates the error of an `arena` that has no room for `layout`.
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

/// Forwards the methods of an arena to the inner arena.
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

/// Implements allocating, resizing and releasing pieces by an allocator's own methods, which give
/// the same guarantees.
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
            // SAFETY: the caller gives the guarantees of `Allocator::grow`.
            unsafe { self.grow(place, old, new) }
                .map(NonNull::cast)
                .map_err(|_| AllocError::by(self, new))
        }

        #[inline]
        unsafe fn try_shrink(&self, place: NonNull<u8>, old: Layout, new: Layout) -> PieceResult {
            // SAFETY: the caller gives the guarantees of `Allocator::shrink`.
            unsafe { self.shrink(place, old, new) }
                .map(NonNull::cast)
                .map_err(|_| AllocError::by(self, new))
        }

        #[inline]
        unsafe fn release(&self, place: NonNull<u8>, layout: Layout) {
            // SAFETY: the caller gives the guarantees of `Allocator::deallocate`.
            unsafe { self.deallocate(place, layout) }
        }
    };
}
#[cfg(any(feature = "bumpalo", feature = "bump-scope"))]
pub(super) use pieces_by_allocator;

/// Forwards every call to the arena behind a reference.
macro_rules! forward_all {
    () => {
        forward_questions!(self => (**self));

        #[inline(always)]
        fn try_alloc_layout(&self, layout: Layout) -> PieceResult {
            A::try_alloc_layout(self, layout)
        }

        #[inline(always)]
        unsafe fn try_grow(&self, place: NonNull<u8>, old: Layout, new: Layout) -> PieceResult {
            // SAFETY: the caller gives the same guarantees.
            unsafe { A::try_grow(self, place, old, new) }
        }

        #[inline(always)]
        unsafe fn try_shrink(&self, place: NonNull<u8>, old: Layout, new: Layout) -> PieceResult {
            // SAFETY: the caller gives the same guarantees.
            unsafe { A::try_shrink(self, place, old, new) }
        }

        #[inline(always)]
        unsafe fn release(&self, place: NonNull<u8>, layout: Layout) {
            // SAFETY: the caller gives the same guarantees.
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
