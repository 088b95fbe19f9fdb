//! Large blocks into which slices point: how much of each do they cover?
//!
//! A pointer with a length beside it covers a range of its block. Where all pointers into a block
//! are such pairs, apart from its owner's, the union of the ranges is what is referred to. The
//! owner must be seen: what is on a stack may be a part of one whose other words are in registers.
//! This is a bound: the owner, and code that computes an address, may use all of the block, and a
//! number beside a pointer need not be its length. A block to which any other pointer leads is left
//! out.

use super::heap::Heap;
use super::layout::{View, WORD};
use std::collections::BTreeSet;

/// The least bytes of a block.
pub(super) const LEAST: u64 = 4096;
/// Ranges that are kept before those that touch are joined.
const MOST_RANGES: usize = 1 << 21;

/// A large block into which slices point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sliced {
    /// The block.
    pub block: usize,
    /// Bytes that the slices cover. Slices that overlap count once.
    pub covered_bytes: u64,
    /// `true` if a list such as a `String` owns the block. Its code may use all of it.
    pub has_list: bool,
}

/// A pointer into a large block: the block, and the range that it covers. `None` is a pointer
/// without a length.
pub(super) type Pointer = (u32, Option<(u64, u64)>);

/// Pointers into large blocks, as they are read.
#[derive(Debug, Default)]
pub(super) struct Slices {
    ranges: Vec<(u32, u64, u64)>,
    /// Ranges that are sorted and do not touch.
    joined: usize,
    /// Blocks to which a pointer without a length leads, or with too many ranges.
    not_known: BTreeSet<u32>,
    /// Pairs that cover a whole block.
    whole: Vec<u32>,
}

/// Returns what a pointer in a view covers of a block whose elements have a known size.
pub(super) fn pointer(view: &View<'_>, at: u64, word: u64, block: usize, element: u64) -> Pointer {
    let range = view.heap.range(block);
    let start = word - range.start;
    let room = range.end - word;
    let length = at.checked_add(WORD).and_then(|at| view.word(at));
    let covered = length.and_then(|length| length.checked_mul(element));
    let covered = covered.filter(|&bytes| bytes > 0 && bytes <= room);
    (block as u32, covered.map(|bytes| (start, start + bytes)))
}

impl Slices {
    pub(super) fn add(&mut self, heap: &Heap, pointers: &[Pointer]) {
        for &(block, range) in pointers {
            match range {
                None => self.other(block),
                Some((0, end)) if end == heap.size(block as usize) => self.whole.push(block),
                Some((start, end)) => self.ranges.push((block, start, end)),
            }
        }
        if self.whole.len() > MOST_RANGES {
            // Of a block that is covered as a whole twice, no more needs to be known.
            self.whole.sort_unstable();
            let twice: Vec<u32> = self
                .whole
                .chunk_by(|one, other| one == other)
                .filter(|all| all.len() > 1)
                .map(|all| all[0])
                .collect();
            self.not_known.extend(twice);
            self.whole.retain(|block| !self.not_known.contains(block));
        }
        if self.ranges.len() > 2 * self.joined + MOST_RANGES / 4 {
            self.join();
        }
    }

    /// Takes in a pointer without a length.
    pub(super) fn other(&mut self, block: u32) {
        self.not_known.insert(block);
    }

    fn join(&mut self) {
        let not_known = &self.not_known;
        self.ranges.retain(|range| !not_known.contains(&range.0));
        self.ranges.sort_unstable();
        self.ranges.dedup_by(|next, last| {
            let touches = next.0 == last.0 && next.1 <= last.2;
            if touches {
                last.2 = last.2.max(next.2);
            }
            touches
        });
        if self.ranges.len() > MOST_RANGES {
            // The blocks with the most ranges are given up.
            let mut counts: Vec<(usize, u32)> = self
                .ranges
                .chunk_by(|one, other| one.0 == other.0)
                .map(|all| (all.len(), all[0].0))
                .collect();
            counts.sort_unstable();
            let mut left = self.ranges.len();
            while left > MOST_RANGES / 2
                && let Some((count, block)) = counts.pop()
            {
                left -= count;
                self.not_known.insert(block);
            }
            let not_known = &self.not_known;
            self.ranges.retain(|range| !not_known.contains(&range.0));
        }
        self.joined = self.ranges.len();
    }

    /// Returns the blocks into which slices point, and nothing else but an owner.
    pub(super) fn finish(mut self, has_list: impl Fn(usize) -> bool) -> Vec<Sliced> {
        self.join();
        self.whole.sort_unstable();
        let mut sliced = Vec::new();
        for ranges in self.ranges.chunk_by(|one, other| one.0 == other.0) {
            let block = ranges[0].0;
            let has_list = has_list(block as usize);
            let first = self.whole.partition_point(|&other| other < block);
            let whole = self.whole[first..].iter();
            let whole = whole.take_while(|&&other| other == block).count();
            // An owner that is no list has the capacity beside its pointer. One that is not seen
            // may use all of the block.
            if whole != usize::from(!has_list) {
                continue;
            }
            sliced.push(Sliced {
                block: block as usize,
                covered_bytes: ranges.iter().map(|(_, start, end)| end - start).sum(),
                has_list,
            });
        }
        sliced
    }
}
