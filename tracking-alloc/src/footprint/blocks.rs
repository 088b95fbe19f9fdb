//! The blocks a value owns, each once, and those it met that belong to somebody else.

use super::nodes::{Node, Nodes};
use super::room::{Index, Room};
use crate::shadow::{Block, block_from};

/// A block that a value owns.
#[derive(Clone, Copy)]
struct Owned {
    start: usize,
    bytes: usize,
    usable_bytes: usize,
    /// Bytes in which values were seen.
    used_bytes: usize,
    node: u32,
    /// The value that owns it.
    value: u64,
    /// The last other value that met it.
    met_by: u64,
}

/// A block met that belongs to another value, or that is borrowed.
#[derive(Clone, Copy)]
struct Met {
    start: usize,
    bytes: usize,
    node: u32,
}

/// A block that no address was shown in, but whose own address is a word of a value.
#[derive(Clone, Copy)]
pub(super) struct Perhaps {
    pub(super) block: Block,
    pub(super) usable_bytes: usize,
    pub(super) used_bytes: usize,
    pub(super) node: u32,
    pub(super) value: u64,
    /// The value is nothing but a pointer to it.
    pub(super) is_certain: bool,
}

/// Values of unknown size seen in blocks of a node: their size is known at the end.
#[derive(Clone, Copy)]
struct Late {
    owner: u32,
    values: u32,
    count: u64,
}

/// A block that a value leads to without having shown it.
#[derive(Clone, Copy)]
struct Doubt {
    block: Block,
    value: u64,
}

pub(super) struct Blocks {
    owned: Room<Owned>,
    by_start: Index,
    met: Room<Met>,
    perhaps: Room<Perhaps>,
    doubts: Room<Doubt>,
    late: Room<Late>,
    by_pair: Index,
}

impl Blocks {
    pub(super) const fn new() -> Self {
        Blocks {
            owned: Room::new(),
            by_start: Index::new(),
            met: Room::new(),
            perhaps: Room::new(),
            doubts: Room::new(),
            late: Room::new(),
            by_pair: Index::new(),
        }
    }

    /// The number of an owned block, and the value that owns it.
    pub(super) fn find(&self, block: Block) -> Option<(u32, u64)> {
        let found = self.by_start.find(block.start as u64, |index| {
            self.owned[index as usize].start == block.start
        })?;
        Some((found, self.owned[found as usize].value))
    }

    /// Gives a block nobody owns to a value: its number. `None` when there is no memory.
    pub(super) fn own(
        &mut self,
        block: Block,
        usable_bytes: usize,
        node: u32,
        value: u64,
    ) -> Option<u32> {
        let index = self.owned.push(Owned {
            start: block.start,
            bytes: block.bytes,
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

    /// Counts bytes of an owned block in which a value was seen.
    pub(super) fn used(&mut self, number: u32, bytes: usize) {
        if let Some(owned) = self.owned.get_mut(number as usize) {
            owned.used_bytes = owned.used_bytes.saturating_add(bytes);
        }
    }

    /// Counts a block that belongs to somebody else, once for each value that meets it.
    pub(super) fn met(&mut self, block: Block, node: u32, value: u64) -> Option<()> {
        let known = self.find(block);
        if let Some(owned) = known.and_then(|(number, _)| self.owned.get_mut(number as usize))
            && std::mem::replace(&mut owned.met_by, value) == value
        {
            return Some(());
        }
        let (start, bytes) = (block.start, block.bytes);
        self.met.push(Met { start, bytes, node })?;
        Some(())
    }

    /// Keeps a block until the end: it may be somebody's who shows it later.
    pub(super) fn perhaps(&mut self, perhaps: Perhaps) -> Option<()> {
        self.perhaps.push(perhaps).map(|_| ())
    }

    /// Keeps a block that a value leads to until the end: perhaps nobody shows it.
    pub(super) fn may_miss(&mut self, block: Block, value: u64) -> Option<()> {
        self.doubts.push(Doubt { block, value }).map(|_| ())
    }

    /// Values that lead to live blocks nobody owns, when everything is settled.
    pub(super) fn hidden_values(&self) -> u64 {
        let mut values = 0;
        let mut counted = 0;
        for doubt in self.doubts.iter() {
            // Those of a value come one after the other.
            if doubt.value != counted
                && self.find(doubt.block).is_none()
                && is_live(doubt.block.start, doubt.block.bytes)
            {
                counted = doubt.value;
                values += 1;
            }
        }
        values
    }

    /// Gives the blocks kept so far to those who named them, as far as nobody owns them.
    pub(super) fn settle(&mut self) -> Option<()> {
        for index in 0..self.perhaps.len() {
            let perhaps = self.perhaps[index];
            match self.find(perhaps.block) {
                None => {
                    let (block, usable) = (perhaps.block, perhaps.usable_bytes);
                    let number = self.own(block, usable, perhaps.node, perhaps.value)?;
                    self.used(number, perhaps.used_bytes);
                }
                Some((_, value)) if perhaps.is_certain && value != perhaps.value => {
                    self.met(perhaps.block, perhaps.node, perhaps.value)?;
                }
                Some(_) => {}
            }
        }
        Some(())
    }

    /// Counts a value of unknown size, of the node `values`, in a block of the node `owner`.
    pub(super) fn used_later(&mut self, owner: u32, values: u32) -> Option<()> {
        let pair = u64::from(owner) << 32 | u64::from(values);
        let known = self.by_pair.find(pair, |index| {
            let late = self.late[index as usize];
            (late.owner, late.values) == (owner, values)
        });
        if let Some(index) = known {
            self.late[index as usize].count += 1;
            return Some(());
        }
        let index = self.late.push(Late {
            owner,
            values,
            count: 1,
        })?;
        self.by_pair.add(pair, u32::try_from(index).ok()?)
    }

    /// Adds everything up in the nodes. What has been freed since was made for the measuring only and does not count.
    pub(super) fn sum(&self, nodes: &mut Nodes) {
        let add = |nodes: &mut Nodes, node: u32, add: &dyn Fn(&mut Node)| {
            if let Some(node) = nodes.all.get_mut(node as usize) {
                add(node);
            }
        };
        for owned in self.owned.iter() {
            if is_live(owned.start, owned.bytes) {
                add(nodes, owned.node, &|node| {
                    node.blocks += 1;
                    node.block_bytes += owned.bytes as u64;
                    node.usable_bytes += owned.usable_bytes as u64;
                    node.used_bytes += owned.used_bytes.min(owned.bytes) as u64;
                });
            }
        }
        for met in self.met.iter() {
            if is_live(met.start, met.bytes) {
                add(nodes, met.node, &|node| {
                    node.shared_blocks += 1;
                    node.shared_bytes += met.bytes as u64;
                });
            }
        }
        for late in self.late.iter() {
            let bytes = late.count * nodes.bytes_each(late.values) as u64;
            add(nodes, late.owner, &|node| {
                node.used_bytes = (node.used_bytes + bytes).min(node.block_bytes);
            });
        }
        for index in 0..nodes.all.len() {
            let each = nodes.bytes_each(index as u32) as u64;
            add(nodes, index as u32, &|node| {
                node.inline_bytes += node.unsized_count * each;
            });
        }
    }
}

fn is_live(start: usize, bytes: usize) -> bool {
    block_from(start).is_some_and(|block| block.bytes == bytes)
}
