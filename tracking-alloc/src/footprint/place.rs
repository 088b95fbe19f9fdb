//! One value on its way through the measuring: where it lies, and what it owns.
//!
//! A block is credited to the value that first shows an address inside it. Some blocks show none: spare capacity without
//! a value in it, a boxed number, what `Arc` puts around a `Vec`. Those are looked for when the value was shown whole.

use super::blocks::Blocks;
use super::nodes::{Nodes, Step};
use super::unshown::{Shown, words};
use super::words::Seen;
use crate::shadow::{Block, Finder};
use std::cell::{Cell, RefCell};
use tracking_alloc_recording::scope_kind;

/// Everything gathered so far.
pub(super) struct Walk {
    pub(super) finder: Finder,
    pub(super) nodes: Nodes,
    pub(super) blocks: Blocks,
    values: u64,
    /// Addresses below this are on the stack of the measuring, as far as they are above its present end.
    stack_end: usize,
    usable: Option<fn(usize) -> usize>,
    /// Size of the value itself, once it is known.
    pub(super) own_bytes: u64,
    /// The system refused memory: nothing of this may be told.
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
            blocks: Blocks::new(),
            values: 0,
            stack_end,
            usable,
            own_bytes: 0,
            failed: false,
        }
    }

    /// Whether an address is on the stack of the measuring.
    #[inline(always)]
    pub(super) fn is_on_stack(&self, address: usize) -> bool {
        address < self.stack_end && self.is_above_here(address)
    }

    /// NOTE: never inlined: in its caller's frame `here` might lie above what the caller asks about.
    #[inline(never)]
    fn is_above_here(&self, address: usize) -> bool {
        let here = 0u8;
        address >= std::hint::black_box(std::ptr::from_ref(&here)) as usize
    }

    /// Looks at a value that is handed over.
    pub(super) fn look<V: ?Sized>(&self, value: &V) -> Seen {
        Seen::of(value, |address| self.is_on_stack(address))
    }

    /// What the inner allocator can give for a block; 0 = it does not tell.
    pub(super) fn usable_bytes(&self, block: Block, is_certain: bool) -> usize {
        match self.usable {
            Some(usable) if is_certain => usable(block.start),
            // Nobody vouches that the block stays while it is asked about.
            Some(_) => block.bytes,
            None => 0,
        }
    }

    pub(super) fn check(&mut self, done: Option<()>) {
        self.failed |= done.is_none();
    }
}

/// What a value showed of itself.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Nothing yet.
    Unknown,
    /// A sequence, map or string without anything in it.
    Empty,
    /// A number.
    Number(u64),
    /// What is in a container or a string.
    Contents,
    /// Only what it reads like: it wrote itself as text.
    Text,
    /// Fields or variants; or that there is nothing. Words between them mean nothing to us.
    Fields,
}

/// The block a value met last.
#[derive(Clone, Copy)]
pub(super) struct Recent {
    pub(super) start: usize,
    end: usize,
    /// Its number, when the value owns it.
    owned: Option<u32>,
}

/// Where something shown lies.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Where {
    /// In the value's own memory.
    Inside,
    /// In a block; its number, when the value owns it.
    Block(Option<u32>),
    /// Nowhere the recording knows of: static, on a stack, allocated before it began.
    Elsewhere,
}

pub(super) struct Value<'a> {
    outer: Option<&'a Value<'a>>,
    pub(super) node: u32,
    /// The node is its own, not that of the one around it.
    pub(super) has_node: bool,
    pub(super) number: u64,
    pub(super) type_name: &'static str,
    pub(super) start: usize,
    /// Its size, bytes; 0 = not known.
    pub(super) bytes: usize,
    /// It lies on the stack of the measuring.
    pub(super) is_temporary: bool,
    /// It, or one around it, is a reference.
    pub(super) is_borrowed: Cell<bool>,
    pub(super) may_be_table: bool,
    pub(super) shape: Cell<Shape>,
    pub(super) recent: Cell<Recent>,
    pub(super) extent: Cell<usize>,
    /// Which of its words were shown.
    pub(super) shown: Cell<Shown>,
    /// The same of the block it met last.
    pub(super) shown_in_block: Cell<Shown>,
    /// Size of the number it showed, bytes.
    pub(super) number_bytes: Cell<usize>,
    /// Its type says what its words lead to.
    pub(super) was_followed: Cell<bool>,
    /// A variant or nothing at all: what is beside that may be what was there before.
    pub(super) has_no_fields: Cell<bool>,
}

impl<'a> Value<'a> {
    /// A value at a node.
    pub(super) fn new(
        walk: &mut Walk,
        outer: Option<&'a Value<'a>>,
        node: u32,
        seen: Seen,
    ) -> Self {
        walk.values += 1;
        let bytes = seen.bytes.unwrap_or(0);
        let is_reference = seen.type_name.starts_with('&') && !seen.is_temporary;
        let value = Value {
            outer,
            node,
            has_node: true,
            number: walk.values,
            type_name: seen.type_name,
            start: seen.address,
            bytes,
            is_temporary: seen.is_temporary,
            is_borrowed: Cell::new(outer.is_some_and(|outer| outer.is_borrowed.get())),
            may_be_table: seen.type_name.contains("Hash") || seen.type_name.contains("Index"),
            shape: Cell::new(Shape::Unknown),
            recent: Cell::new(Recent {
                start: 0,
                end: 0,
                owned: None,
            }),
            extent: Cell::new(0),
            shown: Cell::new(Shown::nothing(seen.address)),
            shown_in_block: Cell::new(Shown::nothing(0)),
            number_bytes: Cell::new(0),
            was_followed: Cell::new(false),
            has_no_fields: Cell::new(false),
        };
        if is_reference || value.is_borrowed_cow(seen) {
            value.is_borrowed.set(true);
        }
        value
    }

    /// Whether a `Cow` of something growable is borrowed: a capacity that none can have says so.
    fn is_borrowed_cow(&self, seen: Seen) -> bool {
        seen.type_name.contains("alloc::borrow::Cow<")
            && self.bytes == 24
            && words(self.start, self.bytes).any(|word| word == 1 << 63)
    }

    /// Says what kind of value it is; the first to say something of its contents is believed, fields overrule all.
    pub(super) fn is_shaped(&self, shape: Shape) {
        let known = self.shape.get();
        if known == Shape::Unknown || shape == Shape::Fields {
            self.shape.set(shape);
        }
    }

    /// Something of this value is at an address: finds out where that is, and takes the block nobody owns yet.
    pub(super) fn meet(&self, walk: &mut Walk, address: usize, bytes: Option<usize>) -> Where {
        self.is_shaped(Shape::Contents);
        let offset = address.wrapping_sub(self.start);
        if offset < self.bytes {
            self.is_shaped(Shape::Fields);
            Shown::mark(&self.shown, offset, bytes.unwrap_or(1));
            return Where::Inside;
        }
        if bytes == Some(0) || walk.is_on_stack(address) {
            return Where::Elsewhere;
        }
        let recent = self.recent.get();
        let owned = if recent.start <= address && address < recent.end {
            recent.owned
        } else {
            let Some(block) = walk.finder.block_at(address) else {
                return Where::Elsewhere;
            };
            // A value of unknown size reaches as far as its block.
            if self.bytes == 0 && self.start.wrapping_sub(block.start) < block.bytes {
                self.is_shaped(Shape::Fields);
                Shown::mark(&self.shown, offset, bytes.unwrap_or(1));
                self.extent.set(
                    self.extent
                        .get()
                        .max(offset.wrapping_add(bytes.unwrap_or(1))),
                );
                return Where::Inside;
            }
            self.take(walk, block)
        };
        let start = self.recent.get().start;
        if self.shown_in_block.get().start != start {
            self.shown_in_block.set(Shown::nothing(start));
        }
        Shown::mark(
            &self.shown_in_block,
            address.wrapping_sub(start),
            bytes.unwrap_or(1),
        );
        if let Some(number) = owned {
            walk.blocks.used(number, bytes.unwrap_or(0));
        }
        Where::Block(owned)
    }

    /// Takes a block if nobody owns it: its number, when it is this value's.
    pub(super) fn take(&self, walk: &mut Walk, block: Block) -> Option<u32> {
        let owned = match walk.blocks.find(block) {
            Some((number, value)) if value == self.number => Some(number),
            Some((_, value)) => {
                if !self.is_inside(value, block) {
                    let done = walk.blocks.met(block, self.node, self.number);
                    walk.check(done);
                }
                None
            }
            None if self.is_borrowed.get() || self.holds(block) => {
                if !self.holds(block) {
                    let done = walk.blocks.met(block, self.node, self.number);
                    walk.check(done);
                }
                None
            }
            None => {
                let usable_bytes = walk.usable_bytes(block, true);
                let owned = walk.blocks.own(block, usable_bytes, self.node, self.number);
                walk.check(owned.map(|_| ()));
                owned
            }
        };
        self.recent.set(Recent {
            start: block.start,
            end: block.start + block.bytes,
            owned,
        });
        owned
    }

    /// Whether a block belongs to a value around this one, or holds one.
    fn is_inside(&self, value: u64, block: Block) -> bool {
        std::iter::successors(self.outer, |outer| outer.outer).any(|outer| outer.number == value)
            || self.holds(block)
    }

    /// Whether this value or one around it lies in a block.
    pub(super) fn holds(&self, block: Block) -> bool {
        std::iter::successors(Some(self), |value| value.outer)
            .any(|value| !value.is_temporary && value.start.wrapping_sub(block.start) < block.bytes)
    }

    /// Shows one thing inside this value, whose place is inside the node `under`: the thing as a value of its own.
    pub(super) fn inner<'b>(
        &'b self,
        walk: &mut Walk,
        under: u32,
        step: Step<'_>,
        seen: Seen,
        before: &Cell<usize>,
    ) -> Value<'b>
    where
        'a: 'b,
    {
        if [scope_kind::FIELD, scope_kind::INDEX, scope_kind::VARIANT].contains(&step.kind) {
            self.is_shaped(Shape::Fields);
        }
        let place = self.meet(walk, seen.address, seen.bytes);
        let name = if is_wrapper(seen.type_name) {
            ""
        } else {
            seen.type_name
        };
        let child = walk.nodes.child(under, step, name, seen.bytes);
        if let Some(index) = child {
            let near = seen.address.abs_diff(before.replace(seen.address));
            if let (Where::Block(Some(_)), None) = (place, seen.bytes) {
                let done = walk.blocks.used_later(self.node, index);
                walk.check(done);
            }
            if let Some(node) = walk.nodes.all.get_mut(index as usize) {
                node.count += 1;
                match (place, seen.bytes) {
                    (Where::Elsewhere, _) => {}
                    (_, Some(bytes)) => node.inline_bytes += bytes as u64,
                    (_, None) => {
                        node.unsized_count += 1;
                        let recent = self.recent.get();
                        let same_block = near < recent.end - recent.start;
                        if near > 0 && same_block && (node.step == 0 || near < node.step) {
                            node.step = near;
                        }
                    }
                }
            }
        }
        Value {
            has_node: child.is_some(),
            ..Value::new(walk, Some(self), child.unwrap_or(self.node), seen)
        }
    }
}

/// Types that serde's derive makes around a value.
fn is_wrapper(name: &str) -> bool {
    name.ends_with("::__SerializeWith")
        || name.contains("::__SerializeWith<")
        || name.contains("::__AdjacentlyTagged")
}

/// What serializers hand on.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    pub(super) walk: &'a RefCell<Walk>,
    pub(super) value: &'a Value<'a>,
}
