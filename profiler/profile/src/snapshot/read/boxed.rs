//! Boxed slices: pointers with a length behind them, where no header tells what owns the block.

use super::{REFERS, Reader, has_bit};
use rustc_hash::FxHashMap;

/// Boxed slices inside each other that are read before all blocks without a header.
const MOST_NESTED: u32 = 16;

/// A pointer that refers to a block so far, with a number behind it that may be its length.
#[derive(Clone, Copy, Debug)]
pub(super) struct MaySlice {
    pub(super) block: u32,
    pub(super) edge: u32,
    pub(super) length: u64,
    /// The node that holds the pointer.
    pub(super) holder: u32,
}

impl Reader<'_> {
    /// Reads the blocks that only the pointer of a boxed slice could own, and what they lead to.
    pub(super) fn boxed_slices(&mut self) {
        for _ in 0..MOST_NESTED {
            let mut found = self.sole_slices();
            found.retain(|slice| {
                let block = slice.block as usize;
                !self.was_read(block) && !self.layouts.is_plain(self.heap, block)
            });
            if found.is_empty() {
                break;
            }
            // The number may be a capacity, so how much is in use is not known.
            self.ready.extend(found.iter().map(|slice| slice.block));
            self.ready_blocks();
        }
    }

    /// Returns pointers with a length that fits their block, where no other pointer has one.
    fn sole_slices(&mut self) -> Vec<MaySlice> {
        let mut slices = std::mem::take(&mut self.may_slice);
        slices.sort_unstable_by_key(|slice| slice.edge);
        let mut votes: FxHashMap<(u32, u64), u64> = FxHashMap::default();
        for &MaySlice { block, length, .. } in &slices {
            let (block, size) = (block as usize, self.heap.size(block as usize));
            let is_size = !self.heap.are_sizes_usable();
            if self.element_bytes(block).is_none() && is_size && size.is_multiple_of(length) {
                let vote = (self.heap.site(block), size / length);
                *votes.entry(vote).or_default() += 1;
            }
        }
        self.count_votes(votes);
        slices.retain(|slice| {
            let block = slice.block as usize;
            let bytes = self.element_bytes(block);
            let bytes = bytes.and_then(|bytes| bytes.checked_mul(slice.length));
            bytes.is_some_and(|bytes| self.heap.holds(block, bytes))
        });
        let mut all = slices.clone();
        all.sort_unstable_by_key(|slice| slice.block);
        self.may_slice = slices;
        let alone = all.chunk_by(|one, other| one.block == other.block);
        let alone = alone.filter_map(|all| match all {
            [one] => Some(*one),
            _ => None,
        });
        alone.collect()
    }

    /// Makes owners of the pointers of boxed slices, where nothing else owns the block.
    pub(super) fn own_boxed_slices(&mut self) {
        let mut slices = self.sole_slices();
        if slices.is_empty() {
            return;
        }
        let owned = self.owned();
        slices.retain(|slice| !has_bit(&owned, slice.block as usize));
        for slice in slices {
            self.contents.edges[slice.edge as usize] &= !REFERS;
        }
    }
}
