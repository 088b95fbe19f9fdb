//! One value while it is measured: where it lies, and what it owns.
//!
//! A block belongs to the value that first shows an address inside it.

use super::coverage::Coverage;
use super::nodes::Step;
use super::value_ref::{Ownership, ValueRef};
use super::walk::Walk;
use heapglass_recorder::blocks::Block;
use std::cell::{Cell, RefCell};

/// The block that a value met last.
#[derive(Clone, Copy, Default)]
pub(super) struct Recent {
    /// Its start, and the words of it that the value showed.
    pub(super) coverage: Coverage,
    end: usize,
    /// Its number, when the value owns it.
    owned: Option<u32>,
}

/// The location of a shown address.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Location {
    /// In the value's own memory, or before it in the same block: in an arena.
    Inside,
    /// In a block; its number, when the value owns it.
    Block(Option<u32>),
    /// In no block that the recording knows: static, on a stack, allocated before it began.
    Elsewhere,
}

/// Values shown just before: how far apart they lie tells their size.
#[derive(Clone, Copy)]
pub(super) struct Neighbours {
    /// Address of the one before at the same place; 0 = there is none.
    pub(super) before: usize,
    /// For a value in a map: the address and the node of its key.
    pub(super) key: Option<(usize, u32)>,
}

impl Neighbours {
    pub(super) fn after(before: usize) -> Self {
        Neighbours { before, key: None }
    }
}

#[derive(Default)]
pub(super) struct Value<'a> {
    outer: Option<&'a Value<'a>>,
    pub(super) node: u32,
    /// The node is its own, not that of the one around it.
    pub(super) has_node: bool,
    pub(super) id: u64,
    pub(super) start: usize,
    /// Its size, bytes; 0 = not known.
    pub(super) bytes: usize,
    /// It lies on the stack of the measuring.
    pub(super) is_temporary: bool,
    /// It, or one around it, does not own what it leads to.
    pub(super) is_borrowed: Cell<bool>,
    /// Nobody can tell whether it does.
    pub(super) is_unclear: Cell<bool>,
    pub(super) recent: Cell<Recent>,
    pub(super) extent: Cell<usize>,
    /// The words of it that were shown.
    pub(super) coverage: Cell<Coverage>,
    /// The number that it showed, and how many bytes that has.
    pub(super) number: Cell<Option<(u64, usize)>>,
    /// A number of 8 bytes that it computed to be serialized: one of its words may be the same.
    pub(super) computed_number: Cell<u64>,
    /// A variant, or nothing at all: what lies beside may be what was there before.
    pub(super) is_variant: Cell<bool>,
}

impl<'a> Value<'a> {
    /// A value at a node.
    pub(super) fn new(
        walk: &mut Walk,
        outer: Option<&'a Value<'a>>,
        node: u32,
        item: ValueRef,
    ) -> Self {
        walk.values += 1;
        let value = Value {
            outer,
            node,
            has_node: true,
            id: walk.values,
            start: item.address,
            bytes: item.bytes.unwrap_or(0),
            is_temporary: item.is_temporary,
            is_borrowed: Cell::new(outer.is_some_and(|outer| outer.is_borrowed.get())),
            coverage: Cell::new(Coverage::none(item.address)),
            ..Value::default()
        };
        value.learn(walk, item);
        value
    }

    /// What is known of a value at this place by its type: of this one, of what is in a newtype or
    /// in an `Option`.
    pub(super) fn learn(&self, walk: &mut Walk, item: ValueRef) {
        if item.ownership != Ownership::Owned {
            self.is_borrowed.set(true);
        }
        if item.ownership == Ownership::Unclear {
            self.is_unclear.set(true);
        }
        if let Some((address, bytes)) = item.buffer
            && bytes > 0
            && !self.is_borrowed.get()
            && !item.is_temporary
            && let Some(block) = walk.finder.block_at(address)
        {
            self.take(walk, block);
        }
    }

    /// Something of this value is at an address: finds out where that is, and takes the block
    /// nobody owns yet.
    pub(super) fn meet(&self, walk: &mut Walk, address: usize, bytes: Option<usize>) -> Location {
        let offset = address.wrapping_sub(self.start);
        let least_bytes = bytes.unwrap_or(1);
        if offset < self.bytes {
            self.cover(offset, least_bytes);
            return Location::Inside;
        }
        if bytes == Some(0) || walk.is_on_stack(address) {
            return Location::Elsewhere;
        }
        let recent = self.recent.get();
        let owned = if recent.coverage.start <= address && address < recent.end {
            recent.owned
        } else {
            let Some(block) = walk.finder.block_at(address) else {
                return Location::Elsewhere;
            };
            // A value of unknown size reaches as far as its block.
            if self.bytes == 0 && self.start.wrapping_sub(block.start) < block.bytes {
                if address < self.start {
                    return Location::Inside;
                }
                self.cover(offset, least_bytes);
                let end = offset.saturating_add(least_bytes);
                self.extent.set(self.extent.get().max(end));
                return Location::Inside;
            }
            self.take(walk, block)
        };
        let mut recent = self.recent.get();
        let offset = address.wrapping_sub(recent.coverage.start);
        recent.coverage.add(offset, least_bytes);
        self.recent.set(recent);
        if let Some(number) = owned {
            walk.blocks.used(number, bytes.unwrap_or(0));
        }
        Location::Block(owned)
    }

    /// Bytes of its own memory were shown.
    fn cover(&self, offset: usize, bytes: usize) {
        let mut coverage = self.coverage.get();
        coverage.add(offset, bytes);
        self.coverage.set(coverage);
    }

    /// Takes a block if nobody owns it: its number, when it is this value's.
    pub(super) fn take(&self, walk: &mut Walk, block: Block) -> Option<u32> {
        let owned = match walk.blocks.find(block) {
            Some((number, value)) if value == self.id => Some(number),
            Some((_, value)) if self.is_inside(value) => None,
            None if !self.is_borrowed.get() && !self.holds(block) => {
                let usable_bytes = walk.usable_bytes(block);
                let owned = walk.blocks.own(block, usable_bytes, self.node, self.id);
                walk.failed |= owned.is_none();
                owned
            }
            _ => {
                if !self.holds(block) {
                    walk.failed |= walk.blocks.share(block, self.node, self.id).is_none();
                }
                None
            }
        };
        self.recent.set(Recent {
            coverage: self.coverage_of(block),
            end: block.start + block.bytes,
            owned,
        });
        owned
    }

    /// Returns the shown words of a block, if it is the last block that the value led to.
    pub(super) fn coverage_of(&self, block: Block) -> Coverage {
        match self.recent.get().coverage {
            coverage if coverage.start == block.start => coverage,
            _ => Coverage::none(block.start),
        }
    }

    /// Returns `true` if this value lies inside another one.
    fn is_inside(&self, id: u64) -> bool {
        std::iter::successors(self.outer, |outer| outer.outer).any(|outer| outer.id == id)
    }

    /// Returns `true` if this value or one around it lies in a block.
    pub(super) fn holds(&self, block: Block) -> bool {
        std::iter::successors(Some(self), |value| value.outer)
            .any(|value| !value.is_temporary && value.start.wrapping_sub(block.start) < block.bytes)
    }

    /// Shows one thing inside this value, whose place is inside the node `under`: the thing as a
    /// value of its own.
    pub(super) fn inner<'b>(
        &'b self,
        walk: &mut Walk,
        under: u32,
        step: Step<'_>,
        item: ValueRef,
        neighbours: Neighbours,
    ) -> Value<'b>
    where
        'a: 'b,
    {
        let location = self.meet(walk, item.address, item.bytes);
        let name = if is_wrapper(item.type_name) {
            ""
        } else {
            item.type_name
        };
        let of_type = item.bytes.filter(|_| item.is_sized);
        let child = walk.nodes.child(under, step, name, of_type);
        if let Some(index) = child {
            if let (Location::Block(Some(_)), None) = (location, item.bytes) {
                walk.failed |= walk.blocks.used_later(self.node, index).is_none();
            }
            let recent = self.recent.get();
            let block_bytes = recent.end - recent.coverage.start;
            walk.nodes.link(index, neighbours.key);
            if let Some(node) = walk.nodes.get_mut(index) {
                node.figures.count += 1;
                match (location, item.bytes) {
                    (Location::Elsewhere, _) => {}
                    (_, Some(bytes)) => node.figures.inline_bytes += bytes as u64,
                    (_, None) => node.unsized_count += 1,
                }
                // Also where the size is known: a key's tells that of its value.
                let near = item.address.abs_diff(neighbours.before);
                let is_near =
                    matches!(location, Location::Block(_)) && (1..block_bytes).contains(&near);
                if is_near && (node.step == 0 || near < node.step) {
                    node.step = near;
                }
                if let Some((key, _)) = neighbours.key {
                    let offset = item.address.wrapping_sub(key).cast_signed();
                    if node.key_offset == 0 || offset.abs() < node.key_offset.abs() {
                        node.key_offset = offset;
                    }
                }
            }
        }
        Value {
            has_node: child.is_some(),
            ..Value::new(walk, Some(self), child.unwrap_or(self.node), item)
        }
    }
}

/// Types that serde's derive makes around a value.
fn is_wrapper(name: &str) -> bool {
    name.ends_with("::__SerializeWith")
        || name.contains("::__SerializeWith<")
        || name.contains("::__AdjacentlyTagged")
}

/// The state that serializers pass on.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    pub(super) walk: &'a RefCell<Walk>,
    pub(super) value: &'a Value<'a>,
}
