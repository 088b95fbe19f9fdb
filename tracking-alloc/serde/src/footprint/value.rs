//! One value during the measurement: its location and the blocks that it owns.
//!
//! A block belongs to the value that first shows an address inside it. But a value that points to
//! exactly this address, and not to the start of the block, is a slice: something else owns the
//! block, such as the input of a decoder without copies.

use super::coverage::{Coverage, MOST_WORDS, WORD};
use super::nodes::Step;
use super::value_ref::{Ownership, ValueRef};
use super::walk::{Walk, leads_to};
use heapglass_recorder::blocks::{Block, words};
use std::cell::{Cell, RefCell};

/// The block that the value reached last.
#[derive(Clone, Copy, Default)]
pub(super) struct Recent {
    /// Its start, and the words in it that the value showed.
    pub(super) coverage: Coverage,
    end: usize,
    /// Its number, if the value owns it.
    owned: Option<u32>,
}

/// The location of a shown address.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Location {
    /// In the value's own memory, or before it in the same block, as in an arena.
    Inside,
    /// In a block. Contains the block's number if the value owns it.
    Block(Option<u32>),
    /// In no block known to the recording: static, on a stack, or allocated before the recording
    /// began.
    Elsewhere,
}

/// Values shown just before. Their distances give their size.
#[derive(Clone, Copy)]
pub(super) struct Neighbours {
    /// The address of the previous value at the same place, or 0 if there is none.
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
    /// `true` if the node is its own, and not that of the enclosing value.
    pub(super) has_node: bool,
    pub(super) id: u64,
    pub(super) start: usize,
    /// The size of the value in bytes, or 0 if it is not known.
    pub(super) bytes: usize,
    /// `true` if the value lies on the stack of the measurement.
    pub(super) is_temporary: bool,
    /// `true` if the value, or an enclosing one, does not own the memory to which it leads.
    pub(super) is_borrowed: Cell<bool>,
    /// `true` if the ownership is unknown.
    pub(super) is_unclear: Cell<bool>,
    pub(super) recent: Cell<Recent>,
    pub(super) extent: Cell<usize>,
    /// The words of it that were shown.
    pub(super) coverage: Cell<Coverage>,
    /// The number that it showed, with its size in bytes.
    pub(super) number: Cell<Option<(u64, usize)>>,
    /// A number of 8 bytes that it computed for serialization. One of its words may have the same
    /// value.
    pub(super) computed_number: Cell<u64>,
    /// `true` if it showed a variant, or nothing at all. Its memory may also contain data of a
    /// previous variant.
    pub(super) is_variant: Cell<bool>,
}

impl<'a> Value<'a> {
    /// Creates a value at a node.
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

    /// Uses the type information of a value at this place: of the value itself, or of the content
    /// of a newtype or an `Option`.
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

    /// Handles an address shown by this value: finds its location, and takes the block if nobody
    /// owns it yet.
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
            // A value of unknown size may reach to the end of its block.
            if self.bytes == 0 && self.start.wrapping_sub(block.start) < block.bytes {
                if address < self.start {
                    return Location::Inside;
                }
                self.cover(offset, least_bytes);
                let end = offset.saturating_add(least_bytes);
                self.extent.set(self.extent.get().max(end));
                return Location::Inside;
            }
            if address != block.start
                && !self.is_borrowed.get()
                && walk.blocks.find(block).is_none()
                && let Some(slice) = self.with_word(walk, address)
            {
                leads_to(walk, block, slice);
                return Location::Elsewhere;
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

    /// Returns the value that has this address as one of its words: this value, or the value around
    /// it if it is a wrapper that serde creates on the stack.
    fn with_word(&self, walk: &mut Walk, address: usize) -> Option<u64> {
        let mut values = std::iter::successors(Some(self), |value| value.outer);
        let value = values.find(|value| !value.is_temporary)?;
        // A value of unknown size may reach to the end of its block.
        let room = if value.bytes > 0 {
            value.bytes
        } else {
            let block = walk.block_at(value.start)?;
            block.start + block.bytes - value.start
        };
        // SAFETY: the value is borrowed, since it shows itself at this moment, and so is its block.
        let mut words = unsafe { words(value.start, room.min(MOST_WORDS * WORD)) };
        words.any(|word| word == address).then_some(value.id)
    }

    /// Notes that bytes of its own memory were shown.
    fn cover(&self, offset: usize, bytes: usize) {
        let mut coverage = self.coverage.get();
        coverage.add(offset, bytes);
        self.coverage.set(coverage);
    }

    /// Takes a block if nobody owns it. Returns its number if it belongs to this value.
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

    /// Returns `true` if this value or an enclosing one lies in a block.
    pub(super) fn holds(&self, block: Block) -> bool {
        std::iter::successors(Some(self), |value| value.outer)
            .any(|value| !value.is_temporary && value.start.wrapping_sub(block.start) < block.bytes)
    }

    /// Shows one thing inside this value, at a place inside the node `under`. Returns the thing as
    /// a value of its own.
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
                // The distance is noted even if the size is known, because a key's distance gives
                // the size of its value.
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

/// Returns `true` for types that serde's derive creates around a value.
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
