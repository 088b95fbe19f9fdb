//! The books of one tracked arena: where every byte of its chunks is.
//!
//! `used = handed + padding + abandoned + past` holds because padding is not counted but is what remains; so all that
//! must be right is what the arena says it used, read before and after each call. Never allocates, never panics.

use super::{ArenaStats, Chunks};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A figure with one writer, the thread that has the handle; others may read it. PERF: plain loads and stores.
#[derive(Debug, Default)]
pub(super) struct Figure(AtomicU64);

impl Figure {
    #[inline(always)]
    pub(super) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }

    #[inline(always)]
    pub(super) fn set(&self, to: u64) {
        self.0.store(to, Relaxed);
    }

    #[inline(always)]
    pub(super) fn add(&self, more: u64) {
        self.set(self.get().wrapping_add(more));
    }

    #[inline(always)]
    pub(super) fn sub(&self, fewer: u64) {
        self.set(self.get().wrapping_sub(fewer));
    }

    pub(super) fn raise(&self, to: u64) {
        self.set(self.get().max(to));
    }

    pub(super) fn replace(&self, to: u64) -> u64 {
        let before = self.get();
        self.set(to);
        before
    }
}

macro_rules! books {
    ($($(#[$doc:meta])* $figure:ident,)*) => {
        /// Figures of one instance.
        #[derive(Debug, Default)]
        pub(super) struct Books {
            $($(#[$doc])* pub(super) $figure: Figure,)*
        }

        impl Books {
            /// Takes over from other books.
            #[cfg_attr(not(recording), expect(dead_code, reason = "only whole platforms record"))]
            pub(super) fn take_over(&self, from: &Books) {
                $(self.$figure.set(from.$figure.get());)*
            }
        }
    };
}

books! {
    /// Bytes used in all chunks, plus the free ones of the present chunk: fixed while that stays the present one.
    reach,
    /// Free bytes of the present chunk, as the handle last left it.
    free,
    /// Bytes handed out since the last reset, a growth counted as its difference.
    handed,
    blocks,
    abandoned,
    past,
    /// Bytes and pieces that were handed out and are not any more: totals are these and what is handed out now.
    returned,
    returned_blocks,
    grows,
    grows_in_place,
    copied,
    refusals,
    resets,
    chunks,
    chunk_bytes,
    chunk_bytes_with_metadata,
    total_chunks,
    total_chunk_bytes,
    most_chunks,
    most_chunk_bytes,
    /// Brought up to date before each fall: a maximum is a moment before a fall.
    most_used,
}

impl Books {
    /// Bytes used in all chunks as of the last look.
    #[inline(always)]
    pub(super) fn used(&self) -> u64 {
        self.reach.get().wrapping_sub(self.free.get())
    }

    /// Bytes ever handed out.
    #[inline(always)]
    pub(super) fn total_handed(&self) -> u64 {
        self.handed.get().wrapping_add(self.returned.get())
    }

    /// What the arena holds, with `free` bytes left in its present chunk.
    pub(super) fn book_chunks(&self, chunks: Chunks, free: u64) {
        let more = |now: u64, known: &Figure| now.saturating_sub(known.get());
        self.total_chunks.add(more(chunks.count, &self.chunks));
        self.total_chunk_bytes
            .add(more(chunks.bytes, &self.chunk_bytes));
        self.most_chunks.raise(chunks.count);
        self.most_chunk_bytes.raise(chunks.bytes);
        self.chunks.set(chunks.count);
        self.chunk_bytes.set(chunks.bytes);
        self.chunk_bytes_with_metadata
            .set(chunks.bytes_with_metadata);
        let used = chunks.bytes.saturating_sub(chunks.unused_bytes);
        self.reach.set(used + free);
        self.free.set(free);
    }

    /// Books the change since `before` bytes were used as gone past the handle: bytes, fewer when negative.
    pub(super) fn book_past(&self, before: u64) -> i64 {
        let used = self.used();
        if used >= before {
            self.past.add(used - before);
            return (used - before) as i64;
        }
        self.most_used.raise(before);
        self.rewound(before, before - used)
    }

    /// Fewer bytes are used than `before`: what went past the handle was given back there too. If that was not as much,
    /// the arena was rewound below the handle's own pieces, and what cannot be there any more is taken off.
    #[cold]
    fn rewound(&self, before: u64, fewer: u64) -> i64 {
        let (handed, abandoned, past) = (self.handed.get(), self.abandoned.get(), self.past.get());
        let padding = before.saturating_sub(handed + abandoned + past);
        let mut left = fewer;
        let mut take = |from: u64| {
            let taken = left.min(from);
            left -= taken;
            from - taken
        };
        self.past.set(take(past));
        take(padding);
        self.abandoned.set(take(abandoned));
        self.handed.set(take(handed));
        self.returned.add(handed - self.handed.get());
        -((past - self.past.get()) as i64)
    }

    /// A piece was handed out.
    #[inline(always)]
    pub(super) fn handed_out(&self, bytes: usize) {
        self.handed.add(bytes as u64);
        self.blocks.add(1);
    }

    /// A piece grew, and `used` bytes more are used: bytes copied. Where those are as many as the new size, the old
    /// place lies waste.
    #[inline]
    pub(super) fn grown(&self, old: usize, new: usize, used: i64) -> u64 {
        self.handed.add((new - old) as u64);
        self.returned.add(old as u64);
        self.returned_blocks.add(1);
        self.grows.add(1);
        if used < new as i64 {
            self.grows_in_place.add(1);
            return 0;
        }
        self.abandoned.add(old as u64);
        self.copied.add(old as u64);
        old as u64
    }

    /// A piece shrank, and `used` bytes more are used (negative: fewer). What the arena did not take back lies waste.
    #[inline]
    pub(super) fn shrunk(&self, old: usize, new: usize, used: i64) {
        let fewer = (old - new) as u64;
        self.handed.sub(fewer);
        self.returned.add(fewer);
        if used < 0 {
            self.most_used.raise((self.used() as i64 - used) as u64);
        } else if used >= new as i64 {
            // It had to move: its old place lies waste.
            self.abandoned.add(old as u64);
            self.copied.add(new as u64);
        } else if used == 0 {
            self.abandoned.add(fewer);
        }
    }

    /// A piece was given back, or given up.
    #[inline]
    pub(super) fn released(&self, bytes: usize, used: i64) {
        self.handed.sub(bytes as u64);
        self.blocks.sub(1);
        self.returned.add(bytes as u64);
        self.returned_blocks.add(1);
        if used < 0 {
            self.most_used.raise((self.used() as i64 - used) as u64);
        } else {
            self.abandoned.add(bytes as u64);
        }
    }

    /// All pieces were taken back.
    pub(super) fn emptied(&self) {
        self.resets.add(1);
        self.returned.add(self.handed.replace(0));
        self.returned_blocks.add(self.blocks.replace(0));
        self.abandoned.set(0);
    }

    /// The figures as people get them. Exact when the arena was just looked at.
    pub(super) fn stats(&self, limit: Option<u64>) -> ArenaStats {
        let used = self.used();
        let (handed, abandoned, past) = (self.handed.get(), self.abandoned.get(), self.past.get());
        ArenaStats {
            chunks: self.chunks.get(),
            chunk_bytes: self.chunk_bytes.get(),
            chunk_bytes_with_metadata: self.chunk_bytes_with_metadata.get(),
            chunk_capacity: self.free.get(),
            limit,
            handed_bytes: handed,
            handed_blocks: self.blocks.get(),
            padding_bytes: used.saturating_sub(handed + abandoned + past),
            abandoned_bytes: abandoned,
            past_bytes: past,
            tail_bytes: self.chunk_bytes.get().saturating_sub(used),
            resets: self.resets.get(),
            most_chunk_bytes: self.most_chunk_bytes.get(),
            most_used_bytes: self.most_used.get().max(used),
            most_chunks: self.most_chunks.get(),
            total_chunks: self.total_chunks.get(),
            total_chunk_bytes: self.total_chunk_bytes.get(),
            total_handed_bytes: self.total_handed(),
            total_handed_blocks: self.blocks.get().wrapping_add(self.returned_blocks.get()),
            grows: self.grows.get(),
            grows_in_place: self.grows_in_place.get(),
            copied_bytes: self.copied.get(),
            limit_reached: self.refusals.get(),
        }
    }
}
