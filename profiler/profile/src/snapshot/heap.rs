//! The blocks of a heap at one moment, sorted by address, and the memory that holds them up.

use crate::allocator::Allocator;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Every so many addresses one is kept apart, so that a search stays in a small table.
const SAMPLE: usize = 32;
/// A size that does not fit into 32 bits is in a table of its own.
const LARGE: u32 = u32::MAX;
/// Blocks have numbers of 30 bits: two bits of an edge are its own.
pub const MOST_BLOCKS: usize = 1 << 29;

/// The kind of memory of a root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RootKind {
    /// The part of a thread's stack that is in use.
    Stack,
    /// The part of a thread's stack below the stack pointer. It may still hold pointers in
    /// registers' save areas, so blocks are reachable from it, but it owns nothing.
    DeadStack,
    /// The thread-local values of a thread.
    ThreadLocals,
    /// A writable segment of the program or of a library.
    Segment,
}

/// Memory outside the heap that may point into it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Root {
    /// The kind of memory.
    pub kind: RootKind,
    /// The thread or segment, as the caller numbers them.
    pub number: u32,
    /// The addresses.
    pub range: Range<u64>,
}

/// One block of a heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Block {
    /// Its address.
    pub address: u64,
    /// Its size in bytes.
    pub size: u64,
    /// The site that allocated it.
    pub site: u32,
    /// The number of its allocation. Two blocks at one address differ in it.
    pub birth: u64,
}

/// Collects the blocks and roots of a [`Heap`].
#[derive(Debug, Default)]
pub struct HeapBuilder {
    heap: Heap,
}

/// The blocks of a heap at one moment, sorted by address, and the roots that point into it.
#[derive(Debug, Default)]
pub struct Heap {
    addresses: Vec<u64>,
    sizes: Vec<u32>,
    /// Sizes above 32 bits, by address.
    large: Vec<(u64, u64)>,
    sites: Vec<u32>,
    births: Vec<u64>,
    samples: Vec<u64>,
    end: u64,
    roots: Vec<Root>,
    rejected: u64,
    /// The allocator, if sizes are those that it gave.
    allocator: Option<Allocator>,
    /// The requested sizes that were found since; 0 is not known. Empty if `sizes` are requested.
    requested: Vec<AtomicU32>,
}

impl HeapBuilder {
    /// Notes that the sizes of all blocks are usable sizes, which an allocator gave for requests
    /// that are not known.
    pub fn sizes_are_usable(&mut self, allocator: Allocator) {
        self.heap.allocator = Some(allocator);
    }

    /// Adds a block. Blocks in the order of their addresses need no sorting.
    pub fn block(&mut self, address: u64, size: u64, site: u32, birth: u64) {
        let heap = &mut self.heap;
        // Size 0 is a block that is just being entered.
        let is_whole = size > 0 && address.checked_add(size).is_some();
        if !is_whole || heap.addresses.len() >= MOST_BLOCKS {
            heap.rejected += 1;
            return;
        }
        let short = u32::try_from(size).unwrap_or(LARGE);
        if short == LARGE {
            heap.large.push((address, size));
        }
        heap.addresses.push(address);
        heap.sizes.push(short);
        heap.sites.push(site);
        heap.births.push(birth);
    }

    /// Adds a root. A range that ends before it begins has no words.
    pub fn root(&mut self, kind: RootKind, number: u32, range: Range<u64>) {
        self.heap.roots.push(Root {
            kind,
            number,
            range,
        });
    }

    /// Returns the heap. Of two blocks that overlap, the larger one is rejected.
    pub fn finish(self) -> Heap {
        let mut heap = self.heap;
        heap.large.sort_unstable();
        if !heap.addresses.is_sorted() {
            let mut order: Vec<u32> = (0..).take(heap.addresses.len()).collect();
            let by = &heap.addresses;
            order.sort_unstable_by_key(|&index| (by[index as usize], index));
            heap.sizes = sorted(&heap.sizes, &order);
            heap.sites = sorted(&heap.sites, &order);
            heap.births = sorted(&heap.births, &order);
            heap.addresses = sorted(&heap.addresses, &order);
        }
        heap.remove_overlaps();
        if heap.allocator.is_some() {
            heap.requested = heap.sizes.iter().map(|_| AtomicU32::new(0)).collect();
        }
        heap.samples = heap.addresses.iter().step_by(SAMPLE).copied().collect();
        heap.end = (heap.len().checked_sub(1)).map_or(0, |last| heap.range(last).end);
        heap
    }
}

fn sorted<T: Copy>(all: &[T], order: &[u32]) -> Vec<T> {
    order.iter().map(|&index| all[index as usize]).collect()
}

impl Heap {
    fn remove_overlaps(&mut self) {
        let mut kept = 0;
        for index in 0..self.addresses.len() {
            let mut at = kept;
            if kept > 0 && self.range(kept - 1).end > self.addresses[index] {
                self.rejected += 1;
                if self.size(kept - 1) <= self.size(index) {
                    continue;
                }
                at = kept - 1;
            }
            self.addresses[at] = self.addresses[index];
            self.sizes[at] = self.sizes[index];
            self.sites[at] = self.sites[index];
            self.births[at] = self.births[index];
            kept = at + 1;
        }
        self.addresses.truncate(kept);
        self.sizes.truncate(kept);
        self.sites.truncate(kept);
        self.births.truncate(kept);
    }

    /// Returns the number of blocks.
    pub fn len(&self) -> usize {
        self.addresses.len()
    }

    /// Returns `true` if there is no block.
    pub fn is_empty(&self) -> bool {
        self.addresses.is_empty()
    }

    /// Returns a block by its number: blocks are numbered by address.
    pub fn block(&self, index: usize) -> Block {
        Block {
            address: self.addresses[index],
            size: self.size(index),
            site: self.sites[index],
            birth: self.births[index],
        }
    }

    /// Returns the roots.
    pub fn roots(&self) -> &[Root] {
        &self.roots
    }

    /// Returns the number of blocks that were left out, because they had no size, ended beyond the
    /// address space or overlapped a smaller one.
    pub fn rejected(&self) -> u64 {
        self.rejected
    }

    /// Returns the block that an address lies in.
    pub fn find(&self, address: u64) -> Option<usize> {
        if address >= self.end || address < *self.addresses.first()? {
            return None;
        }
        let sample = self.samples.partition_point(|&start| start <= address) - 1;
        let first = sample * SAMPLE;
        let some = &self.addresses[first..self.len().min(first + SAMPLE)];
        let index = first + some.partition_point(|&start| start <= address) - 1;
        (address - self.addresses[index] < self.size(index)).then_some(index)
    }

    /// Returns the addresses from the first block to the end of the last one.
    pub(super) fn bounds(&self) -> Range<u64> {
        self.addresses
            .first()
            .map_or(0..0, |first| *first..self.end)
    }

    /// Returns the size of a block, bytes: the requested one if it is known.
    pub fn size(&self, index: usize) -> u64 {
        match self.requested.get(index).map(|size| size.load(Relaxed)) {
            None | Some(0) => self.given(index),
            Some(size) => u64::from(size),
        }
    }

    /// Returns `true` if a block may have been requested with a number of bytes: these are its
    /// size, or its size is what the allocator gives for them.
    pub fn holds(&self, index: usize, bytes: u64) -> bool {
        let given = self.given(index);
        match self.allocator {
            None => given == bytes,
            Some(allocator) => bytes > 0 && allocator.may_give(bytes, given, self.addresses[index]),
        }
    }

    /// Returns the sizes, if they are those that an allocator gave.
    pub fn are_sizes_usable(&self) -> bool {
        self.allocator.is_some()
    }

    /// Returns the bytes that the allocator added to the blocks whose requested size was found.
    pub fn rounding_bytes(&self) -> u64 {
        let blocks = 0..self.requested.len();
        blocks.fold(0, |sum, block| sum + self.given(block) - self.size(block))
    }

    /// Sets the requested size of a block, which its header or type tells. `None` is not known.
    /// Does nothing if sizes are requested ones, or if the block cannot have been requested so.
    pub(super) fn set_requested(&self, index: usize, bytes: Option<u64>) {
        let Some(requested) = self.requested.get(index) else {
            return;
        };
        let bytes = bytes.filter(|&bytes| self.holds(index, bytes));
        let bytes = bytes.and_then(|bytes| u32::try_from(bytes).ok());
        requested.store(bytes.unwrap_or(0), Relaxed);
    }

    /// Returns the size with which a block was entered.
    fn given(&self, index: usize) -> u64 {
        let short = self.sizes[index];
        if short < LARGE {
            return u64::from(short);
        }
        // If several blocks have one address, all but the smallest are rejected.
        let address = self.addresses[index];
        let at = self.large.partition_point(|large| large.0 < address);
        self.large.get(at).map_or(u64::from(LARGE), |large| large.1)
    }

    /// Returns the addresses of a block.
    pub fn range(&self, index: usize) -> Range<u64> {
        let start = self.addresses[index];
        start..start + self.size(index)
    }

    /// Returns the site of a block.
    pub fn site(&self, index: usize) -> u32 {
        self.sites[index]
    }

    /// Sets the sites of all blocks, by number.
    pub(super) fn set_sites(&mut self, sites: Vec<u32>) {
        self.sites = sites;
    }

    /// Returns the number of nodes that are blocks or roots.
    pub(super) fn nodes(&self) -> usize {
        self.addresses.len() + self.roots.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_block_is_found_by_each_of_its_addresses(
            blocks in prop::collection::vec((0..4000_u64, 0..40_u64), 0..200),
        ) {
            let mut builder = HeapBuilder::default();
            for (number, &(address, size)) in blocks.iter().enumerate() {
                builder.block(address, size, 0, number as u64);
            }
            let heap = builder.finish();
            prop_assert_eq!(heap.len() as u64 + heap.rejected(), blocks.len() as u64);
            for index in 0..heap.len() {
                let block = heap.block(index);
                prop_assert_eq!(blocks[block.birth as usize], (block.address, block.size));
            }
            for address in 0..4100 {
                let all: Vec<usize> =
                    (0..heap.len()).filter(|&at| heap.range(at).contains(&address)).collect();
                prop_assert!(all.len() < 2);
                prop_assert_eq!(heap.find(address), all.first().copied());
            }
        }
    }

    #[test]
    fn usable_sizes_are_bounds_until_a_requested_size_is_found() {
        let mut builder = HeapBuilder::default();
        builder.sizes_are_usable(Allocator::Glibc);
        builder.block(0x1010, 104, 0, 1);
        builder.block(0x2020, 104, 0, 2);
        builder.block(0x10_0010, 0x2_2ff0, 0, 3);
        let heap = builder.finish();
        for bytes in 73..=104 {
            assert!(heap.holds(0, bytes), "{bytes}");
        }
        assert!(!heap.holds(0, 72) && !heap.holds(0, 105) && !heap.holds(0, 0));
        // With an alignment of its own, a block may have 32 bytes more.
        assert!(heap.holds(1, 57) && !heap.holds(1, 56));
        // A mapping of its own.
        assert!(heap.holds(2, 0x2_1fe9) && !heap.holds(2, 0x2_1fe8));
        heap.set_requested(0, Some(80));
        assert_eq!((heap.size(0), heap.range(0)), (80, 0x1010..0x1060));
        assert!(heap.holds(0, 100));
        assert_eq!(heap.rounding_bytes(), 24);
        heap.set_requested(0, Some(60));
        assert_eq!(heap.size(0), 104);
    }

    #[test]
    fn sizes_that_overflow_or_are_large() {
        let mut builder = HeapBuilder::default();
        builder.block(u64::MAX - 8, 16, 0, 0);
        builder.block(1 << 40, 5 << 32, 0, 1);
        builder.block(16, 8, 0, 2);
        builder.block(64, u64::MAX - 64, 0, 3);
        let heap = builder.finish();
        assert_eq!((heap.len(), heap.rejected()), (2, 2));
        assert_eq!(heap.block(1).size, 5 << 32);
        assert_eq!(heap.find((1 << 40) + (5 << 32) - 1), Some(1));
        assert_eq!(heap.find((1 << 40) + (5 << 32)), None);
    }
}
