//! Updates of a tracked arena's counters, around each call of the handle and when its figures are
//! read.
//!
//! While something records, the counters lie where the recorder can read them, otherwise in the
//! handle.
//!
//! PERF: in the handle, allocating a piece costs one comparison before it (nothing bypassed the
//! handle), one after it (the chunk is the same), and two additions. Everything else is out of
//! line, to keep the inlined code small.

use super::{AllocError, Arena, Chunks, Tracked};
use heapglass_recorder::arenas::{ArenaCounters, ArenaEvent, ArenaStats};
use std::ptr::NonNull;

/// A value that no cursor has.
const NOWHERE: (usize, usize) = (usize::MAX, 0);

#[inline(always)]
fn is_within(cursor: usize, (start, span): (usize, usize)) -> bool {
    cursor.wrapping_sub(start) <= span
}

impl<A: Arena> Tracked<A> {
    /// Moves the counters to where the recorder can read them, if something records.
    pub(super) fn begin(&self) {
        let place = match self.chunk.get() {
            (_, 0) => 0,
            (start, _) => start,
        };
        self.recorded
            .begin(&self.name, self.arena.crate_name(), place);
        self.choose_path();
    }

    /// Chooses how pieces are counted.
    fn choose_path(&self) {
        self.fast.set(if self.recorded.is_recorded() {
            NOWHERE
        } else {
            self.chunk.get()
        });
    }

    #[inline(always)]
    pub(super) fn counters(&self) -> &ArenaCounters {
        self.recorded.counters()
    }

    /// Counts the bytes that bypassed the handle since its last call. Returns the arena's current
    /// position.
    #[inline(always)]
    pub(super) fn checked_cursor(&self) -> usize {
        let now = self.arena.cursor();
        if now != self.cursor.get() {
            self.count_bypass();
        }
        now
    }

    #[cold]
    #[inline(never)]
    fn count_bypass(&self) {
        let cursor = self.cursor.get();
        let before = self.counters().used_at(cursor);
        let since = self.arena.used_since(cursor);
        let known = self.counters().chunks.get();
        if !self.refresh() {
            return;
        }
        match since {
            Some(since) => {
                self.counters().bypassed.add(since);
                self.recorded.count_bypassed(since as i64);
            }
            None => {
                let now = self.counters().base_used.get();
                self.recorded.sum_up();
                let (bypassed, allocated) =
                    self.counters().rewound(before, before.saturating_sub(now));
                self.recorded.count_bypassed(-(bypassed as i64));
                self.recorded.count_released(allocated, 0);
            }
        }
        if self.counters().chunks.get() > known {
            self.recorded.publish(ArenaEvent::Chunk {
                used: before,
                piece: 0,
            });
        }
    }

    /// Returns the bytes used since `before` by a call of the handle that returned `piece`. The
    /// result is negative if fewer bytes are used.
    #[inline]
    pub(super) fn moved(&self, before: usize, piece: Option<NonNull<u8>>) -> i64 {
        let now = self.arena.cursor();
        let used = self.counters().used_at(before);
        self.stand_at(now);
        if !is_within(now, self.chunk.get()) {
            return self.new_chunk(before, piece);
        }
        match self.arena.used_since(before) {
            Some(more) => more as i64,
            None => {
                let fewer = now.abs_diff(before) as u64;
                let counters = self.counters();
                counters.most_used.raise(used);
                counters.anchor(used.saturating_sub(fewer), now);
                -(fewer as i64)
            }
        }
    }

    #[inline(always)]
    fn stand_at(&self, cursor: usize) {
        self.cursor.set(cursor);
        self.counters().cursor.set(cursor as u64);
    }

    /// Handles a new chunk. Returns the bytes used since `before`.
    #[cold]
    #[inline(never)]
    fn new_chunk(&self, before: usize, piece: Option<NonNull<u8>>) -> i64 {
        let used = self.counters().used_at(before);
        let known = self.counters().chunks.get();
        self.refresh();
        self.recorded
            .publish(if self.counters().chunks.get() > known {
                ArenaEvent::Chunk {
                    used,
                    piece: piece.map_or(0, |piece| piece.addr().get()),
                }
            } else {
                // An empty piece from an arena without chunks, or a chunk that the arena already
                // had.
                ArenaEvent::Update
            });
        self.counters().base_used.get() as i64 - used as i64
    }

    /// Reads the chunks that the arena holds. Returns `false` if the arena cannot report them.
    pub(super) fn refresh(&self) -> bool {
        let chunks = self.arena.chunks();
        let counters = self.counters();
        if chunks.count == 0 && counters.chunks.get() > 0 {
            // NOTE: a claimed bump-scope arena looks empty until the claim ends, but it is not.
            return false;
        }
        self.set_chunks(chunks);
        true
    }

    fn set_chunks(&self, chunks: Chunks) {
        let cursor = self.arena.cursor();
        self.counters().set_chunks(chunks, cursor);
        self.cursor.set(cursor);
        self.chunk.set((chunks.present_start, chunks.present_bytes));
        self.choose_path();
    }

    /// Counts an allocated piece.
    #[inline(always)]
    pub(super) fn count_piece(
        &self,
        before: usize,
        after: usize,
        piece: NonNull<u8>,
        bytes: usize,
    ) {
        if is_within(after, self.fast.get()) {
            self.cursor.set(after);
            self.recorded.inline.count_allocated(bytes as u64);
        } else {
            self.count_piece_slowly(before, after, piece, bytes);
        }
    }

    /// Counts a piece while something records, or if it comes from another chunk.
    #[inline(never)]
    fn count_piece_slowly(&self, before: usize, after: usize, piece: NonNull<u8>, bytes: usize) {
        self.stand_at(after);
        if !is_within(after, self.chunk.get()) {
            self.new_chunk(before, Some(piece));
        }
        self.recorded.count_allocated(bytes as u64);
    }

    /// Returns the bytes that a piece of `bytes` takes for the arena's minimum alignment. This
    /// padding is released together with the piece.
    #[inline(always)]
    fn taken(&self, bytes: usize) -> usize {
        bytes.next_multiple_of(self.arena.min_align().max(1))
    }

    /// Counts a change of a piece of `old` bytes. `less` bytes fewer are allocated, and `back`
    /// bytes fewer are used (negative: more). If the arena took back more than the piece used, it
    /// also took back abandoned bytes next to the piece.
    #[inline]
    fn settle(&self, old: usize, less: i64, back: i64) {
        if back - less > (self.taken(old) - old) as i64 {
            self.given_up_came_back();
        }
    }

    #[cold]
    #[inline(never)]
    fn given_up_came_back(&self) {
        self.recorded.sum_up();
        let bypassed = self
            .counters()
            .settle(self.counters().used_at(self.cursor.get()));
        self.recorded.count_bypassed(-(bypassed as i64));
    }

    /// Counts a growth of a piece, by which `used` more bytes are used. If that is the whole new
    /// size, the old place is abandoned.
    #[inline]
    pub(super) fn grown(&self, old: usize, new: usize, used: i64) {
        let counters = self.counters();
        counters.grows.add(1);
        let copied = if used < new as i64 {
            counters.grows_in_place.add(1);
            0
        } else {
            counters.abandoned.add(old as u64);
            counters.copied.add(old as u64);
            old as u64
        };
        self.recorded.count_grown(copied);
        self.recorded.count_released(old as u64, 1);
        self.recorded.count_allocated(new as u64);
        self.settle(old, old as i64 - new as i64, -used);
    }

    /// Counts a shrink of a piece, by which `used` more bytes are used (negative: fewer). Bytes
    /// that the arena did not take back are abandoned, except those that the smaller piece takes
    /// for the minimum alignment. These are padding, and are released together with the piece.
    #[inline]
    pub(super) fn shrunk(&self, old: usize, new: usize, used: i64) {
        let counters = self.counters();
        if used >= new as i64 {
            // The piece had to move, so its old place is abandoned.
            counters.abandoned.add(old as u64);
            counters.copied.add(new as u64);
        } else if used == 0 {
            counters
                .abandoned
                .add((self.taken(old) - self.taken(new)) as u64);
        }
        self.recorded.count_released((old - new) as u64, 0);
        self.settle(old, (old - new) as i64, -used);
    }

    /// Counts a piece that was released or abandoned.
    #[inline]
    pub(super) fn released(&self, bytes: usize, used: i64) {
        if used >= 0 {
            self.counters().abandoned.add(bytes as u64);
        }
        self.recorded.count_released(bytes as u64, 1);
        self.settle(bytes, bytes as i64, -used);
    }

    /// Counts a request that was refused.
    #[cold]
    #[inline(never)]
    pub(super) fn refused(&self, refused: AllocError) -> AllocError {
        self.counters().refusals.add(1);
        // The arena may have tried further chunks.
        self.refresh();
        self.recorded.publish(ArenaEvent::Update);
        refused
    }

    /// Returns the figures before a reset or the end.
    pub(super) fn emptying(&self) -> ArenaStats {
        let cursor = self.checked_cursor();
        let counters = self.counters();
        counters.cursor.set(cursor as u64);
        self.recorded.sum_up();
        let stats = counters.stats(None);
        counters.most_used.raise(stats.occupied_bytes());
        stats
    }

    /// Updates the counters after a reset. Bytes that the arena still uses have bypassed the
    /// handle.
    pub(super) fn emptied(&self, before: ArenaStats) {
        self.recorded.emptied();
        self.set_chunks(self.arena.chunks());
        let counters = self.counters();
        counters.resets.add(1);
        counters.abandoned.set(0);
        counters.bypassed.set(counters.base_used.get());
        self.recorded.publish(ArenaEvent::Reset { before });
    }
}
