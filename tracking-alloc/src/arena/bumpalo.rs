//! bumpalo's arena. Its figures are read, never guessed: what its chunks use is what it says they use.

use super::{Arena, Chunks, Position, Refused, Reset};
use bumpalo::Bump;
use std::alloc::Layout;
use std::any::Any;
use std::ptr::NonNull;

// NOTE: allocator-api2's trait is how bumpalo lets others grow, shrink and release in place.
use allocator_api2_02::alloc::Allocator;

// SAFETY: pieces come from bumpalo's own methods, which keep these promises: chunks never move and are given back by
// `reset(&mut self)` and drop only; grow and shrink keep the bytes, and leave the piece alone when they fail.
unsafe impl<const MIN_ALIGN: usize> Arena for Bump<MIN_ALIGN> {
    #[inline(always)]
    fn try_alloc_layout(&self, layout: Layout) -> Result<NonNull<u8>, Refused> {
        Bump::try_alloc_layout(self, layout).map_err(|_| Refused::by(self, layout))
    }

    #[inline]
    unsafe fn try_grow(
        &self,
        place: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Result<NonNull<u8>, Refused> {
        // SAFETY: the caller's promises are those of `Allocator::grow`.
        unsafe { self.grow(place, old, new) }
            .map(NonNull::cast)
            .map_err(|_| Refused::by(self, new))
    }

    #[inline]
    unsafe fn try_shrink(
        &self,
        place: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Result<NonNull<u8>, Refused> {
        // SAFETY: the caller's promises are those of `Allocator::shrink`.
        unsafe { self.shrink(place, old, new) }
            .map(NonNull::cast)
            .map_err(|_| Refused::by(self, new))
    }

    #[inline]
    unsafe fn release(&self, place: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller's promises are those of `Allocator::deallocate`.
        unsafe { self.deallocate(place, layout) }
    }

    #[inline(always)]
    fn position(&self) -> Position {
        Position {
            // Grows with each chunk, and a chunk stays the present one until the next.
            chunk: self.allocated_bytes(),
            free_bytes: self.chunk_capacity(),
        }
    }

    fn chunks(&self) -> Chunks {
        // SAFETY: nothing is allocated while the iterator lives, and no chunk's contents are read.
        let (count, used) = unsafe { self.iter_allocated_chunks_raw() }
            .fold((0, 0), |(count, used), (_, bytes)| {
                (count + 1, used + bytes)
            });
        Chunks {
            count,
            bytes: self.allocated_bytes() as u64,
            bytes_with_metadata: self.allocated_bytes_including_metadata() as u64,
            unused_bytes: self.allocated_bytes().saturating_sub(used) as u64,
        }
    }

    fn limit(&self) -> Option<u64> {
        self.allocation_limit().map(|bytes| bytes as u64)
    }

    fn crate_name(&self) -> &'static str {
        "bumpalo"
    }

    /// Only with the default minimum alignment: bumpalo's collections know no other.
    #[inline(always)]
    fn bumpalo(&self) -> Option<&Bump> {
        (self as &dyn Any).downcast_ref()
    }
}

impl<const MIN_ALIGN: usize> Reset for Bump<MIN_ALIGN> {
    fn reset(&mut self) {
        Bump::reset(self);
    }
}
