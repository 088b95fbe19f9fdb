//! What a value did not show of itself: the blocks that its own words lead to.
//!
//! A block is taken only where it is proved: the value is nothing but its address, and what the value showed lies in it
//! or behind it. Other blocks that a word leads to make the figures a lower bound. Never reads a word outside the value
//! or a live block that it leads to.

use super::value::Walk;
use crate::shadow::{self, Block, block_from};
use std::cell::Cell;

const WORD: usize = size_of::<usize>();

/// Words of a place that are looked at.
const MOST_WORDS: usize = 128;

/// Which words of a place were shown: of its first 128.
#[derive(Clone, Copy)]
pub(super) struct Coverage {
    pub(super) start: usize,
    words: u128,
}

impl Coverage {
    pub(super) const fn none(start: usize) -> Self {
        Coverage { start, words: 0 }
    }

    /// Bytes from an offset were shown.
    #[inline]
    pub(super) fn add(place: &Cell<Coverage>, offset: usize, bytes: usize) {
        let (first, last) = (offset / WORD, (offset + bytes.max(1) - 1) / WORD);
        if first < MOST_WORDS {
            let mut coverage = place.get();
            let below = (1 << first) - 1;
            coverage.words |= (u128::MAX >> (MOST_WORDS - 1 - last.min(MOST_WORDS - 1))) & !below;
            place.set(coverage);
        }
    }

    fn includes(self, index: usize) -> bool {
        self.words >> index & 1 == 1
    }
}

/// What a value showed of itself.
#[derive(Clone, Copy)]
pub(super) struct ObservedValue {
    /// The value, and its node.
    pub(super) id: u64,
    pub(super) node: u32,
    /// Its size is that of its type.
    pub(super) is_sized: bool,
    pub(super) number: Option<(u64, usize)>,
    pub(super) computed_number: u64,
    pub(super) is_variant: bool,
    /// Which of its words.
    pub(super) coverage: Coverage,
    /// The same of the block it met last.
    pub(super) coverage_of_block: Coverage,
}

impl ObservedValue {
    /// The value has so many bytes: looks for what was not shown.
    pub(super) fn finish(&self, walk: &mut Walk, bytes: usize) {
        let start = self.coverage.start;
        if !self.is_sized
            && bytes > WORD
            && !self.coverage.includes(0)
            && let Some(block) = words(start, WORD).next().and_then(block_from)
        {
            // Its size may be less: perhaps it is a pointer.
            self.leads_to(walk, block.start);
        }
        if bytes == WORD
            && !self.coverage.includes(0)
            && let Some(word) = words(start, WORD).next()
            && self.number.is_none_or(|(number, _)| number != word as u64)
            && let Some(block) = block_from(word)
        {
            self.finish_pointer(walk, block);
        } else if let Some((number, number_bytes)) = self.number {
            // An untagged enum has room for more than a number: perhaps it is in a box.
            for word in words(start, bytes).filter(|_| bytes > number_bytes) {
                let block = block_from(word).filter(|block| block.bytes == number_bytes);
                if block.is_some_and(|block| holds_number(block, number, number_bytes)) {
                    self.leads_to(walk, word);
                }
            }
        } else {
            self.scan(walk, self.coverage, bytes);
        }
    }

    /// The value is the address of a block.
    fn finish_pointer(&self, walk: &mut Walk, block: Block) {
        let done = match walk.blocks.find(block) {
            Some((_, owner)) if owner == self.id => Some(()),
            Some(_) => walk.blocks.share(block, self.node, self.id),
            None if self.is_behind(walk, block) => {
                let usable_bytes = walk.usable_bytes(block);
                let owned = walk.blocks.own(block, usable_bytes, self.node, self.id);
                owned.map(|number| walk.blocks.used(number, block.bytes))
            }
            None => return self.leads_to(walk, block.start),
        };
        walk.check(done);
        if self.number.is_none() {
            let coverage = match self.coverage_of_block.start == block.start {
                true => self.coverage_of_block,
                false => Coverage::none(block.start),
            };
            self.scan(walk, coverage, block.bytes);
        }
    }

    /// Whether what the value showed lies in a block, or behind a pointer in it.
    fn is_behind(&self, walk: &mut Walk, block: Block) -> bool {
        if let Some((number, bytes)) = self.number {
            return holds_number(block, number, bytes);
        }
        words(block.start, block.bytes)
            .take(MOST_WORDS)
            .any(|word| {
                let next = walk.block_at(word);
                let owner = next.and_then(|next| walk.blocks.find(next));
                owner.is_some_and(|(_, owner)| owner == self.id)
            })
    }

    /// Words of a place that were not shown, but lead to a block.
    fn scan(&self, walk: &mut Walk, coverage: Coverage, bytes: usize) {
        // Beside the fields of a variant lies what was there before.
        if self.is_variant {
            return;
        }
        for (index, word) in words(coverage.start, bytes).take(MOST_WORDS).enumerate() {
            // NOTE: a tag beside padding overwrites the last byte of what was there before: mostly no address of a word.
            let is_address = word.is_multiple_of(WORD) || block_from(word).is_some();
            if is_address && !coverage.includes(index) && word as u64 != self.computed_number {
                self.leads_to(walk, word);
            }
        }
    }

    /// Keeps the block at an address, if there is one and nobody owns it.
    pub(super) fn leads_to(&self, walk: &mut Walk, address: usize) {
        if let Some(block) = walk.block_at(address)
            && walk.blocks.find(block).is_none()
        {
            let done = walk.blocks.unfollowed(block, self.id);
            walk.check(done);
        }
    }
}

/// Whether a number of so many bytes lies in a block, aligned.
fn holds_number(block: Block, number: u64, bytes: usize) -> bool {
    let bytes = bytes.clamp(1, WORD);
    let mask = u64::MAX >> (64 - 8 * bytes);
    // The last word may end behind the block, but begins in it.
    let readable = block.bytes.min(MOST_WORDS * WORD);
    words(block.start, readable.next_multiple_of(WORD))
        .enumerate()
        .any(|(index, word)| {
            let left = block.bytes - index * WORD;
            (0..WORD.min(left))
                .step_by(bytes)
                .filter(|offset| offset + bytes <= left)
                .any(|offset| word as u64 >> (8 * offset) & mask == number & mask)
        })
}

/// The aligned words of a place.
fn words(start: usize, bytes: usize) -> impl Iterator<Item = usize> {
    // SAFETY: a value that is borrowed as long as it is measured, or a live block that it leads to. An aligned word that
    // begins in one lies in the same page.
    unsafe { shadow::words(start, bytes) }
}
