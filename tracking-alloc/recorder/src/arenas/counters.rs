//! The counters of one tracked arena, which account for every byte of its chunks.
//!
//! `used = allocated + padding + abandoned + bypassed` always holds, because padding is not counted
//! but computed as the remainder. So only the used bytes reported by the arena must be right; they
//! are read before and after each call. Never allocates, never panics.

use super::{ArenaStats, Chunks};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A figure with one writer, the thread with the handle. Other threads may read it.
///
/// PERF: it uses plain loads and stores.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Returns the figure.
    #[inline(always)]
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }

    /// Sets the figure.
    #[inline(always)]
    pub fn set(&self, to: u64) {
        self.0.store(to, Relaxed);
    }

    /// Adds to the figure, wrapping on overflow.
    #[inline(always)]
    pub fn add(&self, more: u64) {
        self.set(self.get().wrapping_add(more));
    }

    /// Subtracts from the figure, wrapping on overflow.
    #[inline(always)]
    pub fn sub(&self, fewer: u64) {
        self.set(self.get().wrapping_sub(fewer));
    }

    /// Raises the figure to `to` if it is lower.
    pub fn raise(&self, to: u64) {
        self.set(self.get().max(to));
    }
}

macro_rules! counters {
    ($($(#[$doc:meta])* $figure:ident,)*) => {
        /// Figures of one instance.
        #[derive(Debug, Default)]
        pub struct ArenaCounters {
            $($(#[$doc])* pub $figure: Counter,)*
        }

        impl ArenaCounters {
            /// Copies other counters.
            #[cfg_attr(not(recording), expect(dead_code, reason = "only whole platforms record"))]
            pub(super) fn take_over(&self, from: &ArenaCounters) {
                $(self.$figure.set(from.$figure.get());)*
            }
        }
    };
}

counters! {
    /// Bytes used in all chunks at the position `base_cursor`. Bytes used since are in the same
    /// chunk.
    base_used,
    /// The position at which `base_used` was taken.
    base_cursor,
    /// The arena's position, updated continuously while the recording can read it.
    cursor,
    /// Bytes allocated since the last reset; a growth counts its difference. While something
    /// records, this figure, `blocks` and the two figures of returned bytes and pieces are sums
    /// over counters, computed when they are read.
    allocated,
    /// Number of pieces allocated since the last reset.
    blocks,
    /// Bytes given up inside the arena.
    abandoned,
    /// Bytes used without the handle.
    bypassed,
    /// Bytes that are no longer allocated. The total is the sum of these and the current ones.
    returned,
    /// Number of pieces that are no longer allocated.
    returned_blocks,
    /// Number of growths, in place or not.
    grows,
    /// Number of growths in place.
    grows_in_place,
    /// Bytes copied by growths that were not in place.
    copied,
    /// Number of requests that the arena refused.
    refusals,
    /// Number of resets.
    resets,
    /// Number of chunks that the arena holds.
    chunks,
    /// Unused bytes in the current chunk, at the last refresh.
    free,
    /// Usable bytes of the chunks.
    allocated_bytes,
    /// Bytes of the chunks, including the arena's own headers.
    allocated_bytes_including_metadata,
    /// Number of chunks ever taken.
    total_chunks,
    /// Usable bytes of all chunks ever taken.
    total_allocated_bytes,
    /// Most chunks held at once.
    most_chunks,
    /// Largest `allocated_bytes`.
    most_allocated_bytes,
    /// The most bytes used at once. It is updated before each fall, because a maximum is always
    /// directly before a fall.
    most_used,
}

impl ArenaCounters {
    /// Returns the bytes used at the position `cursor`, in the current chunk of the last refresh.
    #[inline(always)]
    pub fn used_at(&self, cursor: usize) -> u64 {
        self.base_used.get() + self.base_cursor.get().abs_diff(cursor as u64)
    }

    /// Returns the bytes currently used.
    pub fn used(&self) -> u64 {
        self.used_at(self.cursor.get() as usize)
    }

    /// Sets the bytes used at the arena's position.
    pub fn anchor(&self, used: u64, cursor: usize) {
        self.base_used.set(used);
        self.base_cursor.set(cursor as u64);
        self.cursor.set(cursor as u64);
    }

    /// Returns the bytes allocated, abandoned, and used without the handle.
    fn parts(&self) -> (u64, u64, u64) {
        let (allocated, abandoned) = (self.allocated.get(), self.abandoned.get());
        (allocated, abandoned, self.bypassed.get())
    }

    /// Returns the bytes ever allocated.
    #[inline(always)]
    pub fn total_allocated(&self) -> u64 {
        self.allocated.get().wrapping_add(self.returned.get())
    }

    /// Returns the number of pieces ever allocated.
    pub fn total_blocks(&self) -> u64 {
        self.blocks.get().wrapping_add(self.returned_blocks.get())
    }

    /// Sets the chunks that the arena holds at its position.
    pub fn set_chunks(&self, chunks: Chunks, cursor: usize) {
        let more = |now: u64, known: &Counter| now.saturating_sub(known.get());
        self.total_chunks.add(more(chunks.count, &self.chunks));
        self.total_allocated_bytes
            .add(more(chunks.bytes, &self.allocated_bytes));
        self.most_chunks.raise(chunks.count);
        self.most_allocated_bytes.raise(chunks.bytes);
        self.chunks.set(chunks.count);
        self.free.set(chunks.free_bytes);
        self.allocated_bytes.set(chunks.bytes);
        self.allocated_bytes_including_metadata
            .set(chunks.bytes_with_metadata);
        self.anchor(
            chunks.bytes.saturating_sub(chunks.unused_tail_bytes),
            cursor,
        );
    }

    /// Counts an allocated piece.
    #[inline(always)]
    pub fn count_allocated(&self, bytes: u64) {
        self.allocated.add(bytes);
        self.blocks.add(1);
    }

    /// Notes that nothing is allocated any more.
    pub fn empty(&self) {
        self.count_released(self.allocated.get(), self.blocks.get());
    }

    /// Subtracts bytes and pieces that are no longer allocated.
    pub fn count_released(&self, bytes: u64, blocks: u64) {
        self.allocated.sub(bytes);
        self.blocks.sub(blocks);
        self.returned.add(bytes);
        self.returned_blocks.add(blocks);
    }

    /// Handles a rewind: `fewer` of `before` used bytes are no longer used, because bytes that
    /// bypassed the handle were released too. If there were not enough of those, the arena was
    /// rewound below the handle's own pieces. Then bytes that cannot exist any more must be
    /// subtracted: bypassed ones here, allocated ones by the caller. Returns the bypassed and the
    /// allocated bytes that are gone.
    pub fn rewound(&self, before: u64, fewer: u64) -> (u64, u64) {
        self.most_used.raise(before);
        let (allocated, abandoned, bypassed) = self.parts();
        let padding = before.saturating_sub(allocated + abandoned + bypassed);
        let mut left = fewer;
        let mut take = |from: u64| {
            let taken = left.min(from);
            left -= taken;
            taken
        };
        let from_bypassed = take(bypassed);
        take(padding);
        let from_abandoned = take(abandoned);
        self.bypassed.sub(from_bypassed);
        self.abandoned.sub(from_abandoned);
        (from_bypassed, take(allocated))
    }

    /// Handles that more bytes were released than the pieces had. Only `used` bytes are left, so
    /// some of the abandoned or bypassed bytes cannot exist any more. Returns the number of those
    /// bypassed bytes.
    pub fn settle(&self, used: u64) -> u64 {
        let (allocated, abandoned, bypassed) = self.parts();
        let counted = allocated.saturating_add(abandoned);
        let over = counted.saturating_add(bypassed).saturating_sub(used);
        let from_bypassed = over.saturating_sub(abandoned).min(bypassed);
        self.abandoned.sub(over.min(abandoned));
        self.bypassed.sub(from_bypassed);
        from_bypassed
    }

    /// Returns the figures for the program. They are exact if the counters were just updated.
    pub fn stats(&self, limit: Option<u64>) -> ArenaStats {
        let used = self.used();
        let (allocated, abandoned, bypassed) = self.parts();
        ArenaStats {
            chunks: self.chunks.get(),
            allocated_bytes: self.allocated_bytes.get(),
            allocated_bytes_including_metadata: self.allocated_bytes_including_metadata.get(),
            chunk_capacity: self.free.get(),
            limit,
            used_bytes: allocated,
            used_blocks: self.blocks.get(),
            padding_bytes: used.saturating_sub(allocated + abandoned + bypassed),
            abandoned_bytes: abandoned,
            bypassed_bytes: bypassed,
            unused_tail_bytes: self.allocated_bytes.get().saturating_sub(used),
            resets: self.resets.get(),
            most_allocated_bytes: self.most_allocated_bytes.get(),
            most_occupied_bytes: self.most_used.get().max(used),
            most_chunks: self.most_chunks.get(),
            total_chunks: self.total_chunks.get(),
            total_allocated_bytes: self.total_allocated_bytes.get(),
            total_used_bytes: self.total_allocated(),
            total_used_blocks: self.total_blocks(),
            grows: self.grows.get(),
            grows_in_place: self.grows_in_place.get(),
            copied_bytes: self.copied.get(),
            limit_reached: self.refusals.get(),
        }
    }
}
