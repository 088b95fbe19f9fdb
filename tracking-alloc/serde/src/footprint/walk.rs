//! The data that the measurement of a value has gathered, and its evaluation at the end.

use super::blocks::Blocks;
use super::coverage::WORD;
use super::mapped::MappedVec;
use super::nodes::Nodes;
use heapglass_recorder::blocks::{Block, Finder};

/// All data gathered so far.
pub(super) struct Walk {
    pub(super) finder: Finder,
    pub(super) nodes: Nodes,
    pub(super) blocks: Blocks,
    pub(super) values: u64,
    /// Values whose size was not known when they had been shown completely.
    pub(super) unfinished: MappedVec<PendingValue>,
    /// The blocks to which their words lead.
    pub(super) leads: MappedVec<Lead>,
    /// Addresses below this are on the stack of the measurement, if they are above the current
    /// stack pointer.
    stack_end: usize,
    usable: Option<fn(usize) -> usize>,
    /// `true` if the system refused memory. The figures would be wrong.
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

    /// Returns `true` if an address is on the stack of the measurement.
    #[inline(always)]
    pub(super) fn is_on_stack(&self, address: usize) -> bool {
        address < self.stack_end && self.is_above_stack_pointer(address)
    }

    /// NOTE: never inlined, because in the caller's frame `local` might lie above the address in
    /// question.
    #[inline(never)]
    fn is_above_stack_pointer(&self, address: usize) -> bool {
        let local = 0u8;
        address >= std::hint::black_box(std::ptr::from_ref(&local)) as usize
    }

    /// Returns the block at an address, however large it is.
    pub(super) fn block_at(&mut self, address: usize) -> Option<Block> {
        const FIRST_PAGE: usize = 4096;
        if address < FIRST_PAGE {
            return None;
        }
        self.finder.block_at(address)
    }

    /// Returns the usable bytes of a block, as reported by the inner allocator, or 0 if it does not
    /// report them.
    pub(super) fn usable_bytes(&self, block: Block) -> usize {
        self.usable.map_or(0, |usable| usable(block.start))
    }

    /// Keeps a block to which a word of the value being finished leads. The value contains that
    /// word only if it has `least_bytes`.
    pub(super) fn lead(&mut self, block: Block, least_bytes: usize) {
        self.failed |= self.leads.push(Lead { block, least_bytes }).is_none();
    }

    /// Finishes the measurement when everything was shown. Now the size of each value is known, or
    /// it cannot be known, and the value may reach to the end of its block.
    pub(super) fn finish(&mut self) {
        for index in 0..self.unfinished.len() {
            let value = self.unfinished[index];
            let known = self.nodes.known_bytes(value.node);
            value.finish(self, known.unwrap_or(value.room).min(value.room));
        }
        self.blocks.sum(&mut self.nodes);
    }
}

/// The block whose address a value is, if the value has one word.
#[derive(Clone, Copy)]
pub(super) struct Pointee {
    pub(super) block: Block,
    /// `true` if the addresses that the value showed lie behind it.
    pub(super) is_behind: bool,
    /// Its usable bytes, as reported by the inner allocator, if `is_behind`. 0 if they are not
    /// reported.
    pub(super) usable_bytes: usize,
    /// `true` if it is too large to be read, and was not shown completely.
    pub(super) is_unread: bool,
}

/// A block to which a word leads.
#[derive(Clone, Copy)]
pub(super) struct Lead {
    pub(super) block: Block,
    /// The value contains the word only if it has at least this many bytes.
    pub(super) least_bytes: usize,
}

/// A value that was shown completely, and the blocks to which its memory led then. It is evaluated
/// when its size is known.
#[derive(Clone, Copy)]
pub(super) struct PendingValue {
    pub(super) id: u64,
    pub(super) node: u32,
    pub(super) number_bytes: usize,
    /// The maximum size of the value.
    pub(super) room: usize,
    /// The block whose address is the value's first word.
    pub(super) first: Option<Block>,
    pub(super) pointee: Option<Pointee>,
    /// Positions in the walk's list of leads: the leads of words of the pointee, followed by those
    /// of the value's own words.
    pub(super) leads: [usize; 3],
}

impl Pointee {
    /// Finishes a value that is the address of this block. Returns `true` if the block is proved to
    /// belong to this value or to another one.
    fn finish(&self, walk: &mut Walk, value: u64, node: u32) -> bool {
        let block = self.block;
        let done = match walk.blocks.find(block) {
            Some((_, owner)) if owner == value => Some(()),
            Some(_) => walk.blocks.share(block, node, value),
            None if self.is_behind => {
                let owned = walk.blocks.own(block, self.usable_bytes, node, value);
                owned.map(|number| walk.blocks.used(number, block.bytes))
            }
            None => {
                leads_to(walk, block, value);
                return false;
            }
        };
        walk.failed |= done.is_none();
        if self.is_unread {
            walk.failed |= walk.blocks.lead(block, value, true).is_none();
        }
        true
    }
}

impl PendingValue {
    /// Returns `true` if there is anything to evaluate.
    pub(super) fn leads_anywhere(&self) -> bool {
        let [begin, _, end] = self.leads;
        self.first.is_some() || self.pointee.is_some() || begin < end
    }

    /// Evaluates the value with this size.
    pub(super) fn finish(&self, walk: &mut Walk, bytes: usize) {
        if bytes > WORD
            && let Some(block) = self.first
        {
            leads_to(walk, block, self.id);
        }
        let [begin, middle, end] = self.leads;
        let leads = match self.pointee.filter(|_| bytes == WORD) {
            Some(pointee) if pointee.finish(walk, self.id, self.node) => begin..middle,
            Some(_) => return,
            None if bytes > self.number_bytes => middle..end,
            None => return,
        };
        for index in leads {
            let lead = walk.leads[index];
            if index < middle || lead.least_bytes <= bytes {
                leads_to(walk, lead.block, self.id);
            }
        }
    }
}

/// Keeps a block to which a value leads, if nobody owns it.
pub(super) fn leads_to(walk: &mut Walk, block: Block, value: u64) {
    if walk.blocks.find(block).is_none() {
        walk.failed |= walk.blocks.lead(block, value, false).is_none();
    }
}
