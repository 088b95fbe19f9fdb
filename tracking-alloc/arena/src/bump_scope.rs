//! bump-scope's arenas. Their figures are read from bump-scope.

use super::traits::pieces_by_allocator;
use super::{AllocError, Arena, Chunks, PieceResult, Reset};
use bump_scope::alloc::Allocator;
use bump_scope::settings::BumpAllocatorSettings;
use bump_scope::{BaseAllocator, Bump, BumpScope};
use std::alloc::Layout;
use std::any::Any;
use std::ptr::NonNull;

/// Implements `Arena` for an arena and for a scope of one.
macro_rules! arena {
    () => {
        pieces_by_allocator!();

        /// Returns the address of the current chunk's bump position.
        #[inline(always)]
        fn cursor(&self) -> usize {
            let position = self.stats().bump_position();
            position.map_or(0, |position| position.addr().get())
        }

        fn used_since(&self, cursor: usize) -> Option<u64> {
            let mut since = 0;
            let present = self.stats().current_chunk();
            let before = present.into_iter().flat_map(|chunk| chunk.iter_prev());
            for chunk in present.into_iter().chain(before) {
                let (start, end) = (chunk.content_start().addr(), chunk.content_end().addr());
                let position = chunk.bump_position().addr().get();
                if (start.get()..=end.get()).contains(&cursor) {
                    let more = if S::UP {
                        position.checked_sub(cursor)
                    } else {
                        cursor.checked_sub(position)
                    };
                    return more.map(|more| (since + more) as u64);
                }
                since += chunk.allocated();
            }
            // The position is before the first chunk.
            (cursor == 0).then_some(since as u64)
        }

        fn chunks(&self) -> Chunks {
            let stats = self.stats();
            let Some(present) = stats.current_chunk() else {
                return Chunks::default();
            };
            // NOTE: `stats.allocated()` counts chunks before the current one as fully used. The
            // bytes really used in such a chunk end at its position. Chunks after the current one
            // hold nothing, whatever they report.
            let before = present.iter_prev().map(|chunk| chunk.allocated());
            let used = present.allocated() + before.sum::<usize>();
            Chunks {
                count: stats.count() as u64,
                bytes: stats.capacity() as u64,
                bytes_with_metadata: stats.size() as u64,
                unused_tail_bytes: stats.capacity().saturating_sub(used) as u64,
                free_bytes: present.remaining() as u64,
                present_start: present.content_start().addr().get(),
                present_bytes: present.capacity(),
            }
        }

        #[inline(always)]
        fn min_align(&self) -> usize {
            S::MIN_ALIGN
        }

        fn crate_name(&self) -> &'static str {
            "bump-scope"
        }
    };
}

// SAFETY: pieces come from bump-scope's own methods, which give these guarantees: chunks never
// move, and grow and shrink keep the bytes and leave the piece unchanged if they fail.
unsafe impl<A, S> Arena for Bump<A, S>
where
    A: BaseAllocator<S::GuaranteedAllocated> + 'static,
    S: BumpAllocatorSettings + 'static,
{
    arena!();

    /// Returns the arena only if it has the default settings.
    #[inline(always)]
    fn bump_scope(&self) -> Option<&Bump> {
        (self as &dyn Any).downcast_ref()
    }
}

// SAFETY: as above. A scope's pieces live as long as the scope is borrowed.
unsafe impl<A, S> Arena for BumpScope<'_, A, S>
where
    A: BaseAllocator<S::GuaranteedAllocated>,
    S: BumpAllocatorSettings,
{
    arena!();
}

impl<A, S> Reset for Bump<A, S>
where
    A: BaseAllocator<S::GuaranteedAllocated> + 'static,
    S: BumpAllocatorSettings + 'static,
{
    fn reset(&mut self) {
        Bump::reset(self);
    }
}
