//! bumpalo's arena. Its figures are read from bumpalo.

use super::traits::pieces_by_allocator;
use super::{AllocError, Arena, Chunks, PieceResult, Reset};
use bumpalo::Bump;
use std::alloc::Layout;
use std::any::Any;
use std::ptr::NonNull;

// NOTE: bumpalo offers growing, shrinking and releasing in place only through allocator-api2's
// trait.
use allocator_api2_02::alloc::Allocator;

// SAFETY: pieces come from bumpalo's own methods, which give these guarantees: chunks never move
// and are freed only by `reset(&mut self)` and drop, and grow and shrink keep the bytes and leave
// the piece unchanged if they fail.
unsafe impl<const MIN_ALIGN: usize> Arena for Bump<MIN_ALIGN> {
    pieces_by_allocator!();

    /// Returns the address down to which the current chunk is used.
    #[inline(always)]
    fn cursor(&self) -> usize {
        // SAFETY: nothing is allocated while the iterator lives, and no chunk's contents are read.
        unsafe { self.iter_allocated_chunks_raw() }
            .next()
            .map_or(0, |(used, _)| used.addr())
    }

    /// Returns the address of the piece. bumpalo bumps downwards, so the used part of the chunk
    /// begins with the last piece.
    #[inline(always)]
    fn cursor_after(&self, place: NonNull<u8>, _: Layout) -> usize {
        place.addr().get()
    }

    fn used_since(&self, cursor: usize) -> Option<u64> {
        let mut since = 0;
        // SAFETY: as above.
        for (used, bytes) in unsafe { self.iter_allocated_chunks_raw() } {
            let end = used.addr() + bytes;
            if (used.addr()..=end).contains(&cursor) {
                return Some((since + cursor - used.addr()) as u64);
            }
            since += bytes;
        }
        // The position is before the first chunk.
        (cursor == 0).then_some(since as u64)
    }

    fn chunks(&self) -> Chunks {
        // SAFETY: as above.
        let mut chunks = unsafe { self.iter_allocated_chunks_raw() };
        let Some((present, present_used)) = chunks.next() else {
            return Chunks::default();
        };
        let (count, used) = chunks.fold((1, present_used), |(count, used), (_, bytes)| {
            (count + 1, used + bytes)
        });
        let free = self.chunk_capacity();
        Chunks {
            count,
            bytes: self.allocated_bytes() as u64,
            bytes_with_metadata: self.allocated_bytes_including_metadata() as u64,
            unused_tail_bytes: self.allocated_bytes().saturating_sub(used) as u64,
            free_bytes: free as u64,
            present_start: present.addr() - free,
            present_bytes: present_used + free,
        }
    }

    #[inline(always)]
    fn min_align(&self) -> usize {
        MIN_ALIGN
    }

    fn limit(&self) -> Option<u64> {
        self.allocation_limit().map(|bytes| bytes as u64)
    }

    fn crate_name(&self) -> &'static str {
        "bumpalo"
    }

    /// Returns the arena only if it has the default minimum alignment, the only one that bumpalo's
    /// collections support.
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
