//! When a tracked arena's counters are brought up to date: around each call of the handle, and where somebody asks.
//!
//! While something records the counters lie where the recording can reach them, else in the handle. PERF: then a piece
//! allocated costs a compare before (nothing bypassed the handle), one after (the chunk is the same), and two
//! additions; all else is out of line, so that what is inlined into other people's code stays small.

use super::counters::ArenaCounters;
use super::record::{Event, Recorded};
use super::{AllocError, Arena, ArenaStats};
use std::cell::Cell;
use std::ptr::NonNull;

/// No cursor lies there.
const NOWHERE: (usize, usize) = (usize::MAX, 0);

#[inline(always)]
fn is_within(cursor: usize, (start, span): (usize, usize)) -> bool {
    cursor.wrapping_sub(start) <= span
}

/// The counters of a handle, and where the arena stood after its last call.
#[derive(Default)]
pub(super) struct Accounting {
    cursor: Cell<usize>,
    /// Cursors of the present chunk: the lowest, and how far the highest lies above it.
    chunk: Cell<(usize, usize)>,
    /// The same while the counters lie here, else cursors that there are not.
    fast: Cell<(usize, usize)>,
    recorded: Recorded,
    inline: ArenaCounters,
}

impl Accounting {
    /// Begins to count an arena; what it used already bypassed the handle.
    pub(super) fn begin_counting(name: &str, arena: &impl Arena) -> Self {
        let new = Accounting::default();
        new.refresh(arena);
        new.inline.bypassed.set(new.inline.base_used.get());
        new.begin(name, arena);
        new
    }

    /// Moves the counters to where the recording can reach them, when something records.
    fn begin(&self, name: &str, arena: &impl Arena) {
        self.recorded.begin(name, arena.crate_name(), &self.inline);
        self.choose_path();
    }

    /// Decides which way pieces are counted.
    fn choose_path(&self) {
        self.fast.set(match self.recorded.counters() {
            None => self.chunk.get(),
            Some(_) => NOWHERE,
        });
    }

    #[inline(always)]
    fn counters(&self) -> &ArenaCounters {
        self.recorded.counters().unwrap_or(&self.inline)
    }

    /// Bytes used when the arena stood at `cursor`, in the present chunk of the last refresh.
    fn used_at(&self, cursor: usize) -> u64 {
        self.counters().used_at(cursor)
    }

    /// Counts what bypassed the handle since its last call. Returns where the arena stands now.
    #[inline(always)]
    pub(super) fn detect_bypass(&self, arena: &impl Arena) -> usize {
        let now = arena.cursor();
        if now != self.cursor.get() {
            self.count_bypass(arena);
        }
        now
    }

    #[cold]
    #[inline(never)]
    fn count_bypass(&self, arena: &impl Arena) {
        let cursor = self.cursor.get();
        let before = self.used_at(cursor);
        let since = arena.used_since(cursor);
        let known = self.counters().chunks.get();
        if !self.refresh(arena) {
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
                self.count_released(allocated, 0);
            }
        }
        if self.counters().chunks.get() > known {
            self.recorded.publish(Event::Chunk {
                used: before,
                piece: 0,
            });
        }
    }

    /// After a call of the handle itself that returned `piece`: bytes used more than `before` (negative: fewer).
    #[inline]
    pub(super) fn moved(
        &self,
        arena: &impl Arena,
        before: usize,
        piece: Option<NonNull<u8>>,
    ) -> i64 {
        let now = arena.cursor();
        let used = self.used_at(before);
        self.stand_at(now);
        if !is_within(now, self.chunk.get()) {
            return self.new_chunk(arena, before, piece);
        }
        match arena.used_since(before) {
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
        if let Some(counters) = self.recorded.counters() {
            counters.cursor.set(cursor as u64);
        }
    }

    /// A chunk was taken: bytes used more than at `before`.
    #[cold]
    #[inline(never)]
    fn new_chunk(&self, arena: &impl Arena, before: usize, piece: Option<NonNull<u8>>) -> i64 {
        let used = self.used_at(before);
        let known = self.counters().chunks.get();
        self.refresh(arena);
        self.recorded
            .publish(match self.counters().chunks.get() > known {
                true => Event::Chunk {
                    used,
                    piece: piece.map_or(0, |piece| piece.addr().get()),
                },
                // A piece of no bytes from an arena without chunks, or a chunk it had before.
                false => Event::Update,
            });
        self.counters().base_used.get() as i64 - used as i64
    }

    /// Reads what the arena holds. False when it does not say.
    fn refresh(&self, arena: &impl Arena) -> bool {
        let chunks = arena.chunks();
        let counters = self.counters();
        if chunks.count == 0 && counters.chunks.get() > 0 {
            // NOTE: a bump-scope arena that is claimed looks empty until the claim ends. It is not.
            return false;
        }
        self.set_chunks(arena, chunks);
        true
    }

    fn set_chunks(&self, arena: &impl Arena, chunks: super::Chunks) {
        let cursor = arena.cursor();
        self.counters().set_chunks(chunks, cursor);
        self.cursor.set(cursor);
        self.chunk.set((chunks.present_start, chunks.present_bytes));
        self.choose_path();
    }

    /// A piece was allocated.
    #[inline(always)]
    pub(super) fn count_piece(
        &self,
        arena: &impl Arena,
        before: usize,
        after: usize,
        piece: NonNull<u8>,
        bytes: usize,
    ) {
        if is_within(after, self.fast.get()) {
            self.cursor.set(after);
            self.inline.allocated.add(bytes as u64);
            self.inline.blocks.add(1);
        } else {
            self.count_piece_slowly(arena, before, after, piece, bytes);
        }
    }

    /// The same while something records, or from another chunk.
    #[inline(never)]
    fn count_piece_slowly(
        &self,
        arena: &impl Arena,
        before: usize,
        after: usize,
        piece: NonNull<u8>,
        bytes: usize,
    ) {
        self.stand_at(after);
        if !is_within(after, self.chunk.get()) {
            self.new_chunk(arena, before, Some(piece));
        }
        self.count_allocated(bytes as u64);
    }

    #[inline(always)]
    fn count_allocated(&self, bytes: u64) {
        if !self.recorded.count_allocated(bytes) {
            self.inline.allocated.add(bytes);
            self.inline.blocks.add(1);
        }
    }

    #[inline]
    fn count_released(&self, bytes: u64, blocks: u64) {
        if !self.recorded.count_released(bytes, blocks) {
            self.inline.count_released(bytes, blocks);
        }
    }

    /// Bytes that a piece of `bytes` takes for the arena's least alignment: padding that comes and goes with it.
    #[inline(always)]
    fn taken(arena: &impl Arena, bytes: usize) -> usize {
        bytes.next_multiple_of(arena.min_align().max(1))
    }

    /// A piece of `old` bytes changed: `less` bytes fewer are allocated, `back` fewer are used (negative: more). Where
    /// more came back than the piece took, what lay given up beside it came back too.
    #[inline]
    fn settle(&self, arena: &impl Arena, old: usize, less: i64, back: i64) {
        if back - less > (Self::taken(arena, old) - old) as i64 {
            self.given_up_came_back();
        }
    }

    #[cold]
    #[inline(never)]
    fn given_up_came_back(&self) {
        self.recorded.sum_up();
        let bypassed = self.counters().settle(self.used_at(self.cursor.get()));
        self.recorded.count_bypassed(-(bypassed as i64));
    }

    /// A piece grew, and `used` bytes more are used. Where those are as many as the new size, the old place is abandoned.
    #[inline]
    pub(super) fn grown<A: Arena>(&self, arena: &A, old: usize, new: usize, used: i64) {
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
        self.count_released(old as u64, 1);
        self.count_allocated(new as u64);
        self.settle(arena, old, old as i64 - new as i64, -used);
    }

    /// A piece shrank, and `used` bytes more are used (negative: fewer). What the arena did not take back is abandoned, but
    /// for what the smaller piece takes for the least alignment: that is padding, and comes back with it.
    #[inline]
    pub(super) fn shrunk<A: Arena>(&self, arena: &A, old: usize, new: usize, used: i64) {
        let counters = self.counters();
        if used >= new as i64 {
            // It had to move: its old place is abandoned.
            counters.abandoned.add(old as u64);
            counters.copied.add(new as u64);
        } else if used == 0 {
            counters
                .abandoned
                .add((Self::taken(arena, old) - Self::taken(arena, new)) as u64);
        }
        self.count_released((old - new) as u64, 0);
        self.settle(arena, old, (old - new) as i64, -used);
    }

    /// A piece was given back, or given up.
    #[inline]
    pub(super) fn released(&self, arena: &impl Arena, bytes: usize, used: i64) {
        if used >= 0 {
            self.counters().abandoned.add(bytes as u64);
        }
        self.count_released(bytes as u64, 1);
        self.settle(arena, bytes, bytes as i64, -used);
    }

    /// A value lies in the arena whose drop never runs.
    #[inline(always)]
    pub(super) fn note_undropped<T>(&self, place: NonNull<T>) {
        self.recorded.note_undropped(
            std::any::type_name::<T>(),
            place.addr().get(),
            size_of::<T>(),
        );
    }

    /// A request was refused.
    #[cold]
    #[inline(never)]
    pub(super) fn refused(&self, arena: &impl Arena, refused: AllocError) -> AllocError {
        self.counters().refusals.add(1);
        // An arena may have tried its further chunks.
        self.refresh(arena);
        self.recorded.publish(Event::Update);
        refused
    }

    /// Before a reset, or the end: how many bytes were in use.
    pub(super) fn emptying(&self, arena: &impl Arena) -> u64 {
        self.detect_bypass(arena);
        let used = self.used_at(self.cursor.get());
        self.counters().most_used.raise(used);
        used
    }

    /// After a reset. What the arena still uses then bypassed the handle.
    pub(super) fn emptied(&self, arena: &impl Arena, used: u64) {
        if !self.recorded.emptied() {
            let (allocated, blocks) = (self.inline.allocated.get(), self.inline.blocks.get());
            self.inline.count_released(allocated, blocks);
        }
        self.set_chunks(arena, arena.chunks());
        let counters = self.counters();
        counters.resets.add(1);
        counters.abandoned.set(0);
        counters.bypassed.set(counters.base_used.get());
        self.recorded.publish(Event::Reset { used });
    }

    /// The handle is dropped.
    pub(super) fn close(&self, arena: &impl Arena) {
        let used = self.emptying(arena);
        self.recorded.end(used);
    }

    /// The figures. Begins to record them, when something records by now. `name`: the arena's.
    pub(super) fn stats(&self, name: &str, arena: &impl Arena) -> ArenaStats {
        self.detect_bypass(arena);
        self.refresh(arena);
        self.counters().cursor.set(self.cursor.get() as u64);
        self.begin(name, arena);
        self.recorded.publish(Event::Update);
        self.recorded.sum_up();
        let stats = self.counters().stats(arena.limit());
        self.counters().most_used.raise(stats.most_used_bytes);
        stats
    }
}
