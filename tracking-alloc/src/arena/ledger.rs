//! When a tracked arena's books are brought up to date: around each call of the handle, and where somebody asks.
//!
//! While something records the books lie where the recording can reach them, else in the handle. PERF: then a piece
//! handed out costs a compare before (nothing went past the handle), one after (the chunk is the same), and two
//! additions; all else is out of line, so that what is inlined into other people's code stays small.

use super::books::Books;
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

/// The books of a handle, and where the arena stood after its last call.
pub(super) struct Ledger {
    cursor: Cell<usize>,
    /// Cursors of the present chunk: the lowest, and how far the highest lies above it.
    chunk: Cell<(usize, usize)>,
    /// The same while the books lie here, else cursors that there are not.
    fast: Cell<(usize, usize)>,
    recorded: Recorded,
    inline: Books,
}

impl Ledger {
    /// Opens the books of an arena; what it used already went past them.
    pub(super) fn open(name: &str, arena: &impl Arena) -> Self {
        let ledger = Ledger {
            cursor: Cell::default(),
            chunk: Cell::default(),
            fast: Cell::new(NOWHERE),
            recorded: Recorded::default(),
            inline: Books::default(),
        };
        ledger.take_stock(arena);
        ledger.inline.past.set(ledger.inline.stock_used.get());
        ledger.begin(name, arena);
        ledger
    }

    /// Moves the books to where the recording can reach them, when something records.
    fn begin(&self, name: &str, arena: &impl Arena) {
        self.recorded.begin(name, arena.crate_name(), &self.inline);
        self.hurry();
    }

    /// Decides which way pieces are counted.
    fn hurry(&self) {
        self.fast.set(match self.recorded.books() {
            None => self.chunk.get(),
            Some(_) => NOWHERE,
        });
    }

    #[inline(always)]
    fn books(&self) -> &Books {
        self.recorded.books().unwrap_or(&self.inline)
    }

    /// Bytes used when the arena stood at `cursor`, in the chunk of the last stock.
    fn used_at(&self, cursor: usize) -> u64 {
        self.books().used_at(cursor)
    }

    /// Finds what went past the handle since its last call: where the arena stands now.
    #[inline(always)]
    pub(super) fn look(&self, arena: &impl Arena) -> usize {
        let now = arena.cursor();
        if now != self.cursor.get() {
            self.went_past(arena);
        }
        now
    }

    #[cold]
    #[inline(never)]
    fn went_past(&self, arena: &impl Arena) {
        let cursor = self.cursor.get();
        let before = self.used_at(cursor);
        let since = arena.used_since(cursor);
        let known = self.books().chunks.get();
        if !self.take_stock(arena) {
            return;
        }
        match since {
            Some(since) => {
                self.books().past.add(since);
                self.recorded.past(since as i64);
            }
            None => {
                let now = self.books().stock_used.get();
                self.recorded.sum_up();
                let (past, handed) = self.books().rewound(before, before.saturating_sub(now));
                self.recorded.past(-(past as i64));
                self.gone(handed, 0);
            }
        }
        if self.books().chunks.get() > known {
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
                let books = self.books();
                books.most_used.raise(used);
                books.anchor(used.saturating_sub(fewer), now);
                -(fewer as i64)
            }
        }
    }

    #[inline(always)]
    fn stand_at(&self, cursor: usize) {
        self.cursor.set(cursor);
        if let Some(books) = self.recorded.books() {
            books.cursor.set(cursor as u64);
        }
    }

    /// A chunk was taken: bytes used more than at `before`.
    #[cold]
    #[inline(never)]
    fn new_chunk(&self, arena: &impl Arena, before: usize, piece: Option<NonNull<u8>>) -> i64 {
        let used = self.used_at(before);
        let known = self.books().chunks.get();
        self.take_stock(arena);
        self.recorded
            .publish(match self.books().chunks.get() > known {
                true => Event::Chunk {
                    used,
                    piece: piece.map_or(0, |piece| piece.addr().get()),
                },
                // A piece of no bytes from an arena without chunks, or a chunk it had before.
                false => Event::Look,
            });
        self.books().stock_used.get() as i64 - used as i64
    }

    /// Reads what the arena holds. False when it does not say.
    fn take_stock(&self, arena: &impl Arena) -> bool {
        let chunks = arena.chunks();
        let books = self.books();
        if chunks.count == 0 && books.chunks.get() > 0 {
            // NOTE: a bump-scope arena that is claimed looks empty until the claim ends. It is not.
            return false;
        }
        self.book_chunks(arena, chunks);
        true
    }

    fn book_chunks(&self, arena: &impl Arena, chunks: super::Chunks) {
        let cursor = arena.cursor();
        self.books().book_chunks(chunks, cursor);
        self.cursor.set(cursor);
        self.chunk.set((chunks.present_start, chunks.present_bytes));
        self.hurry();
    }

    /// A piece was handed out.
    #[inline(always)]
    pub(super) fn handed_out(
        &self,
        arena: &impl Arena,
        before: usize,
        after: usize,
        piece: NonNull<u8>,
        bytes: usize,
    ) {
        if is_within(after, self.fast.get()) {
            self.cursor.set(after);
            self.inline.handed.add(bytes as u64);
            self.inline.blocks.add(1);
        } else if is_within(after, self.chunk.get()) {
            self.handed_out_recorded(after, bytes);
        } else {
            self.handed_out_of_new(arena, before, after, piece, bytes);
        }
    }

    /// The same while something records.
    #[inline(never)]
    fn handed_out_recorded(&self, after: usize, bytes: usize) {
        self.stand_at(after);
        self.handed(bytes as u64);
    }

    /// The same from another chunk.
    #[cold]
    #[inline(never)]
    fn handed_out_of_new(
        &self,
        arena: &impl Arena,
        before: usize,
        after: usize,
        piece: NonNull<u8>,
        bytes: usize,
    ) {
        self.stand_at(after);
        self.new_chunk(arena, before, Some(piece));
        self.handed(bytes as u64);
    }

    #[inline(always)]
    fn handed(&self, bytes: u64) {
        if !self.recorded.handed(bytes) {
            self.inline.handed.add(bytes);
            self.inline.blocks.add(1);
        }
    }

    #[inline]
    fn gone(&self, bytes: u64, blocks: u64) {
        if !self.recorded.gone(bytes, blocks) {
            self.inline.gone(bytes, blocks);
        }
    }

    /// Bytes that a piece of `bytes` takes for the arena's least alignment: padding that comes and goes with it.
    #[inline(always)]
    fn taken(arena: &impl Arena, bytes: usize) -> usize {
        bytes.next_multiple_of(arena.min_align().max(1))
    }

    /// A piece of `old` bytes changed: `less` bytes fewer are handed out, `back` fewer are used (negative: more). Where
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
        let past = self.books().settle(self.used_at(self.cursor.get()));
        self.recorded.past(-(past as i64));
    }

    /// A piece grew, and `used` bytes more are used. Where those are as many as the new size, the old place lies waste.
    #[inline]
    pub(super) fn grown(&self, arena: &impl Arena, old: usize, new: usize, used: i64) {
        let books = self.books();
        books.grows.add(1);
        let copied = if used < new as i64 {
            books.grows_in_place.add(1);
            0
        } else {
            books.abandoned.add(old as u64);
            books.copied.add(old as u64);
            old as u64
        };
        self.recorded.grown(copied);
        self.gone(old as u64, 1);
        self.handed(new as u64);
        self.settle(arena, old, old as i64 - new as i64, -used);
    }

    /// A piece shrank, and `used` bytes more are used (negative: fewer). What the arena did not take back lies waste, but
    /// for what the smaller piece takes for the least alignment: that is padding, and comes back with it.
    #[inline]
    pub(super) fn shrunk(&self, arena: &impl Arena, old: usize, new: usize, used: i64) {
        let books = self.books();
        if used >= new as i64 {
            // It had to move: its old place lies waste.
            books.abandoned.add(old as u64);
            books.copied.add(new as u64);
        } else if used == 0 {
            books
                .abandoned
                .add((Self::taken(arena, old) - Self::taken(arena, new)) as u64);
        }
        self.gone((old - new) as u64, 0);
        self.settle(arena, old, (old - new) as i64, -used);
    }

    /// A piece was given back, or given up.
    #[inline]
    pub(super) fn released(&self, arena: &impl Arena, bytes: usize, used: i64) {
        if used >= 0 {
            self.books().abandoned.add(bytes as u64);
        }
        self.gone(bytes as u64, 1);
        self.settle(arena, bytes, bytes as i64, -used);
    }

    /// A value lies in the arena whose drop never runs.
    #[inline(always)]
    pub(super) fn put_in<T>(&self, place: NonNull<T>) {
        self.recorded.put_in(
            std::any::type_name::<T>(),
            place.addr().get(),
            size_of::<T>(),
        );
    }

    /// A request was refused.
    #[cold]
    #[inline(never)]
    pub(super) fn refused(&self, arena: &impl Arena, refused: AllocError) -> AllocError {
        self.books().refusals.add(1);
        // An arena may have tried its further chunks.
        self.take_stock(arena);
        self.recorded.publish(Event::Look);
        refused
    }

    /// Before a reset, or the end: how many bytes were in use.
    pub(super) fn emptying(&self, arena: &impl Arena) -> u64 {
        self.look(arena);
        let used = self.used_at(self.cursor.get());
        self.books().most_used.raise(used);
        used
    }

    /// After a reset. What the arena still uses then went past the handle.
    pub(super) fn emptied(&self, arena: &impl Arena, used: u64) {
        if !self.recorded.emptied() {
            let (handed, blocks) = (self.inline.handed.get(), self.inline.blocks.get());
            self.inline.gone(handed, blocks);
        }
        self.book_chunks(arena, arena.chunks());
        let books = self.books();
        books.resets.add(1);
        books.abandoned.set(0);
        books.past.set(books.stock_used.get());
        self.recorded.publish(Event::Reset { used });
    }

    /// The handle is dropped.
    pub(super) fn close(&self, arena: &impl Arena) {
        let used = self.emptying(arena);
        self.recorded.end(used);
    }

    /// The figures, and a chance to begin recording them. `name`: the arena's.
    pub(super) fn stats(&self, name: &str, arena: &impl Arena) -> ArenaStats {
        self.look(arena);
        self.take_stock(arena);
        self.books().cursor.set(self.cursor.get() as u64);
        self.begin(name, arena);
        self.recorded.publish(Event::Look);
        self.recorded.sum_up();
        let stats = self.books().stats(arena.limit());
        self.books().most_used.raise(stats.most_used_bytes);
        stats
    }
}
