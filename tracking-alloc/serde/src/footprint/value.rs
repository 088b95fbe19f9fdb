//! One value while it is measured: where it lies, and what it owns.
//!
//! A block belongs to the value that first shows an address inside it.

use super::blocks::Blocks;
use super::mapped::MappedVec;
use super::nodes::{Nodes, Step};
use super::unfollowed::{Coverage, Lead, PendingValue, leads_to};
use super::value_ref::{Ownership, ValueRef};
use heapglass_recorder::blocks::{Block, Finder};
use std::cell::{Cell, RefCell};

/// Everything gathered so far.
pub(super) struct Walk {
    pub(super) finder: Finder,
    pub(super) nodes: Nodes,
    pub(super) blocks: Blocks,
    values: u64,
    /// Values whose size was not known when they were shown whole.
    unfinished: MappedVec<PendingValue>,
    /// The blocks to which their words lead.
    pub(super) leads: MappedVec<Lead>,
    /// Addresses below this are on the stack of the measuring, as far as they are above its present
    /// end.
    stack_end: usize,
    usable: Option<fn(usize) -> usize>,
    /// The system refused memory: the figures would be wrong.
    pub(super) failed: bool,
}

impl Walk {
    pub(super) fn new(
        nodes: Nodes,
        largest: usize,
        stack_end: usize,
        usable: Option<fn(usize) -> usize>,
    ) -> Self {
        Walk {
            finder: Finder::new(largest),
            nodes,
            blocks: Blocks::default(),
            values: 0,
            unfinished: MappedVec::default(),
            leads: MappedVec::default(),
            stack_end,
            usable,
            failed: false,
        }
    }

    /// Returns `true` if an address is on the stack of the measuring.
    #[inline(always)]
    pub(super) fn is_on_stack(&self, address: usize) -> bool {
        address < self.stack_end && self.is_above_stack_pointer(address)
    }

    /// NOTE: never inlined: in its caller's frame `local` might lie above what the caller asks
    /// about.
    #[inline(never)]
    fn is_above_stack_pointer(&self, address: usize) -> bool {
        let local = 0u8;
        address >= std::hint::black_box(std::ptr::from_ref(&local)) as usize
    }

    /// The block at an address, however large.
    pub(super) fn block_at(&mut self, address: usize) -> Option<Block> {
        const FIRST_PAGE: usize = 4096;
        if address < FIRST_PAGE {
            return None;
        }
        self.finder.block_at(address)
    }

    /// Returns the usable bytes of a block, as reported by the inner allocator; 0 = not reported.
    pub(super) fn usable_bytes(&self, block: Block) -> usize {
        self.usable.map_or(0, |usable| usable(block.start))
    }

    /// Keeps a block that a word of the value being finished leads to, if it has `least_bytes`.
    pub(super) fn lead(&mut self, block: Block, least_bytes: usize) {
        self.failed |= self.leads.push(Lead { block, least_bytes }).is_none();
    }

    /// Finishes a value of known size.
    fn finish_sized(&mut self, shown: &Value<'_>, bytes: usize) {
        let kept = self.leads.len();
        shown.gather(self, bytes, true).finish(self, bytes);
        self.leads.truncate(kept);
    }

    /// Finishes a value whose size was not known when it was shown: now, if it is known for certain
    /// by now.
    fn finish_unsized(&mut self, shown: &Value<'_>) {
        let start = shown.start;
        let Some(block) = self.finder.block_at(start) else {
            return;
        };
        let room = (block.start + block.bytes).saturating_sub(start);
        // In a table with gaps the next ones may tell that it is smaller, but nothing is smaller
        // than a pointer.
        match self.nodes.known_bytes(shown.node) {
            Some(bytes) if bytes <= size_of::<usize>() => self.finish_sized(shown, bytes.min(room)),
            _ => {
                let value = shown.gather(self, room, false);
                if value.leads_anywhere() {
                    self.failed |= self.unfinished.push(value).is_none();
                }
            }
        }
    }

    /// Everything was shown: the size of each value is known, or nothing tells it and the value may
    /// reach to the end of its block.
    pub(super) fn finish(&mut self) {
        for index in 0..self.unfinished.len() {
            let value = self.unfinished[index];
            let known = self.nodes.known_bytes(value.node);
            value.finish(self, known.unwrap_or(value.room).min(value.room));
        }
        self.blocks.sum(&mut self.nodes);
    }
}

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

    /// The value was shown whole: looks for what was not.
    pub(super) fn finish(&self, walk: &mut Walk) {
        if let Some(node) = walk.nodes.get_mut(self.node) {
            node.extent = node.extent.max(self.extent.get());
        }
        if self.is_unclear.get()
            && let Some(block) = walk.block_at(self.recent.get().coverage.start)
        {
            leads_to(walk, block, self.id);
        }
        if self.is_temporary || self.is_borrowed.get() {
            return;
        }
        if self.bytes > 0 {
            walk.finish_sized(self, self.bytes);
        } else if self.has_node {
            walk.finish_unsized(self);
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
