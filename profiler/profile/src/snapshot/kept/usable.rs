//! Requested bytes against those that the allocator gives, by its size classes.

use super::super::Heap;
use crate::allocator::Allocator;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Live blocks of one size class of the allocator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct UsableClass {
    /// Usable bytes of each block.
    pub block_bytes: u64,
    /// Blocks.
    pub blocks: u64,
    /// Bytes that were requested for these blocks.
    pub requested_bytes: u64,
}

impl UsableClass {
    /// Returns the usable bytes of all its blocks.
    pub fn usable_bytes(&self) -> u64 {
        self.block_bytes.saturating_mul(self.blocks)
    }

    /// Returns the bytes beyond the requested ones.
    pub fn rounding_bytes(&self) -> u64 {
        self.usable_bytes().saturating_sub(self.requested_bytes)
    }
}

/// The usable bytes of the live blocks of a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Usable {
    /// The allocator: `glibc`, `jemalloc` or `mimalloc`.
    pub allocator: String,
    /// Its classes that have blocks, the smallest first.
    pub classes: Vec<UsableClass>,
    /// Blocks above 64 KiB, for which the allocator's rule is not known.
    pub large_blocks: u64,
    /// Requested bytes of these.
    pub large_bytes: u64,
}

impl Usable {
    pub(super) fn of(heap: &Heap, allocator: Allocator) -> Usable {
        let mut usable = Usable {
            allocator: allocator.name().to_owned(),
            ..Usable::default()
        };
        let mut classes: BTreeMap<u64, UsableClass> = BTreeMap::new();
        for block in 0..heap.len() {
            let bytes = heap.size(block);
            let Some(block_bytes) = allocator.usable_bytes(bytes) else {
                usable.large_blocks += 1;
                usable.large_bytes = usable.large_bytes.saturating_add(bytes);
                continue;
            };
            let class = classes.entry(block_bytes).or_default();
            class.block_bytes = block_bytes;
            class.blocks += 1;
            class.requested_bytes = class.requested_bytes.saturating_add(bytes);
        }
        usable.classes = classes.into_values().collect();
        usable
    }

    /// Returns the bytes that were requested for blocks of known classes.
    pub fn requested_bytes(&self) -> u64 {
        let classes = self.classes.iter();
        let requested = classes.map(|class| class.requested_bytes);
        requested.fold(0, u64::saturating_add)
    }

    /// Returns the usable bytes of these blocks, at least: an allocator may leave with a block what
    /// is too small to be one itself.
    pub fn usable_bytes(&self) -> u64 {
        let usable = self.classes.iter().map(UsableClass::usable_bytes);
        usable.fold(0, u64::saturating_add)
    }
}
