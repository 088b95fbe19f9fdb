//! Where the recording can reach the books of an instance: private memory, used again by the next instance of the name.

use super::super::books::Books;
use super::counters::Counters;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64};

/// How many figures of an arena the recording has.
pub(super) const FIGURES: usize = 17;

/// An instance's place; zeros are one that nobody uses.
pub(super) struct Slot {
    pub(super) books: Books,
    pub(super) counters: Counters,
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
