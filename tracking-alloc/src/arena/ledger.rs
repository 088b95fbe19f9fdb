//! When a tracked arena's books are brought up to date: around each call of the handle, and where somebody asks.
//!
//! While something records the books lie where the recording can reach them, else in the handle.

use super::books::Books;
use super::record::{Event, Recorded};
use super::{Arena, ArenaStats, Position, Refused};
use std::cell::Cell;

/// The books of a handle, and where the arena stood after its last call.
pub(super) struct Ledger {
    inline: Books,
    recorded: Recorded,
    /// The present chunk.
    chunk: Cell<usize>,
}

impl Ledger {
    /// Opens the books of an arena; what it used already went past them.
    pub(super) fn open(name: &str, arena: &impl Arena) -> Self {
        let ledger = Ledger {
            inline: Books::default(),
            recorded: Recorded::default(),
            chunk: Cell::default(),
        };
        let now = arena.position();
        ledger
            .inline
            .book_chunks(arena.chunks(), now.free_bytes as u64);
        ledger.inline.past.set(ledger.inline.used());
        ledger.chunk.set(now.chunk);
        ledger
            .recorded
            .begin(name, arena.crate_name(), &ledger.inline);
        ledger
    }

    #[inline(always)]
    fn books(&self) -> &Books {
        self.recorded.books().unwrap_or(&self.inline)
    }

    fn last(&self) -> Position {
        Position {
            chunk: self.chunk.get(),
            free_bytes: self.books().free.get() as usize,
        }
    }

    /// Finds what went past the handle since its last call: where the arena stands now.
    #[inline(always)]
    pub(super) fn look(&self, arena: &impl Arena) -> Position {
        let now = arena.position();
        if now != self.last() {
            self.went_past(arena, now);
        }
        now
    }

    #[cold]
    #[inline(never)]
    fn went_past(&self, arena: &impl Arena, now: Position) {
        let books = self.books();
        let before = books.used();
        let new_chunk = now.chunk != self.chunk.get();
        if new_chunk {
            self.take_stock(arena, now);
        } else {
            books.free.set(now.free_bytes as u64);
        }
        let past = books.book_past(before);
        self.recorded.past(past);
        if new_chunk {
            self.recorded.publish(Event::Chunk {
                used: before,
                piece: 0,
            });
        }
    }

    /// After a call of the handle itself that returned `piece`: bytes used more than `before` (negative: fewer).
    #[inline(always)]
    pub(super) fn moved(&self, arena: &impl Arena, before: Position, piece: usize) -> i64 {
        let now = arena.position();
        if now.chunk != before.chunk {
            return self.new_chunk(arena, now, piece);
        }
        self.books().free.set(now.free_bytes as u64);
        before.free_bytes as i64 - now.free_bytes as i64
    }

    #[cold]
    #[inline(never)]
    fn new_chunk(&self, arena: &impl Arena, now: Position, piece: usize) -> i64 {
        let before = self.books().used();
        self.take_stock(arena, now);
        let used = self.books().used();
        self.recorded.publish(Event::Chunk {
            used: before,
            piece,
        });
        used as i64 - before as i64
    }

    /// Reads what the arena holds.
    fn take_stock(&self, arena: &impl Arena, now: Position) {
        let chunks = arena.chunks();
        let books = self.books();
        if chunks.count == 0 && books.chunks.get() > 0 {
            // NOTE: a bump-scope arena that is claimed looks empty until the claim ends. It is not.
            return;
        }
        books.book_chunks(chunks, now.free_bytes as u64);
        self.chunk.set(now.chunk);
    }

    /// A piece was handed out.
    #[inline(always)]
    pub(super) fn handed_out(&self, bytes: usize) {
        self.books().handed_out(bytes);
        self.recorded.handed(bytes as u64);
    }

    /// A piece grew.
    #[inline]
    pub(super) fn grown(&self, old: usize, new: usize, used: i64) {
        let copied = self.books().grown(old, new, used);
        self.recorded.grown(old as u64, new as u64, copied);
    }

    /// A piece shrank.
    #[inline]
    pub(super) fn shrunk(&self, old: usize, new: usize, used: i64) {
        self.books().shrunk(old, new, used);
        self.recorded.gone((old - new) as u64, 0);
    }

    /// A piece was given back, or given up.
    #[inline]
    pub(super) fn released(&self, bytes: usize, used: i64) {
        self.books().released(bytes, used);
        self.recorded.gone(bytes as u64, 1);
    }

    /// A request was refused.
    #[cold]
    pub(super) fn refused(&self, arena: &impl Arena, refused: Refused) -> Refused {
        self.books().refusals.add(1);
        // An arena may have tried its further chunks.
        self.take_stock(arena, arena.position());
        self.recorded.publish(Event::Look);
        refused
    }

    /// Before a reset, or the end: how many bytes were in use.
    pub(super) fn emptying(&self, arena: &impl Arena) -> u64 {
        self.look(arena);
        let used = self.books().used();
        self.books().most_used.raise(used);
        used
    }

    /// After a reset. What the arena still uses then went past the handle.
    pub(super) fn emptied(&self, arena: &impl Arena, used: u64) {
        let books = self.books();
        books.emptied();
        let now = arena.position();
        books.book_chunks(arena.chunks(), now.free_bytes as u64);
        self.chunk.set(now.chunk);
        books.past.set(books.used());
        self.recorded.emptied();
        self.recorded.publish(Event::Reset { used });
    }

    /// The handle is dropped.
    pub(super) fn close(&self, arena: &impl Arena) {
        let used = self.emptying(arena);
        self.recorded.end(used);
    }

    /// The figures, and a chance to begin recording them. `name`: the arena's.
    pub(super) fn stats(&self, name: &str, arena: &impl Arena) -> ArenaStats {
        let now = self.look(arena);
        let before = self.books().used();
        self.take_stock(arena, now);
        let past = self.books().book_past(before);
        self.recorded.past(past);
        self.recorded.begin(name, arena.crate_name(), &self.inline);
        self.recorded.publish(Event::Look);
        let stats = self.books().stats(arena.limit());
        self.books().most_used.raise(stats.most_used_bytes);
        stats
    }
}
