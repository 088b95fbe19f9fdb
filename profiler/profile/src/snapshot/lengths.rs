//! The lengths of lists: how far a header is to be believed, what proves one that was found on a
//! stack, and the values that lie beyond a length.
//!
//! Optimised code keeps the capacity, the pointer and the length of a local list apart. Three
//! neighbouring words of a stack may be of different moments, or no header at all. The elements can
//! prove the length, if they hold pointers: those below it are values, the last of them points to a
//! live block, and the place behind it holds no value. Plain numbers and text prove nothing.

use super::Memory;
use super::heap::Heap;
use super::layout::{Layouts, Mark, Source, View, Words};
use crate::containers::Header;
use std::ops::Range;

/// Elements are looked at in windows of this size.
const WINDOW: u64 = 1 << 20;
/// Larger elements are not looked at.
const MOST_ELEMENT: u64 = 16 << 20;

/// The trust in the length of a header, the least first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Trust {
    /// There is no header.
    #[default]
    None,
    /// Words of a stack that look like a header.
    Stack,
    /// A header in memory that may be out of use.
    Doubtful,
    /// A header in a value that is live.
    Live,
}

/// The places of a list that are in use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Used {
    /// The index of the first element.
    pub(super) first: u64,
    /// Elements in use. They continue at the block's start.
    pub(super) count: u64,
    /// All places.
    pub(super) room: u64,
}

impl Used {
    fn has(&self, index: u64) -> bool {
        let after = index + if index < self.first { self.room } else { 0 } - self.first;
        after < self.count
    }

    /// Returns the places that are not in use, as up to two ranges.
    fn free(&self) -> [Range<u64>; 2] {
        let end = self.first + self.count;
        if end > self.room {
            [end - self.room..self.first, 0..0]
        } else {
            [0..self.first, end..self.room]
        }
    }
}

/// The contents of the place of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// A value that owns a live block.
    Owner,
    /// No value of the type.
    NoValue,
    /// It may be a value or not.
    Open,
}

/// Takes some places at once: their range, the address of the first one, and their bytes. Returns
/// `false` to stop.
type EachWindow<'a> = &'a mut dyn FnMut(Range<u64>, u64, &[u8]) -> bool;

/// Looks at the elements of a block.
pub(super) struct Probe<'a> {
    pub(super) heap: &'a Heap,
    pub(super) memory: &'a dyn Memory,
    pub(super) layouts: &'a dyn Layouts,
    /// Returns `true` if a header agrees with the size of its block.
    pub(super) agrees: &'a dyn Fn(usize, Header) -> bool,
    pub(super) block: usize,
    /// The bytes of the block, if they were read already.
    pub(super) bytes: Option<&'a [u8]>,
    /// The size of an element.
    pub(super) element: u64,
}

impl Probe<'_> {
    /// Returns `true` if the elements prove that just these places are in use.
    ///
    /// An empty list proves nothing: it may be in the middle of being filled.
    pub(super) fn proves(&self, used: &Used) -> bool {
        let Some(last) = used.count.checked_sub(1).filter(|_| used.room > 0) else {
            return false;
        };
        let at = |after: u64| (used.first + after) % used.room;
        // Both ends must be known: the elements there, and the places next to them.
        let mut ends = vec![at(last)];
        if used.first > 0 {
            ends.push(used.first);
        }
        if used.count < used.room {
            ends.push(at(used.count));
            if used.first > 0 {
                ends.push(used.first - 1);
            }
        }
        let mut is_proven = true;
        let is_whole = self.places(0..used.room, &mut |index, place, _| {
            is_proven = match place {
                Place::Owner => used.has(index),
                Place::NoValue => !used.has(index),
                Place::Open => !ends.contains(&index),
            };
            is_proven
        });
        is_whole && is_proven
    }

    /// Notes the live blocks to which values beyond the places in use point.
    pub(super) fn note_beyond(&self, used: &Used, beyond: &mut Vec<(u32, u32)>) {
        for free in used.free() {
            // Most memory that is not in use was never written.
            let mut written = Vec::new();
            self.windows(free, &mut |places, _, bytes| {
                if bytes.iter().any(|byte| *byte != 0) {
                    written.push(places);
                }
                true
            });
            for places in written {
                self.places(places, &mut |_, place, targets| {
                    if place == Place::Owner {
                        beyond.extend(targets.iter().map(|&target| (self.block as u32, target)));
                    }
                    true
                });
            }
        }
    }

    /// Calls `each` with the number of each place in a range, what lies there, and the blocks that
    /// it owns, until `each` returns `false`. Returns `false` if not all could be read.
    fn places(&self, range: Range<u64>, each: &mut dyn FnMut(u64, Place, &[u32]) -> bool) -> bool {
        let (mut words, mut targets) = (Words::default(), Vec::new());
        self.windows(range, &mut |places, start, bytes| {
            places.into_iter().all(|index| {
                let at = self.heap.range(self.block).start + index * self.element;
                let view = View {
                    heap: self.heap,
                    source: Source::Block(self.block),
                    bytes,
                    start,
                    range: at..at + self.element,
                    is_probe: true,
                };
                let place = self.place(&view, &mut words, &mut targets);
                each(index, place, &targets)
            })
        })
    }

    /// Calls `each` with some places of a range at once, the address of the first one, and their
    /// bytes, until `each` returns `false`. Returns `false` if not all could be read.
    fn windows(&self, range: Range<u64>, each: EachWindow<'_>) -> bool {
        if self.element == 0 || self.element > MOST_ELEMENT {
            return range.is_empty();
        }
        let block = self.heap.range(self.block).start;
        let mut buffer = Vec::new();
        let step = (WINDOW / self.element).max(1);
        let mut first = range.start;
        while first < range.end {
            let end = (first + step).min(range.end);
            let within = first * self.element..end * self.element;
            let start = block + within.start;
            let bytes = match self.bytes {
                Some(bytes) => bytes.get(within.start as usize..within.end as usize),
                None => {
                    buffer.resize((within.end - within.start) as usize, 0);
                    let is_read = self.memory.read(start, &mut buffer).is_ok();
                    is_read.then_some(&buffer[..])
                }
            };
            let Some(bytes) = bytes else { return false };
            if !each(first..end, start, bytes) {
                return true;
            }
            first = end;
        }
        true
    }

    fn place(&self, view: &View<'_>, words: &mut Words, targets: &mut Vec<u32>) -> Place {
        words.clear();
        targets.clear();
        self.layouts.walk(view, words);
        if words.has_no_value {
            return Place::NoValue;
        }
        for &(at, mark) in &words.marks {
            let Mark::Owns(target) = mark else { continue };
            let mut headers = words.headers.iter();
            let agrees = match headers.find(|header| header.0 == at) {
                Some(&(_, header)) => (self.agrees)(target as usize, header),
                None => view.word(at) == Some(self.heap.range(target as usize).start),
            };
            if agrees {
                targets.push(target);
            }
        }
        if targets.is_empty() {
            Place::Open
        } else {
            Place::Owner
        }
    }
}
