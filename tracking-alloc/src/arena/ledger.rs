//! The books of one tracked arena: where every byte of its chunks is.
//!
//! `used = handed + padding + abandoned + past` holds because padding is not counted but is what remains; so all that
//! must be right is what the arena says it used, read before and after each call. Never allocates, never panics.

use super::{Arena, ArenaStats, Chunks, Position, Refused};
use std::cell::Cell;

/// Counters of one instance. One thread at a time: the handle is not `Sync`.
pub(super) struct Ledger {
    /// Where the arena stood after the handle's last call.
    last: Cell<Position>,
    /// Bytes used in all chunks, plus the free bytes of the present one: fixed while that stays the present one.
    reach: Cell<u64>,
    /// Bytes handed out since the last reset, a growth counted as its difference.
    handed: Cell<u64>,
    blocks: Cell<u64>,
    abandoned: Cell<u64>,
    past: Cell<u64>,
    /// Bytes and pieces that were handed out and are not any more: totals are these and what is handed out now.
    returned: Cell<u64>,
    returned_blocks: Cell<u64>,
    grows: Cell<u64>,
    grows_in_place: Cell<u64>,
    copied: Cell<u64>,
    refusals: Cell<u64>,
    resets: Cell<u64>,
    chunks: Cell<Chunks>,
    total_chunks: Cell<u64>,
    total_chunk_bytes: Cell<u64>,
    most_chunks: Cell<u64>,
    most_chunk_bytes: Cell<u64>,
    /// Brought up to date before each fall: a maximum is a moment before a fall.
    most_used: Cell<u64>,
}

fn add(cell: &Cell<u64>, bytes: u64) {
    cell.set(cell.get().wrapping_add(bytes));
}

fn raise(cell: &Cell<u64>, to: u64) {
    cell.set(cell.get().max(to));
}

impl Ledger {
    /// Opens the books of an arena; what it used already went past them.
    pub(super) fn open(_name: &str, arena: &impl Arena) -> Self {
        let ledger = Ledger {
            last: Cell::default(),
            reach: Cell::default(),
            handed: Cell::default(),
            blocks: Cell::default(),
            abandoned: Cell::default(),
            past: Cell::default(),
            returned: Cell::default(),
            returned_blocks: Cell::default(),
            grows: Cell::default(),
            grows_in_place: Cell::default(),
            copied: Cell::default(),
            refusals: Cell::default(),
            resets: Cell::default(),
            chunks: Cell::default(),
            total_chunks: Cell::default(),
            total_chunk_bytes: Cell::default(),
            most_chunks: Cell::default(),
            most_chunk_bytes: Cell::default(),
            most_used: Cell::default(),
        };
        ledger.take_stock(arena, arena.position());
        ledger.past.set(ledger.used());
        ledger
    }

    /// Bytes used in all chunks as of the last look.
    #[inline(always)]
    fn used(&self) -> u64 {
        self.reach.get() - self.last.get().free_bytes as u64
    }

    /// Finds what went past the handle since its last call: where the arena stands now.
    #[inline(always)]
    pub(super) fn look(&self, arena: &impl Arena) -> Position {
        let now = arena.position();
        if now != self.last.get() {
            self.went_past(arena, now);
        }
        now
    }

    #[cold]
    #[inline(never)]
    fn went_past(&self, arena: &impl Arena, now: Position) {
        let before = self.used();
        if now.chunk == self.last.get().chunk {
            self.last.set(now);
        } else {
            self.take_stock(arena, now);
        }
        self.book_past(before);
    }

    /// Books the change since `before` as gone past the handle.
    fn book_past(&self, before: u64) {
        let used = self.used();
        if used >= before {
            add(&self.past, used - before);
        } else {
            self.rewound(before, before - used);
        }
    }

    /// Fewer bytes are used than `before`: what went past the handle was given back there too. If that was not as much,
    /// the arena was rewound below the handle's own pieces, and what cannot be there any more is taken off.
    #[cold]
    fn rewound(&self, before: u64, fewer: u64) {
        raise(&self.most_used, before);
        let padding =
            before.saturating_sub(self.handed.get() + self.abandoned.get() + self.past.get());
        let mut left = fewer;
        let mut take = |from: u64| {
            let taken = left.min(from);
            left -= taken;
            from - taken
        };
        self.past.set(take(self.past.get()));
        take(padding);
        self.abandoned.set(take(self.abandoned.get()));
        let handed = take(self.handed.get());
        add(&self.returned, self.handed.replace(handed) - handed);
    }

    /// After a call of the handle itself: bytes used more than `before` (negative: fewer).
    #[inline(always)]
    pub(super) fn moved(&self, arena: &impl Arena, before: Position) -> i64 {
        let now = arena.position();
        if now.chunk != before.chunk {
            return self.new_chunk(arena, now);
        }
        self.last.set(now);
        before.free_bytes as i64 - now.free_bytes as i64
    }

    #[cold]
    #[inline(never)]
    fn new_chunk(&self, arena: &impl Arena, now: Position) -> i64 {
        let before = self.used();
        self.take_stock(arena, now);
        self.used() as i64 - before as i64
    }

    /// Reads what the arena holds: after a change of chunk, and when somebody asks.
    fn take_stock(&self, arena: &impl Arena, now: Position) {
        let chunks = arena.chunks();
        if chunks.count == 0 && self.chunks.get().count > 0 {
            // NOTE: a bump-scope arena that is claimed looks empty until the claim ends. It is not.
            return;
        }
        self.book_chunks(chunks, now);
    }

    fn book_chunks(&self, chunks: Chunks, now: Position) {
        let known = self.chunks.get();
        add(&self.total_chunks, chunks.count.saturating_sub(known.count));
        add(
            &self.total_chunk_bytes,
            chunks.bytes.saturating_sub(known.bytes),
        );
        raise(&self.most_chunks, chunks.count);
        raise(&self.most_chunk_bytes, chunks.bytes);
        self.chunks.set(chunks);
        let used = chunks.bytes.saturating_sub(chunks.unused_bytes);
        self.reach.set(used + now.free_bytes as u64);
        self.last.set(now);
    }

    /// A piece was handed out.
    #[inline(always)]
    pub(super) fn handed_out(&self, bytes: usize) {
        add(&self.handed, bytes as u64);
        add(&self.blocks, 1);
    }

    /// A piece grew. Where as many bytes were used as the new size, the old place lies waste.
    #[inline]
    pub(super) fn grown(&self, old: usize, new: usize, used: i64) {
        let in_place = used < new as i64;
        add(&self.handed, (new - old) as u64);
        add(&self.returned, old as u64);
        add(&self.returned_blocks, 1);
        add(&self.grows, 1);
        if in_place {
            add(&self.grows_in_place, 1);
        } else {
            add(&self.abandoned, old as u64);
            add(&self.copied, old as u64);
        }
    }

    /// A piece shrank. What the arena did not take back lies waste.
    #[inline]
    pub(super) fn shrunk(&self, old: usize, new: usize, used: i64) {
        let fewer = (old - new) as u64;
        self.handed.set(self.handed.get().wrapping_sub(fewer));
        add(&self.returned, fewer);
        if used < 0 {
            raise(&self.most_used, (self.used() as i64 - used) as u64);
        } else if used >= new as i64 {
            // It had to move: its old place lies waste.
            add(&self.abandoned, old as u64);
            add(&self.copied, new as u64);
        } else if used == 0 {
            add(&self.abandoned, fewer);
        }
    }

    /// A piece was given back, or given up.
    #[inline]
    pub(super) fn released(&self, bytes: usize, used: i64) {
        let bytes = bytes as u64;
        self.handed.set(self.handed.get().wrapping_sub(bytes));
        self.blocks.set(self.blocks.get().wrapping_sub(1));
        add(&self.returned, bytes);
        add(&self.returned_blocks, 1);
        if used < 0 {
            raise(&self.most_used, (self.used() as i64 - used) as u64);
        } else {
            add(&self.abandoned, bytes);
        }
    }

    /// A request was refused.
    #[cold]
    pub(super) fn refused(&self, arena: &impl Arena, refused: Refused) -> Refused {
        add(&self.refusals, 1);
        // An arena may have tried its further chunks.
        self.take_stock(arena, arena.position());
        refused
    }

    /// Before a reset.
    pub(super) fn emptying(&self, arena: &impl Arena) {
        self.look(arena);
        raise(&self.most_used, self.used());
    }

    /// After a reset. What the arena still uses then went past the handle.
    pub(super) fn emptied(&self, arena: &impl Arena) {
        add(&self.resets, 1);
        add(&self.returned, self.handed.replace(0));
        add(&self.returned_blocks, self.blocks.replace(0));
        self.abandoned.set(0);
        self.book_chunks(arena.chunks(), arena.position());
        self.past.set(self.used());
    }

    /// The handle is dropped.
    pub(super) fn close(&self, arena: &impl Arena) {
        self.emptying(arena);
    }

    pub(super) fn stats(&self, arena: &impl Arena) -> ArenaStats {
        let now = self.look(arena);
        let before = self.used();
        self.take_stock(arena, now);
        self.book_past(before);
        let used = self.used();
        raise(&self.most_used, used);
        let chunks = self.chunks.get();
        let (handed, abandoned, past) = (self.handed.get(), self.abandoned.get(), self.past.get());
        ArenaStats {
            chunks: chunks.count,
            chunk_bytes: chunks.bytes,
            chunk_bytes_with_metadata: chunks.bytes_with_metadata,
            chunk_capacity: self.last.get().free_bytes as u64,
            limit: arena.limit(),
            handed_bytes: handed,
            handed_blocks: self.blocks.get(),
            padding_bytes: used.saturating_sub(handed + abandoned + past),
            abandoned_bytes: abandoned,
            past_bytes: past,
            tail_bytes: chunks.bytes.saturating_sub(used),
            resets: self.resets.get(),
            most_chunk_bytes: self.most_chunk_bytes.get(),
            most_used_bytes: self.most_used.get(),
            most_chunks: self.most_chunks.get(),
            total_chunks: self.total_chunks.get(),
            total_chunk_bytes: self.total_chunk_bytes.get(),
            total_handed_bytes: handed.wrapping_add(self.returned.get()),
            total_handed_blocks: self.blocks.get().wrapping_add(self.returned_blocks.get()),
            grows: self.grows.get(),
            grows_in_place: self.grows_in_place.get(),
            copied_bytes: self.copied.get(),
            limit_reached: self.refusals.get(),
        }
    }
}
