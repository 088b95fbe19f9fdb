//! The blocks that a value owns, each once, and the blocks that it reaches but that belong to
//! another owner.

use super::mapped::{Index, MappedVec};
use super::nodes::Nodes;
use heapglass_recorder::blocks::{Block, block_from};

/// A block that a value owns.
#[derive(Clone, Copy)]
struct Owned {
    block: Block,
    usable_bytes: usize,
    /// Bytes in which values were shown.
    used_bytes: usize,
    node: u32,
    /// The value that owns it.
    value: u64,
    /// The last other value that reached it.
    met_by: u64,
}

/// A block that belongs to another value, or that is borrowed.
#[derive(Clone, Copy)]
struct Shared {
    block: Block,
    node: u32,
}

/// Values of one node in blocks of another node. Their size becomes known only at the end.
#[derive(Clone, Copy)]
struct Unsized {
    owner: u32,
    values: u32,
    count: u64,
}

/// A block to which the memory of a value leads, and that has not been shown yet.
#[derive(Clone, Copy)]
struct PendingBlock {
    block: Block,
    value: u64,
    /// `true` if it may be owned, but its contents were not read.
    is_unread: bool,
}

#[derive(Default)]
pub(super) struct Blocks {
    owned: MappedVec<Owned>,
    by_start: Index,
    shared: MappedVec<Shared>,
    unfollowed: MappedVec<PendingBlock>,
    unsized_values: MappedVec<Unsized>,
    by_pair: Index,
}

impl Blocks {
    /// Returns the number of an owned block, and the value that owns it.
    pub(super) fn find(&self, block: Block) -> Option<(u32, u64)> {
        let found = self.by_start.find(block.start as u64, |index| {
            self.owned[index as usize].block.start == block.start
        })?;
        Some((found, self.owned[found as usize].value))
    }

    /// Makes a value the owner of a block without an owner. Returns the block's number, or `None`
    /// if there is no memory.
    pub(super) fn own(
        &mut self,
        block: Block,
        usable_bytes: usize,
        node: u32,
        value: u64,
    ) -> Option<u32> {
        let index = self.owned.push(Owned {
            block,
            usable_bytes,
            used_bytes: 0,
            node,
            value,
            met_by: 0,
        })?;
        let index = u32::try_from(index).ok()?;
        self.by_start.add(block.start as u64, index)?;
        Some(index)
    }

    /// Counts bytes of an owned block in which a value was shown.
    pub(super) fn used(&mut self, number: u32, bytes: usize) {
        if let Some(owned) = self.owned.get_mut(number as usize) {
            owned.used_bytes = owned.used_bytes.saturating_add(bytes);
        }
    }

    /// Counts a block that belongs to another owner, once for each value that reaches it.
    pub(super) fn share(&mut self, block: Block, node: u32, value: u64) -> Option<()> {
        let known = self.find(block);
        if let Some(owned) = known.and_then(|(number, _)| self.owned.get_mut(number as usize))
            && std::mem::replace(&mut owned.met_by, value) == value
        {
            return Some(());
        }
        self.shared.push(Shared { block, node }).map(|_| ())
    }

    /// Keeps a block to which the memory of a value leads until the end, because another value may
    /// show it. With `is_unread`, it counts regardless of its owner.
    pub(super) fn lead(&mut self, block: Block, value: u64, is_unread: bool) -> Option<()> {
        let pending = PendingBlock {
            block,
            value,
            is_unread,
        };
        self.unfollowed.push(pending).map(|_| ())
    }

    /// Returns the number of values whose memory leads to live blocks that nothing showed or that
    /// were not read. The block that contains the value at `start` does not count. Call this only
    /// at the end.
    pub(super) fn hidden_values(&self, start: usize) -> u64 {
        let mut values = 0;
        let mut counted = 0;
        for unfollowed in self.unfollowed.iter() {
            // The blocks of one value follow each other.
            let block = unfollowed.block;
            if unfollowed.value != counted
                && (unfollowed.is_unread || self.find(block).is_none())
                && start.wrapping_sub(block.start) >= block.bytes
                && is_live(block)
            {
                counted = unfollowed.value;
                values += 1;
            }
        }
        values
    }

    /// Counts a value of unknown size, of the node `values`, in a block of the node `owner`.
    pub(super) fn used_later(&mut self, owner: u32, values: u32) -> Option<()> {
        let pair = u64::from(owner) << 32 | u64::from(values);
        let known = self.by_pair.find(pair, |index| {
            let known = self.unsized_values[index as usize];
            (known.owner, known.values) == (owner, values)
        });
        if let Some(index) = known {
            self.unsized_values[index as usize].count += 1;
            return Some(());
        }
        let index = self.unsized_values.push(Unsized {
            owner,
            values,
            count: 1,
        })?;
        self.by_pair.add(pair, u32::try_from(index).ok()?)
    }

    /// Adds all figures to the nodes. Blocks that were freed since then were allocated only for the
    /// measurement and do not count.
    pub(super) fn sum(&self, nodes: &mut Nodes) {
        for owned in self.owned.iter().filter(|owned| is_live(owned.block)) {
            if let Some(node) = nodes.get_mut(owned.node) {
                let bytes = owned.block.bytes;
                node.figures.blocks += 1;
                node.figures.block_bytes += bytes as u64;
                node.figures.usable_bytes += owned.usable_bytes as u64;
                node.figures.used_bytes += owned.used_bytes.min(bytes) as u64;
            }
        }
        for shared in self.shared.iter().filter(|shared| is_live(shared.block)) {
            if let Some(node) = nodes.get_mut(shared.node) {
                node.figures.shared_blocks += 1;
                node.figures.shared_bytes += shared.block.bytes as u64;
            }
        }
        for values in self.unsized_values.iter() {
            let each = nodes.bytes_each(values.values) as u64;
            let bytes = values.count.saturating_mul(each);
            if let Some(node) = nodes.get_mut(values.owner) {
                let figures = &mut node.figures;
                figures.used_bytes = figures.used_bytes.saturating_add(bytes);
                figures.used_bytes = figures.used_bytes.min(figures.block_bytes);
            }
        }
        for index in 0..nodes.all.len() {
            let each = nodes.bytes_each(index as u32) as u64;
            let node = &mut nodes.all[index];
            let bytes = node.unsized_count.saturating_mul(each);
            node.figures.inline_bytes = node.figures.inline_bytes.saturating_add(bytes);
        }
    }
}

fn is_live(block: Block) -> bool {
    block_from(block.start).is_some_and(|now| now.bytes == block.bytes)
}
