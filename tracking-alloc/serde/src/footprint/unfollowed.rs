//! The hidden parts of a value: blocks to which its own words lead, but that it did not show.
//!
//! A block is taken only if this is proved: the value is nothing but its address, and the addresses
//! that the value showed lie in the block or behind it. Other blocks to which a word leads make the
//! figures a lower bound.
//!
//! Memory is read only while the value is borrowed, directly after it was shown, because a
//! `Serialize` may show a temporary value and drop it. If the size of a value becomes known later,
//! the blocks to which its words lead are kept and evaluated at the end.

use super::coverage::{Coverage, MOST_WORDS, WORD};
use super::value::Value;
use super::walk::{PendingValue, Pointee, Walk, leads_to};
use heapglass_recorder::blocks::{Block, block_from};

/// Larger blocks are not read if only a word leads to them.
///
/// Nothing keeps such a block alive. The word may be a weak pointer or a number, and another thread
/// may free the block meanwhile. Small blocks then stay mapped, but allocators return large ones to
/// the system at once (glibc from 128 KiB).
const MOST_READ: usize = 64 << 10;

impl Value<'_> {
    /// Finishes a value that was shown completely: looks for hidden parts.
    pub(super) fn finish(&self, walk: &mut Walk) {
        if let Some(node) = walk.nodes.get_mut(self.node) {
            node.extent = node.extent.max(self.extent.get());
        }
        if self.is_unclear.get()
            && let Some(block) = walk.block_at(self.recent.get().coverage.start)
        {
            leads_to(walk, block, self.id);
        }
        if self.is_temporary || self.is_borrowed.get() {
            return;
        }
        if self.bytes > 0 {
            self.finish_sized(walk, self.bytes);
        } else if self.has_node {
            self.finish_unsized(walk);
        }
    }

    /// Finishes a value of known size.
    fn finish_sized(&self, walk: &mut Walk, bytes: usize) {
        let kept = walk.leads.len();
        self.gather(walk, bytes, true).finish(walk, bytes);
        walk.leads.truncate(kept);
    }

    /// Finishes a value whose size was not known when it was shown. This happens now if the size is
    /// certain by now.
    fn finish_unsized(&self, walk: &mut Walk) {
        let start = self.start;
        let Some(block) = walk.finder.block_at(start) else {
            return;
        };
        let room = (block.start + block.bytes).saturating_sub(start);
        // In a table with gaps, later elements may show that it is smaller. But no value with a
        // pointer is smaller than a pointer.
        match walk.nodes.known_bytes(self.node) {
            Some(bytes) if bytes <= size_of::<usize>() => self.finish_sized(walk, bytes.min(room)),
            _ => {
                let value = self.gather(walk, room, false);
                if value.leads_anywhere() {
                    walk.failed |= walk.unfinished.push(value).is_none();
                }
            }
        }
    }

    /// Looks for hidden parts in the value's first `room` bytes, all of which can be read. With
    /// `is_certain`, the value has exactly that size; otherwise it may be smaller.
    fn gather(&self, walk: &mut Walk, room: usize, is_certain: bool) -> PendingValue {
        let begin = walk.leads.len();
        // The value may be a pointer, if its size may be smaller.
        let first = (room >= WORD && self.bytes == 0)
            .then(|| self.first_word().and_then(block_from))
            .flatten();
        let pointee = (room == WORD || room > WORD && !is_certain)
            .then(|| self.pointee(walk))
            .flatten();
        if let Some(Pointee { block, .. }) = pointee
            && self.number.get().is_none()
            && block.bytes <= MOST_READ
        {
            self.scan_place(walk, self.coverage_of(block), block.bytes);
        }
        let middle = walk.leads.len();
        // A value that is certainly a pointer is evaluated by the block to which it points.
        if !is_certain || pointee.is_none() {
            self.scan(walk, room);
        }
        PendingValue {
            id: self.id,
            node: self.node,
            number_bytes: self.number.get().map_or(0, |(_, bytes)| bytes),
            room,
            first,
            pointee,
            leads: [begin, middle, walk.leads.len()],
        }
    }

    /// Returns the value's first word, if it was not shown. The value must have one.
    fn first_word(&self) -> Option<usize> {
        let mut first = words(self.start, WORD).filter(|_| !self.coverage.get().includes(0));
        first.next()
    }

    /// Returns the block to which the value leads if it has one word.
    fn pointee(&self, walk: &mut Walk) -> Option<Pointee> {
        let word = self.first_word()?;
        if self
            .number
            .get()
            .is_some_and(|(number, _)| number == word as u64)
        {
            return None;
        }
        let block = block_from(word)?;
        let is_behind = walk.blocks.find(block).is_none() && self.is_behind(walk, block);
        let shown = self.coverage_of(block);
        let mut indexes = 0..block.bytes.div_ceil(WORD).min(MOST_WORDS);
        Some(Pointee {
            block,
            is_behind,
            usable_bytes: if is_behind {
                walk.usable_bytes(block)
            } else {
                0
            },
            is_unread: block.bytes > MOST_READ
                && self.number.get().is_none()
                && !self.is_variant.get()
                && !indexes.all(|index| shown.includes(index)),
        })
    }

    /// Returns `true` if the addresses that the value showed lie in a block, or behind a pointer in
    /// it.
    fn is_behind(&self, walk: &mut Walk, block: Block) -> bool {
        if block.bytes > MOST_READ {
            return false;
        }
        if let Some((number, bytes)) = self.number.get() {
            return is_telling(number, bytes) && holds_number(block, number, bytes);
        }
        words(block.start, block.bytes)
            .take(MOST_WORDS)
            .any(|word| {
                let next = walk.block_at(word);
                let owner = next.and_then(|next| walk.blocks.find(next));
                owner.is_some_and(|(_, owner)| owner == self.id)
            })
    }

    /// Keeps the blocks to which the value's own words lead, if they were not shown.
    fn scan(&self, walk: &mut Walk, bytes: usize) {
        let Some((number, number_bytes)) = self.number.get() else {
            return self.scan_place(walk, self.coverage.get(), bytes);
        };
        if bytes <= number_bytes {
            return;
        }
        // An untagged enum has room for more than a number, so the number may be in a box.
        for (least_bytes, word) in words_of(self.start, bytes) {
            if let Some(block) = block_from(word).filter(|block| block.bytes == number_bytes)
                && (!is_telling(number, number_bytes) || holds_number(block, number, number_bytes))
            {
                walk.lead(block, least_bytes);
            }
        }
    }

    /// Keeps the blocks to which words of a place lead, if they were not shown.
    fn scan_place(&self, walk: &mut Walk, coverage: Coverage, bytes: usize) {
        // Next to the fields of a variant may be data of the previous variant.
        if self.is_variant.get() {
            return;
        }
        for (index, (least_bytes, word)) in words_of(coverage.start, bytes).enumerate() {
            // NOTE: a tag next to padding overwrites the last byte of the earlier data. The result
            // is usually not an aligned address.
            let is_address = word.is_multiple_of(WORD) || block_from(word).is_some();
            if is_address
                && !coverage.includes(index)
                && word as u64 != self.computed_number.get()
                && let Some(block) = walk.block_at(word)
                && walk.blocks.find(block).is_none()
            {
                walk.lead(block, least_bytes);
            }
        }
    }
}

/// Returns `true` if a number can identify the block in which it was shown. A zero or a single byte
/// is found everywhere.
fn is_telling(number: u64, bytes: usize) -> bool {
    bytes >= 4 && number & mask(bytes) != 0
}

/// Returns the mask for a number of that many bytes, limited to a word.
fn mask(bytes: usize) -> u64 {
    u64::MAX >> (64 - 8 * bytes.clamp(1, WORD))
}

/// Returns `true` if a number of that many bytes lies in a block, aligned. The place of the
/// counters of `Rc` and `Arc` does not count, because a weak pointer may show those.
fn holds_number(block: Block, number: u64, bytes: usize) -> bool {
    const COUNTERS: usize = 2;
    let mask = mask(bytes);
    let bytes = bytes.clamp(1, WORD);
    let counters = if block.bytes > COUNTERS * WORD {
        COUNTERS
    } else {
        0
    };
    // The last word begins in the block but may end after it.
    let readable = block.bytes.min(MOST_WORDS * WORD);
    words(block.start, readable.next_multiple_of(WORD))
        .enumerate()
        .skip(counters)
        .any(|(index, word)| {
            let left = block.bytes - index * WORD;
            (0..WORD.min(left))
                .step_by(bytes)
                .filter(|offset| offset + bytes <= left)
                .any(|offset| word as u64 >> (8 * offset) & mask == number & mask)
        })
}

/// Returns the first aligned words of a place. Each comes with the size that the place must have to
/// contain the word.
fn words_of(start: usize, bytes: usize) -> impl Iterator<Item = (usize, usize)> {
    let before = start.next_multiple_of(WORD) - start;
    words(start, bytes)
        .take(MOST_WORDS)
        .enumerate()
        .map(move |(index, word)| (before + (index + 1) * WORD, word))
}

/// Returns the aligned words of a place.
fn words(start: usize, bytes: usize) -> impl Iterator<Item = usize> {
    // SAFETY: a value that is still borrowed and the bytes after it in its live block, or a live
    // block of at most MOST_READ bytes to which the value leads. An aligned word that begins in one
    // of them lies in the same page.
    unsafe { heapglass_recorder::blocks::words(start, bytes) }
}
