//! The hidden parts of a value: blocks to which its own words lead, but that it did not show.
//!
//! A block is taken only where it is proved: the value is nothing but its address, and what the
//! value showed lies in it or behind it. Other blocks that a word leads to make the figures a lower
//! bound.
//!
//! Memory is read only while the value is borrowed, when it has just been shown: a `Serialize` may
//! show what it made for the occasion and drop it. Of a value whose size shows later, what its
//! words lead to is kept, and judged at the end.

use super::value::{Value, Walk};
use heapglass_recorder::blocks::{Block, block_from};

const WORD: usize = size_of::<usize>();

/// Words of a place that are looked at.
const MOST_WORDS: usize = 128;

/// Larger blocks are not read because a word leads to them.
///
/// Nothing keeps such a block alive: the word may be a weak pointer or a number, and another thread
/// may free the block meanwhile. Small ones stay mapped then, large ones allocators give back to
/// the system at once (glibc from 128 KiB).
const MOST_READ: usize = 64 << 10;

/// The shown words among the first 128 of a place.
#[derive(Clone, Copy, Default)]
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
    pub(super) fn add(&mut self, offset: usize, bytes: usize) {
        let last = offset.saturating_add(bytes.max(1) - 1) / WORD;
        let first = offset / WORD;
        if first < MOST_WORDS {
            let below = (1 << first) - 1;
            self.words |= (u128::MAX >> (MOST_WORDS - 1 - last.min(MOST_WORDS - 1))) & !below;
        }
    }

    fn includes(self, index: usize) -> bool {
        self.words >> index & 1 == 1
    }
}

/// The block that a value is the address of, if it has one word.
#[derive(Clone, Copy)]
struct Pointee {
    block: Block,
    /// `true` if the addresses that the value showed lie behind it.
    is_behind: bool,
    /// Its usable bytes, as reported by the inner allocator, if it is behind; 0 = not reported.
    usable_bytes: usize,
    /// Too large to be read, and not shown whole.
    is_unread: bool,
}

/// A block that a word leads to.
#[derive(Clone, Copy)]
pub(super) struct Lead {
    pub(super) block: Block,
    /// The value has the word if it has so many bytes.
    pub(super) least_bytes: usize,
}

/// A value that was shown whole, and what its memory led to then: to be judged once its size is
/// known.
#[derive(Clone, Copy)]
pub(super) struct PendingValue {
    id: u64,
    pub(super) node: u32,
    number_bytes: usize,
    /// It has no more bytes.
    pub(super) room: usize,
    /// The block that its first word is the address of.
    first: Option<Block>,
    pointee: Option<Pointee>,
    /// In the walk's list: those that words of the pointee lead to, then those that its own lead
    /// to.
    leads: [usize; 3],
}

impl Value<'_> {
    /// Looks for what was not shown in the value's first `room` bytes, all of which can be read.
    /// `is_certain`: it has so many, else perhaps fewer.
    pub(super) fn gather(&self, walk: &mut Walk, room: usize, is_certain: bool) -> PendingValue {
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

    /// Returns the shown words of a block, if it is the last block that the value led to.
    pub(super) fn coverage_of(&self, block: Block) -> Coverage {
        match self.recent.get().coverage {
            coverage if coverage.start == block.start => coverage,
            _ => Coverage::none(block.start),
        }
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

impl Pointee {
    /// A value is the address of this block: whether the block is proved to be its own, or is
    /// somebody else's.
    fn finish(&self, walk: &mut Walk, value: u64, node: u32) -> bool {
        let block = self.block;
        let done = match walk.blocks.find(block) {
            Some((_, owner)) if owner == value => Some(()),
            Some(_) => walk.blocks.share(block, node, value),
            None if self.is_behind => {
                let owned = walk.blocks.own(block, self.usable_bytes, node, value);
                owned.map(|number| walk.blocks.used(number, block.bytes))
            }
            None => {
                leads_to(walk, block, value);
                return false;
            }
        };
        walk.failed |= done.is_none();
        if self.is_unread {
            walk.failed |= walk.blocks.lead(block, value, true).is_none();
        }
        true
    }
}

impl PendingValue {
    /// Returns `true` if anything is to be judged.
    pub(super) fn leads_anywhere(&self) -> bool {
        let [begin, _, end] = self.leads;
        self.first.is_some() || self.pointee.is_some() || begin < end
    }

    /// Sets the size of the value.
    pub(super) fn finish(&self, walk: &mut Walk, bytes: usize) {
        if bytes > WORD
            && let Some(block) = self.first
        {
            leads_to(walk, block, self.id);
        }
        let [begin, middle, end] = self.leads;
        let leads = match self.pointee.filter(|_| bytes == WORD) {
            Some(pointee) if pointee.finish(walk, self.id, self.node) => begin..middle,
            Some(_) => return,
            None if bytes > self.number_bytes => middle..end,
            None => return,
        };
        for index in leads {
            let lead = walk.leads[index];
            if index < middle || lead.least_bytes <= bytes {
                leads_to(walk, lead.block, self.id);
            }
        }
    }
}

/// Keeps a block that a value leads to, if nobody owns it.
pub(super) fn leads_to(walk: &mut Walk, block: Block, value: u64) {
    if walk.blocks.find(block).is_none() {
        walk.failed |= walk.blocks.lead(block, value, false).is_none();
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
