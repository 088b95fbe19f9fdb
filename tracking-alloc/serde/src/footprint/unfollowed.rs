//! The hidden parts of a value: blocks to which its own words lead, but that it did not show.
//!
//! A block is taken only where it is proved: the value is nothing but its address, and what the
//! value showed lies in it or behind it. Other blocks that a word leads to make the figures a lower
//! bound.
//!
//! Memory is read only while the value is borrowed, when it has just been shown: a `Serialize` may
//! show what it made for the occasion and drop it. Of a value whose size shows later, what its
//! words lead to is kept, and judged at the end.

use super::coverage::{Coverage, MOST_WORDS, WORD};
use super::value::Value;
use super::walk::{PendingValue, Pointee, Walk, leads_to};
use heapglass_recorder::blocks::{Block, block_from};

/// Larger blocks are not read because a word leads to them.
///
/// Nothing keeps such a block alive: the word may be a weak pointer or a number, and another thread
/// may free the block meanwhile. Small ones stay mapped then, large ones allocators give back to
/// the system at once (glibc from 128 KiB).
const MOST_READ: usize = 64 << 10;

impl Value<'_> {
    /// The value was shown whole: looks for what was not.
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

    /// Finishes a value whose size was not known when it was shown: now, if it is known for certain
    /// by now.
    fn finish_unsized(&self, walk: &mut Walk) {
        let start = self.start;
        let Some(block) = walk.finder.block_at(start) else {
            return;
        };
        let room = (block.start + block.bytes).saturating_sub(start);
        // In a table with gaps the next ones may tell that it is smaller, but nothing is smaller
        // than a pointer.
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

    /// Looks for what was not shown in the value's first `room` bytes, all of which can be read.
    /// `is_certain`: it has so many, else perhaps fewer.
    fn gather(&self, walk: &mut Walk, room: usize, is_certain: bool) -> PendingValue {
        let begin = walk.leads.len();
        // It is perhaps a pointer, if its size may be less.
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
        // A value that is certainly a pointer is judged by what it points to.
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

    /// Its first word, which it must have, if that was not shown.
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

    /// Returns `true` if what the value showed lies in a block, or behind a pointer in it.
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

    /// Blocks that words of its own lead to, which were not shown.
    fn scan(&self, walk: &mut Walk, bytes: usize) {
        let Some((number, number_bytes)) = self.number.get() else {
            return self.scan_place(walk, self.coverage.get(), bytes);
        };
        if bytes <= number_bytes {
            return;
        }
        // An untagged enum has room for more than a number: perhaps it is in a box.
        for (least_bytes, word) in words_of(self.start, bytes) {
            if let Some(block) = block_from(word).filter(|block| block.bytes == number_bytes)
                && (!is_telling(number, number_bytes) || holds_number(block, number, number_bytes))
            {
                walk.lead(block, least_bytes);
            }
        }
    }

    /// Blocks that words of a place lead to, which were not shown.
    fn scan_place(&self, walk: &mut Walk, coverage: Coverage, bytes: usize) {
        // Beside the fields of a variant lies what was there before.
        if self.is_variant.get() {
            return;
        }
        for (index, (least_bytes, word)) in words_of(coverage.start, bytes).enumerate() {
            // NOTE: a tag beside padding overwrites the last byte of what was there before: mostly
            // no address of a word.
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

/// Returns `true` if a number is found again in a block only where it was shown: a zero or a byte
/// is everywhere.
fn is_telling(number: u64, bytes: usize) -> bool {
    bytes >= 4 && number & mask(bytes) != 0
}

/// The bits of a number of so many bytes, as far as they fit in a word.
fn mask(bytes: usize) -> u64 {
    u64::MAX >> (64 - 8 * bytes.clamp(1, WORD))
}

/// Returns `true` if a number of so many bytes lies in a block, aligned, and not where `Rc` and
/// `Arc` have their counters: a weak pointer may show those.
fn holds_number(block: Block, number: u64, bytes: usize) -> bool {
    const COUNTERS: usize = 2;
    let mask = mask(bytes);
    let bytes = bytes.clamp(1, WORD);
    let counters = if block.bytes > COUNTERS * WORD {
        COUNTERS
    } else {
        0
    };
    // The last word may end behind the block, but begins in it.
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

/// The first aligned words of a place, each with the bytes that the place must have to have it.
fn words_of(start: usize, bytes: usize) -> impl Iterator<Item = (usize, usize)> {
    let before = start.next_multiple_of(WORD) - start;
    words(start, bytes)
        .take(MOST_WORDS)
        .enumerate()
        .map(move |(index, word)| (before + (index + 1) * WORD, word))
}

/// The aligned words of a place.
fn words(start: usize, bytes: usize) -> impl Iterator<Item = usize> {
    // SAFETY: a value that is still borrowed and what is behind it in its live block, or a live
    // block of at most MOST_READ bytes that it leads to. An aligned word that begins in one lies in
    // the same page.
    unsafe { heapglass_recorder::blocks::words(start, bytes) }
}
