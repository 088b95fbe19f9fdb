//! Holders of blocks: reachability, and retained bytes by dominators.

use super::dominators::dominators;
use super::heap::{Heap, RootKind};
use super::read::Contents;
use super::scc::{Edges, NONE, components};

/// The block has several holders.
const MANY: u32 = NONE - 1;

/// Cycles that are kept, those with the most bytes.
const MOST_CYCLES: usize = 1000;

/// The way in which a block is reached at the moment of the snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reach {
    /// From a root, through pointers that own.
    Owned,
    /// Only through pointers that refer, or from a stack. It is alive; its owner was not seen.
    Referred,
    /// Not at all. Its pointer may be hidden, or be in a register for a moment: see
    /// [`Analysis::unreachable_since`](super::Analysis::unreachable_since).
    NotReached,
}

/// The innermost holder through which every owning path to a block leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Holder {
    /// A block: without it, this one would be freed.
    Block(usize),
    /// A root, by its number.
    Root(usize),
    /// Several roots or holders without a common one.
    Several,
    /// Pointers that own nothing.
    NotKnown,
    /// Nothing reaches the block, and no block owns it other than in a cycle.
    Nothing,
}

/// Blocks that nothing reaches and that all reach each other.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cycle {
    /// The first of the blocks.
    pub first: usize,
    /// Their number.
    pub blocks: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Cycles of blocks that nothing reaches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cycles {
    /// Their number.
    pub count: u64,
    /// Blocks in them.
    pub blocks: u64,
    /// Bytes of these blocks.
    pub bytes: u64,
    /// The cycles with most bytes, up to 1,000.
    pub largest: Vec<Cycle>,
    /// The blocks in all cycles, sorted.
    members: Vec<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Owned,
    Referred,
    NotReached,
    /// Not looked at yet.
    Open,
}

/// Holders, by block.
#[derive(Debug)]
pub(super) struct Holders {
    blocks: usize,
    roots: usize,
    class: Vec<Class>,
    /// Immediate dominators of all nodes.
    holder: Vec<u32>,
    /// Retained bytes of all nodes.
    retained: Vec<u64>,
    pub(super) cycles: Cycles,
}

/// All owning edges between blocks.
pub(super) struct OwnedEdges<'a> {
    pub(super) contents: &'a Contents,
}

impl Edges for OwnedEdges<'_> {
    fn first(&self, node: u32) -> u32 {
        self.contents.first(node)
    }

    fn next(&self, _: u32, position: u32) -> Option<(Option<u32>, u32)> {
        let (target, owns, next) = self.contents.edge(position)?;
        Some((owns.then_some(target), next))
    }
}

/// The owning edges between open blocks of a set.
struct OpenEdges<'a> {
    contents: &'a Contents,
    set: &'a Bits,
}

impl Edges for OpenEdges<'_> {
    fn first(&self, node: u32) -> u32 {
        self.contents.first(node)
    }

    fn next(&self, _: u32, position: u32) -> Option<(Option<u32>, u32)> {
        let (target, owns, next) = self.contents.edge(position)?;
        Some(((owns && self.set.has(target)).then_some(target), next))
    }
}

struct Bits(Vec<u64>);

impl Bits {
    fn new(count: usize) -> Bits {
        Bits(vec![0; count.div_ceil(64)])
    }

    fn has(&self, number: u32) -> bool {
        self.0[number as usize / 64] >> (number % 64) & 1 == 1
    }

    /// Returns `true` if the number was not in the set.
    fn add(&mut self, number: u32) -> bool {
        let is_new = !self.has(number);
        self.0[number as usize / 64] |= 1 << (number % 64);
        is_new
    }
}

/// Finds the holders of all blocks.
pub(super) fn holders(heap: &Heap, contents: &Contents) -> Holders {
    let mut builder = Builder {
        heap,
        contents,
        blocks: heap.len() as u32,
        class: vec![Class::Open; heap.len()],
        holder: vec![NONE; heap.nodes() + 3],
        open: Vec::new(),
        entries: Vec::new(),
        cycles: Cycles::default(),
    };
    builder.owned();
    builder.referred();
    builder.not_reached();
    builder.dominators();
    let retained = builder.retained();
    Holders {
        blocks: heap.len(),
        roots: heap.roots().len(),
        class: builder.class,
        holder: builder.holder,
        retained,
        cycles: builder.cycles,
    }
}

impl Holders {
    pub(super) fn reach(&self, block: usize) -> Reach {
        match self.class[block] {
            Class::Owned => Reach::Owned,
            Class::Referred => Reach::Referred,
            Class::NotReached | Class::Open => Reach::NotReached,
        }
    }

    pub(super) fn holder(&self, block: usize) -> Holder {
        let holder = self.holder[block] as usize;
        let after = holder.wrapping_sub(self.blocks);
        if holder < self.blocks {
            Holder::Block(holder)
        } else if after < self.roots {
            Holder::Root(after)
        } else if after == self.roots {
            Holder::NotKnown
        } else if after == self.roots + 1 {
            Holder::Nothing
        } else {
            Holder::Several
        }
    }

    pub(super) fn retained(&self, block: usize) -> u64 {
        self.retained[block]
    }

    pub(super) fn retained_by_root(&self, root: usize) -> u64 {
        self.retained[self.blocks + root]
    }
}

struct Builder<'a> {
    heap: &'a Heap,
    contents: &'a Contents,
    blocks: u32,
    class: Vec<Class>,
    /// The only holder of each node, then its immediate dominator. Behind the blocks are the
    /// roots, and behind the roots three more: unknown owners, nothing, and the holder of all.
    holder: Vec<u32>,
    open: Vec<u32>,
    /// Edges to blocks that no known owner holds.
    entries: Vec<(u32, u32)>,
    cycles: Cycles,
}

impl Builder<'_> {
    fn not_known(&self) -> u32 {
        self.heap.nodes() as u32
    }

    fn nothing(&self) -> u32 {
        self.heap.nodes() as u32 + 1
    }

    fn top(&self) -> u32 {
        self.heap.nodes() as u32 + 2
    }

    fn roots(&self) -> impl Iterator<Item = u32> + use<> {
        self.blocks..self.heap.nodes() as u32
    }

    fn visit(&mut self, from: u32, to: u32, class: Class) {
        let at = to as usize;
        if self.class[at] == Class::Open {
            self.class[at] = class;
            self.holder[at] = from;
            self.open.push(to);
        } else if self.class[at] == class && self.holder[at] != from && from != to {
            self.holder[at] = MANY;
        }
    }

    /// Visits all that visited blocks own. A block of a class that was visited before is not held
    /// by one of this class.
    fn visit_owned(&mut self, class: Class) {
        while let Some(block) = self.open.pop() {
            for (target, owns) in self.contents.edges(block as usize) {
                if owns {
                    self.visit(block, target, class);
                }
            }
        }
    }

    fn owned(&mut self) {
        for root in self.roots() {
            for (target, owns) in self.contents.edges(root as usize) {
                if owns {
                    self.visit(root, target, Class::Owned);
                }
            }
            self.visit_owned(Class::Owned);
        }
    }

    /// Finds blocks that are reached, but by no owner. Those that no other one of them owns are the
    /// entries.
    fn referred(&mut self) {
        let mut set = Bits::new(self.class.len());
        let mut open = Vec::new();
        let reached = (0..self.blocks).filter(|&at| self.class[at as usize] == Class::Owned);
        for node in self.roots().chain(reached) {
            open.push(node);
            while let Some(node) = open.pop() {
                for (target, _) in self.contents.edges(node as usize) {
                    if self.class[target as usize] == Class::Open && set.add(target) {
                        open.push(target);
                    }
                }
            }
        }
        let heads = self.heads(&set, false);
        if heads.is_empty() {
            return;
        }
        let mut is_head = Bits::new(self.class.len());
        for &(_, head) in &heads {
            is_head.add(head);
        }
        drop(heads);
        for node in 0..self.heap.nodes() as u32 {
            let is_block = node < self.blocks;
            if is_block && self.class[node as usize] == Class::Open && !set.has(node) {
                continue;
            }
            // A stack is named, if nothing else holds a block; a stale part of it is not.
            let index = node.wrapping_sub(self.blocks) as usize;
            let roots = self.heap.roots();
            let is_named = !is_block && roots[index].kind != RootKind::DeadStack;
            let from = if is_named { node } else { self.not_known() };
            for (target, owns) in self.contents.edges(node as usize) {
                if !owns && target != node && is_head.has(target) {
                    self.entries.push((from, target));
                }
            }
        }
        self.entries.sort_unstable();
        self.entries.dedup();
        self.visit_entries(0, Class::Referred);
    }

    fn not_reached(&mut self) {
        let mut set = Bits::new(self.class.len());
        for block in 0..self.blocks {
            if self.class[block as usize] == Class::Open {
                set.add(block);
            }
        }
        let from = self.nothing();
        let first = self.entries.len();
        let heads = self.heads(&set, true);
        // The first of each component.
        let mut last = NONE;
        for (component, head) in heads {
            if component != last {
                self.entries.push((from, head));
            }
            last = component;
        }
        self.visit_entries(first, Class::NotReached);
    }

    fn visit_entries(&mut self, first: usize, class: Class) {
        for at in first..self.entries.len() {
            let (from, to) = self.entries[at];
            self.visit(from, to, class);
        }
        self.visit_owned(class);
    }

    /// Returns the components of a set that no other block of the set owns: the numbers of the
    /// components with their blocks, sorted.
    fn heads(&mut self, set: &Bits, with_cycles: bool) -> Vec<(u32, u32)> {
        let members = || (0..self.blocks).filter(|&block| set.has(block));
        if members().next().is_none() {
            return Vec::new();
        }
        let mut component = vec![NONE; self.class.len()];
        let mut count = 0;
        let mut cycles = Cycles::default();
        let edges = OpenEdges {
            contents: self.contents,
            set,
        };
        components(self.class.len(), members(), &edges, |all, is_cycle| {
            all.iter().for_each(|&at| component[at as usize] = count);
            count += 1;
            if is_cycle && with_cycles {
                cycles.add(self.heap, all);
            }
        });
        let mut is_owned = Bits::new(count as usize);
        for block in members() {
            for (target, owns) in self.contents.edges(block as usize) {
                let (own, other) = (component[block as usize], component[target as usize]);
                if owns && other != NONE && own != other {
                    is_owned.add(other);
                }
            }
        }
        let mut heads: Vec<(u32, u32)> = members()
            .map(|block| (component[block as usize], block))
            .filter(|&(of, _)| !is_owned.has(of))
            .collect();
        drop(component);
        heads.sort_unstable();
        cycles.finish();
        self.cycles = cycles;
        heads
    }

    /// Returns `true` if an owning edge between nodes counts: its ends are reached in one way.
    fn counts(&self, from: u32, to: u32) -> bool {
        let own = self.class.get(from as usize).copied();
        from != to && own.unwrap_or(Class::Owned) == self.class[to as usize]
    }

    /// Replaces `MANY` by the immediate dominator.
    ///
    /// The only holder of a block is its dominator. The others need a search, but not among all
    /// blocks: only blocks through which a way leads to one with several holders can matter.
    fn dominators(&mut self) {
        let top = self.top();
        for node in self.blocks..=top {
            self.holder[node as usize] = top;
        }
        let mut core = Bits::new(self.holder.len());
        for node in 0..=top {
            if node >= self.blocks || self.holder[node as usize] == MANY {
                core.add(node);
            }
        }
        for from in 0..self.heap.nodes() as u32 {
            let mut targets = self.contents.edges(from as usize);
            let leads = targets.any(|(to, owns)| {
                owns && self.holder[to as usize] == MANY && self.counts(from, to)
            });
            let mut at = from;
            while leads && core.add(at) {
                at = self.holder[at as usize];
            }
        }
        self.entries.sort_unstable();

        // Nodes in the order of a depth-first search.
        let mut number = vec![NONE; self.holder.len()];
        let (mut order, mut parent) = (Vec::new(), Vec::new());
        let mut open = vec![(top, 0)];
        while let Some((node, from)) = open.pop() {
            if number[node as usize] != NONE {
                continue;
            }
            let own = order.len() as u32;
            number[node as usize] = own;
            order.push(node);
            parent.push(from);
            self.successors(node, &core, |to| {
                if number[to as usize] == NONE {
                    open.push((to, own));
                }
            });
        }
        drop(open);
        let mut first = vec![0_u32; order.len() + 1];
        for &node in &order {
            self.successors(node, &core, |to| first[number[to as usize] as usize] += 1);
        }
        let mut sum = 0;
        for at in &mut first {
            sum += *at;
            *at = sum;
        }
        let mut predecessors = vec![0; sum as usize];
        for (own, &node) in (0..).zip(&order) {
            self.successors(node, &core, |to| {
                let at = &mut first[number[to as usize] as usize];
                *at -= 1;
                predecessors[*at as usize] = own;
            });
        }
        drop(number);
        let idom = dominators(&parent, &first, &predecessors);
        for (&node, &dominator) in order.iter().zip(&idom) {
            self.holder[node as usize] = order[dominator as usize];
        }
    }

    /// Gives the nodes of the core that a node of it holds.
    fn successors(&self, node: u32, core: &Bits, mut each: impl FnMut(u32)) {
        if node == self.top() {
            return (self.blocks..node).for_each(each);
        }
        if node < self.heap.nodes() as u32 {
            for (to, owns) in self.contents.edges(node as usize) {
                if owns && core.has(to) && self.counts(node, to) {
                    each(to);
                }
            }
        }
        let first = self.entries.partition_point(|entry| entry.0 < node);
        let own = self.entries[first..].iter();
        for &(_, to) in own.take_while(|entry| entry.0 == node) {
            if core.has(to) {
                each(to);
            }
        }
    }

    /// Returns the bytes that each node retains: its own, and those of all that it dominates.
    fn retained(&self) -> Vec<u64> {
        let nodes = self.holder.len();
        let mut retained: Vec<u64> = (0..self.heap.len()).map(|at| self.heap.size(at)).collect();
        retained.resize(nodes, 0);
        let top = self.top() as usize;
        let mut left = vec![0_u32; nodes];
        for node in 0..top {
            left[self.holder[node] as usize] += 1;
        }
        for leaf in 0..top {
            let mut node = leaf;
            while node != top && left[node] == 0 {
                left[node] = NONE;
                let holder = self.holder[node] as usize;
                retained[holder] = retained[holder].saturating_add(retained[node]);
                left[holder] -= 1;
                node = holder;
            }
        }
        retained
    }
}

impl Cycles {
    fn add(&mut self, heap: &Heap, members: &[u32]) {
        let bytes = members.iter().map(|&at| heap.size(at as usize));
        let bytes = bytes.fold(0_u64, u64::saturating_add);
        self.count += 1;
        self.blocks += members.len() as u64;
        self.bytes = self.bytes.saturating_add(bytes);
        let first = members.iter().min().map_or(0, |&first| first as usize);
        self.members.extend_from_slice(members);
        self.largest.push(Cycle {
            first,
            blocks: members.len() as u64,
            bytes,
        });
        if self.largest.len() >= 64 * MOST_CYCLES {
            self.cut();
        }
    }

    /// Returns `true` if a block is part of a cycle.
    pub(super) fn has(&self, block: usize) -> bool {
        let is_there = |block| self.members.binary_search(&block).is_ok();
        u32::try_from(block).is_ok_and(is_there)
    }

    fn finish(&mut self) {
        self.members.sort_unstable();
        self.cut();
    }

    fn cut(&mut self) {
        let key = |cycle: &Cycle| (std::cmp::Reverse(cycle.bytes), cycle.first);
        self.largest.sort_unstable_by_key(key);
        self.largest.truncate(MOST_CYCLES);
    }
}
