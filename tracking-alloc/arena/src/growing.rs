//! A sequence under construction in an arena. It becomes a slice or a vector of an arena crate.

use super::{AllocError, Arena};
use std::alloc::Layout;
use std::fmt;
use std::marker::PhantomData;
use std::mem::{self, ManuallyDrop};
use std::ptr::NonNull;

/// A growing sequence of values in one piece of an arena. The piece grows in place if the arena
/// can.
///
/// If it is dropped before it is finished, it drops its values and releases the piece.
pub struct Growing<'a, T, A: Arena> {
    arena: &'a A,
    start: NonNull<T>,
    len: usize,
    room: usize,
    owns: PhantomData<T>,
}

/// A list that takes over values that were read into an arena.
pub trait FromGrowing<'a, A: Arena>: Sized {
    /// The type of its values. [`map_as_pairs`](super::map_as_pairs) can return lists of pairs.
    type Item;

    /// Takes over the values.
    ///
    /// # Errors
    /// If the arena does not suit this list, with the reason.
    fn from_growing(values: Growing<'a, Self::Item, A>) -> Result<Self, &'static str>;
}

impl<'a, T, A: Arena> FromGrowing<'a, A> for &'a [T] {
    type Item = T;

    fn from_growing(values: Growing<'a, T, A>) -> Result<Self, &'static str> {
        Ok(values.into_slice())
    }
}

impl<'a, T, A: Arena> FromGrowing<'a, A> for &'a mut [T] {
    type Item = T;

    fn from_growing(values: Growing<'a, T, A>) -> Result<Self, &'static str> {
        Ok(values.into_slice())
    }
}

impl<'a, T, A: Arena> Growing<'a, T, A> {
    /// Creates an empty sequence. It takes nothing from the arena yet.
    pub fn new(arena: &'a A) -> Self {
        Growing {
            arena,
            start: NonNull::dangling(),
            len: 0,
            room: if size_of::<T>() == 0 { usize::MAX } else { 0 },
            owns: PhantomData,
        }
    }

    /// Creates a sequence with room for `expected` values, but for at most 1 MiB: an input may
    /// announce more values than it contains.
    ///
    /// # Errors
    /// If the arena has no room.
    pub fn expecting(arena: &'a A, expected: usize) -> Result<Self, AllocError> {
        const MOST_BYTES: usize = 1 << 20;
        let mut growing = Growing::new(arena);
        let room = expected.min(MOST_BYTES / size_of::<T>().max(1));
        if growing.room == 0 && room > 0 {
            growing.resize(room)?;
        }
        Ok(growing)
    }

    /// Adds a value.
    ///
    /// # Errors
    /// If the arena has no room; the value is then dropped.
    #[inline]
    pub fn push(&mut self, value: T) -> Result<(), AllocError> {
        if self.len == self.room {
            self.grow()?;
        }
        // SAFETY: there is room for one more value at `len`.
        unsafe { self.start.add(self.len).write(value) };
        self.len += 1;
        Ok(())
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns `true` if there are no values.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the arena.
    pub fn arena(&self) -> &'a A {
        self.arena
    }

    /// Returns the values as a slice, and releases spare room if the arena can take it back. The
    /// values are never dropped.
    pub fn into_slice(mut self) -> &'a mut [T] {
        self.fit();
        let (start, len, _) = self.into_parts();
        // SAFETY: `len` values lie there, nobody else knows them, and the arena is borrowed for 'a.
        unsafe { NonNull::slice_from_raw_parts(start, len).as_mut() }
    }

    /// Returns a pointer to the first value, the number of values and the capacity.
    pub(crate) fn into_parts(self) -> (NonNull<T>, usize, usize) {
        let whole = ManuallyDrop::new(self);
        (whole.start, whole.len, whole.room)
    }

    /// Releases spare room if the arena can take it back.
    pub(crate) fn fit(&mut self) {
        if size_of::<T>() == 0 || self.len == self.room {
            return;
        }
        let (Ok(old), Ok(new)) = (Self::layout(self.room), Self::layout(self.len)) else {
            return;
        };
        if self.len == 0 {
            // SAFETY: the piece was taken with that layout and holds no values.
            unsafe { self.arena.release(self.start.cast(), old) };
            (self.start, self.room) = (NonNull::dangling(), 0);
            return;
        }
        // SAFETY: the piece was taken with `old`, and `new` is smaller.
        if let Ok(place) = unsafe { self.arena.try_shrink(self.start.cast(), old, new) } {
            (self.start, self.room) = (place.cast(), self.len);
        }
    }

    fn layout(count: usize) -> Result<Layout, AllocError> {
        Layout::array::<T>(count).map_err(|_| AllocError {
            bytes: usize::MAX,
            limit: None,
        })
    }

    #[cold]
    fn grow(&mut self) -> Result<(), AllocError> {
        // As in std's Vec: at least doubled, and not in steps of one small value.
        let least = match size_of::<T>() {
            1 => 8,
            2..=1024 => 4,
            _ => 1,
        };
        self.resize(self.room.saturating_mul(2).max(least))
    }

    fn resize(&mut self, room: usize) -> Result<(), AllocError> {
        let new = Self::layout(room)?;
        let place = if self.room == 0 {
            self.arena.try_alloc_layout(new)?
        } else {
            let old = Self::layout(self.room)?;
            // SAFETY: the piece was taken with `old`, and `new` is larger.
            unsafe { self.arena.try_grow(self.start.cast(), old, new)? }
        };
        (self.start, self.room) = (place.cast(), room);
        Ok(())
    }
}

impl<T, A: Arena> Drop for Growing<'_, T, A> {
    fn drop(&mut self) {
        if mem::needs_drop::<T>() {
            // SAFETY: `len` values lie there, and nobody else has them.
            unsafe { NonNull::slice_from_raw_parts(self.start, self.len).drop_in_place() };
        }
        self.len = 0;
        self.fit();
    }
}

impl<T, A: Arena> fmt::Debug for Growing<'_, T, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Growing")
            .field("len", &self.len)
            .field("room", &self.room)
            .finish_non_exhaustive()
    }
}
