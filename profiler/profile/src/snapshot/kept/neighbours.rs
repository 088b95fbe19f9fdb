//! Distances between blocks that a reader visits one after the other.
//!
//! The order is that of the pointers in the block that holds them: a list of boxes is read in this
//! order, and so is a table.

use super::super::{Analysis, Heap};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// Bytes of a cache line.
const LINE: u64 = 64;
/// Bytes of a page.
const PAGE: u64 = 4096;

/// Pairs of neighbours: a block, and the one that a reader visits before it. That is the one to
/// which the pointer before points, in the block that owns it; for the first pointer, it is the
/// owner itself, as in a linked list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Neighbours {
    /// All pairs.
    pub pairs: u64,
    /// Pairs with less than a cache line (64 bytes) between the blocks.
    pub line: u64,
    /// Pairs with less than a page (4096 bytes) between the blocks; those within a line, too.
    pub page: u64,
    /// Pairs whose second block is at the lower address.
    pub backwards: u64,
}

impl Neighbours {
    /// Adds other pairs. Saturates: a file may claim any figures.
    pub(crate) fn add(&mut self, other: &Neighbours) {
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        add(&mut self.pairs, other.pairs);
        add(&mut self.line, other.line);
        add(&mut self.page, other.page);
        add(&mut self.backwards, other.backwards);
    }

    pub(super) fn is_empty(&self) -> bool {
        *self == Neighbours::default()
    }

    fn add_pair(&mut self, heap: &Heap, first: usize, second: usize) {
        let (first, second) = (heap.range(first), heap.range(second));
        let is_backwards = second.start < first.start;
        let between = if is_backwards {
            first.start.saturating_sub(second.end)
        } else {
            second.start.saturating_sub(first.end)
        };
        self.pairs += 1;
        self.line += u64::from(between < LINE);
        self.page += u64::from(between < PAGE);
        self.backwards += u64::from(is_backwards);
    }
}

/// Returns the neighbours by the group of the second block. `group_of` has the group of each block.
///
/// The first block may be of any group: a reader of a list of structs visits all fields of one
/// before the next, and one loop of the source may be several sites.
pub(super) fn by_group(
    analysis: &Analysis,
    group_of: &[(u32, u32)],
) -> FxHashMap<(u32, u32), Neighbours> {
    let heap = analysis.heap();
    let mut all: FxHashMap<(u32, u32), Neighbours> = FxHashMap::default();
    for holder in 0..heap.len() {
        let mut before = holder;
        for (target, _) in analysis.pointers(holder).filter(|(_, owns)| *owns) {
            if target != before {
                let found = all.entry(group_of[target]).or_default();
                found.add_pair(heap, before, target);
                before = target;
            }
        }
    }
    all
}
