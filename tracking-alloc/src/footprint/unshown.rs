//! What a value did not show of itself: the blocks its own words lead to.
//!
//! Never reads a word outside the value or a live block that it owns. Where the type says that a word is a pointer it is
//! followed; a block that begins where another word points counts when the value shows nothing that could say otherwise;
//! what then remains is only counted as something that was not looked into.

use super::blocks::Perhaps;
use super::names::{Form, is_number, is_unsized};
use super::place::{Shape, Value, Walk};
use crate::shadow::{self, Block, block_from, word_at};
use std::cell::Cell;

/// Lists in lists that are hidden: how deep they are looked for.
const HIDDEN_DEPTH: u32 = 8;

/// Longer hidden lists are not looked into. Allocators give back so large a block to the system when it is freed: it
/// would not be there to be read if it were no part of the value after all.
const HIDDEN_BYTES: usize = 64 << 10;

/// Pointers to pointers: how far they are followed.
const POINTERS: u32 = 8;

/// Which words of a place were shown: of its first 128.
#[derive(Clone, Copy)]
pub(super) struct Shown {
    pub(super) start: usize,
    words: u128,
}

impl Shown {
    pub(super) const fn nothing(start: usize) -> Self {
        Shown { start, words: 0 }
    }

    /// Bytes from an offset were shown.
    #[inline]
    pub(super) fn mark(place: &Cell<Shown>, offset: usize, bytes: usize) {
        let (first, last) = (offset / 8, (offset + bytes.max(1) - 1) / 8);
        if first < 128 {
            let mut shown = place.get();
            let below = (1 << first) - 1;
            shown.words |= (u128::MAX >> (127 - last.min(127))) & !below;
            place.set(shown);
        }
    }

    /// Whether a word may be something else than what was shown.
    fn leaves(&self, index: usize) -> bool {
        index < 128 && self.words >> index & 1 == 0
    }
}

impl Value<'_> {
    /// The value was shown whole: looks for what was not.
    pub(super) fn finish(&self, walk: &mut Walk) {
        if let Some(node) = walk.nodes.all.get_mut(self.node as usize) {
            node.extent = node.extent.max(self.extent.get());
        }
        if self.is_temporary || self.is_borrowed.get() || is_number(self.type_name) {
            return;
        }
        let shape = self.shape.get();
        let bytes = self.readable_bytes(walk);
        let certain = match self.bytes {
            0 => Form::of(self.type_name).least_bytes(),
            known => known,
        };
        self.follow(walk, self.type_name, self.start, certain);
        if shape == Shape::Text {
            self.look_for_lists(walk, self.start, bytes, 0);
            self.doubt_tables(walk, self.start, bytes);
            return;
        }
        if shape == Shape::Fields {
            self.doubt(walk, self.shown.get(), bytes, 0);
            return;
        }
        // NOTE: words of a number larger than a pointer, or of a value that shows nothing, may be what was there before.
        let is_pointer_alone = bytes == size_of::<usize>();
        if self.was_followed.get() {
            self.doubt(walk, self.shown.get(), bytes, 0);
            return;
        }
        if !matches!(shape, Shape::Contents | Shape::Empty) && !is_pointer_alone {
            self.doubt_number(walk, bytes);
            return;
        }
        let met = self.recent.get().start;
        // What it showed it made for the occasion: it wrote itself as text in its own way.
        let is_hidden = shape == Shape::Contents
            && met != 0
            && !self.may_be_table
            && words(self.start, bytes).all(|word| word != met);
        if is_hidden {
            self.look_for_lists(walk, self.start, bytes, 0);
        }
        if is_hidden || self.may_be_table {
            self.doubt_tables(walk, self.start, bytes);
        }
        for word in words(self.start, bytes) {
            let recent = self.recent.get();
            if word < 4096 || recent.start == word || shape == Shape::Number(word as u64) {
                continue;
            }
            // The word of a table leads to its middle; other owners keep the start.
            let block = if self.may_be_table && shape == Shape::Empty {
                walk.finder.block_at(word)
            } else {
                block_from(word)
            };
            if let Some(block) = block {
                if is_hidden && block.bytes <= HIDDEN_BYTES && walk.blocks.find(block).is_none() {
                    // A box: what is in it may have lists, too.
                    self.look_for_lists(walk, block.start, block.bytes, 1);
                }
                // Nobody showed what is in it: that it is slack can be said of nothing but spare capacity.
                let used_bytes = if shape == Shape::Empty {
                    0
                } else {
                    block.bytes
                };
                self.perhaps(walk, block, used_bytes, is_pointer_alone);
            }
        }
    }

    /// How many bytes of this value may be read: its size, as far as it is known to lie in one place.
    fn readable_bytes(&self, walk: &mut Walk) -> usize {
        if self.bytes > 0 || !self.has_node {
            return self.bytes;
        }
        // Told by what others of its place came to: not beyond its block.
        let told = walk.nodes.bytes_each(self.node);
        match walk.finder.block_at(self.start) {
            Some(block) => told.min(block.start + block.bytes - self.start),
            None => 0,
        }
    }

    /// Something of another type lies at the value's own place: a newtype's field, what is in an `Option`.
    pub(super) fn hand_over(
        &self,
        walk: &mut Walk,
        name: &'static str,
        address: usize,
        bytes: usize,
    ) {
        if !self.is_temporary && !self.is_borrowed.get() && !walk.is_on_stack(address) {
            self.follow(walk, name, address, bytes);
        }
    }

    /// Takes the blocks that a value at `address` leads to by what its type is; so many bytes are certainly there.
    fn follow(&self, walk: &mut Walk, name: &str, mut address: usize, mut bytes: usize) {
        let mut form = Form::of(name);
        for depth in 0..POINTERS {
            if !address.is_multiple_of(align_of::<usize>()) || bytes < size_of::<usize>() {
                return;
            }
            match form {
                Form::Pointer(target, before) => {
                    self.was_followed.set(true);
                    let offset = address.wrapping_sub(self.start);
                    if depth == 0 && offset < self.bytes.max(1) {
                        Shown::mark(&self.shown, offset, size_of::<usize>());
                    }
                    // SAFETY: a pointer that is borrowed as long as it is measured, or lies in a block that one leads to.
                    let word = unsafe { word_at(address) };
                    let Some(block) = block_from(word) else {
                        return;
                    };
                    let known = walk.blocks.find(block).is_some();
                    self.take_certain(walk, block, block.bytes);
                    if !known || self.shown_in_block.get().start == block.start {
                        self.doubt_inside(walk, target, block, before);
                    }
                    if before > block.bytes {
                        return;
                    }
                    (address, bytes) = (block.start + before, block.bytes - before);
                    form = Form::of(target);
                }
                Form::Around(target, before) => {
                    if before > bytes {
                        return;
                    }
                    (address, bytes) = (address + before, bytes - before);
                    form = Form::of(target);
                }
                Form::List(whole) => {
                    // One that is the value itself says more by what it shows.
                    if depth > 0 && whole <= bytes {
                        for word in words(address, whole) {
                            if let Some(block) = block_from(word) {
                                self.take_certain(walk, block, 0);
                            }
                        }
                        self.was_followed.set(true);
                    }
                    return;
                }
                Form::Other => return,
            }
        }
    }

    /// Takes a block that a pointer of the value leads to. `used_bytes`: of it, when nothing in it was shown.
    fn take_certain(&self, walk: &mut Walk, block: Block, used_bytes: usize) {
        let known = walk.blocks.find(block).is_some();
        let recent = self.recent.get();
        let owned = self.take(walk, block);
        self.recent.set(recent);
        if let (false, Some(number)) = (known, owned) {
            walk.blocks.used(number, used_bytes);
        }
    }

    fn perhaps(&self, walk: &mut Walk, block: Block, used_bytes: usize, is_certain: bool) {
        let done = walk.blocks.perhaps(Perhaps {
            block,
            usable_bytes: walk.usable_bytes(block, false),
            used_bytes,
            node: self.node,
            value: self.number,
            is_certain,
        });
        walk.check(done);
    }

    /// Lists in a value that shows nothing of what is in it, and in the items of such lists: capacity, address and length
    /// side by side, as `Vec` and `String` lie in memory today, and a block that begins there and holds so many.
    ///
    /// NOTE: a lone address may be what was there before; all three, and the right size, are no accident.
    fn look_for_lists(&self, walk: &mut Walk, start: usize, bytes: usize, depth: u32) {
        let mut last = [0; 3];
        for (index, word) in words(start, bytes).enumerate() {
            last = [last[1], last[2], word];
            if let Some(block) = block_from(word).filter(|_| word >= 4096) {
                self.may_miss(walk, block);
            }
            let [capacity, pointer, length] = last;
            if index < 2 || pointer < 4096 || capacity == 0 || length > capacity {
                continue;
            }
            let Some(block) = block_from(pointer) else {
                continue;
            };
            if block.bytes == 0 || block.bytes % capacity != 0 {
                continue;
            }
            let used_bytes = block.bytes / capacity * length;
            self.perhaps(walk, block, used_bytes, false);
            if depth < HIDDEN_DEPTH && used_bytes <= HIDDEN_BYTES {
                self.look_for_lists(walk, block.start, used_bytes, depth + 1);
            }
        }
    }

    /// What a pointer leads to: the words of it that nothing was shown in.
    fn doubt_inside(&self, walk: &mut Walk, target: &str, block: Block, before: usize) {
        let mut shown = self.shown_in_block.get();
        if shown.start != block.start {
            shown = Shown::nothing(block.start);
        }
        // Elements are values of their own.
        if !is_unsized(target) {
            self.doubt(walk, shown, block.bytes, before);
        }
    }

    /// Words behind `before` that were not shown, but lead to a block: perhaps nobody shows it.
    fn doubt(&self, walk: &mut Walk, shown: Shown, bytes: usize, before: usize) {
        if self.has_no_fields.get() {
            return;
        }
        for (index, word) in words(shown.start, bytes)
            .enumerate()
            .skip(before / 8)
            .take(128)
        {
            if word < 4096 || !shown.leaves(index) || self.shape.get() == Shape::Number(word as u64)
            {
                continue;
            }
            if let Some(block) = block_from(word) {
                self.may_miss(walk, block);
            }
        }
        self.doubt_tables(walk, shown.start, bytes.min(1024));
    }

    /// A number in a value with room for more, as an untagged enum: perhaps it is in a box.
    fn doubt_number(&self, walk: &mut Walk, bytes: usize) {
        let Shape::Number(_) = self.shape.get() else {
            return;
        };
        for word in words(self.start, bytes) {
            let block = block_from(word).filter(|_| word >= 4096);
            if let Some(block) = block.filter(|block| block.bytes == self.number_bytes.get()) {
                self.may_miss(walk, block);
            }
        }
    }

    /// Hash tables among the words of the value: those of hashbrown, whose pointer leads to the end of its buckets, and
    /// which keep one less than their number beside it. A byte for each, and some more, fill the rest of the block.
    fn doubt_tables(&self, walk: &mut Walk, start: usize, bytes: usize) {
        let mut last = 0usize;
        for word in words(start, bytes) {
            let before = std::mem::replace(&mut last, word);
            for (pointer, mask) in [(before, word), (word, before)] {
                if pointer < 4096 || mask < 3 || !(mask.wrapping_add(1)).is_power_of_two() {
                    continue;
                }
                let Some(block) = walk.finder.block_at(pointer) else {
                    continue;
                };
                let rest = (block.start + block.bytes - pointer).checked_sub(mask + 1);
                if !matches!(rest, Some(4 | 8 | 16)) {
                    continue;
                }
                if walk.blocks.find(block).is_some() {
                    continue;
                }
                if self.may_be_table && self.shape.get() != Shape::Fields {
                    // The index of an `IndexMap`. Other maps' buckets are found by what is in them.
                    self.take_certain(walk, block, 0);
                } else {
                    self.may_miss(walk, block);
                }
            }
        }
    }

    fn may_miss(&self, walk: &mut Walk, block: Block) {
        if walk.blocks.find(block).is_none() && !self.holds(block) {
            let done = walk.blocks.may_miss(block, self.number);
            walk.check(done);
        }
    }
}

/// The aligned words of a value.
pub(super) fn words(start: usize, bytes: usize) -> impl Iterator<Item = usize> {
    // SAFETY: a value that is borrowed as long as it is measured, or a live block that it leads to.
    unsafe { shadow::words(start, bytes) }
}
