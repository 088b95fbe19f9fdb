//! Where the recording can reach the books of an instance: private memory, used again by the next instance of the name.

use super::super::books::{Books, Figure};
use super::counters::{Counter, Counters};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64};

/// How many figures of an arena the recording has.
pub(super) const FIGURES: usize = 17;

/// An instance's place; zeros are one that nobody uses.
pub(super) struct Slot {
    pub(super) books: Books,
    pub(super) counters: Counters,
    /// What the counters say is gone of instances before this one.
    pub(super) gone_before: Figure,
    pub(super) gone_blocks_before: Figure,
    /// The recording it belongs to.
    pub(super) tag: AtomicU32,
    /// The arena's number in it.
    pub(super) arena: AtomicU32,
    pub(super) in_use: AtomicBool,
    /// Which instance of the arena, from 1.
    pub(super) instance: AtomicU64,
    /// What the recording has of the books.
    pub(super) published: [AtomicU64; FIGURES],
    /// Every slot, used or not.
    pub(super) next: AtomicPtr<Slot>,
    /// Free slots of the same arena.
    pub(super) next_free: AtomicPtr<Slot>,
}

impl Slot {
    /// Brings the books up to date with the counters: sums over all instances that had the slot, less those before.
    pub(super) fn sum_up(&self) {
        let sum = |of: fn(&Counter) -> u64| {
            self.counters
                .all()
                .fold(0, |sum: u64, counter| sum.wrapping_add(of(counter)))
        };
        let books = &self.books;
        let (bytes, gone) = (
            sum(|of| of.total_bytes.get()),
            sum(|of| of.gone_bytes.get()),
        );
        let (blocks, gone_blocks) = (
            sum(|of| of.total_blocks.get()),
            sum(|of| of.gone_blocks.get()),
        );
        books.handed.set(bytes.wrapping_sub(gone));
        books.blocks.set(blocks.wrapping_sub(gone_blocks));
        books
            .returned
            .set(gone.wrapping_sub(self.gone_before.get()));
        books
            .returned_blocks
            .set(gone_blocks.wrapping_sub(self.gone_blocks_before.get()));
    }

    /// Takes what the books say was handed out so far into a counter: they began before the recording, or go on in
    /// another. Until then the counters are those of instances that are gone.
    pub(super) fn adopt(&self, counter: &Counter) {
        let books = &self.books;
        let sum = |of: fn(&Counter) -> u64| {
            self.counters
                .all()
                .fold(0, |sum: u64, counter| sum.wrapping_add(of(counter)))
        };
        self.gone_before.set(sum(|of| of.gone_bytes.get()));
        self.gone_blocks_before.set(sum(|of| of.gone_blocks.get()));
        counter.total_bytes.add(books.total_handed());
        counter
            .total_blocks
            .add(books.blocks.get().wrapping_add(books.returned_blocks.get()));
        counter.gone_bytes.add(books.returned.get());
        counter.gone_blocks.add(books.returned_blocks.get());
        counter.past_bytes.add(books.past.get());
    }

    /// Nothing is handed out any more.
    pub(super) fn empty(&self) {
        for counter in self.counters.all() {
            counter.gone_bytes.set(counter.total_bytes.get());
            counter.gone_blocks.set(counter.total_blocks.get());
        }
    }
}
