//! Reads the contents of a heap: edges, unused bytes, hashes and zero pages, out of one read of
//! each block. Only the blocks in which texts are looked for are read twice.
//!
//! The memory behind the length of a list is dead, and the length is in a header elsewhere. So a
//! block that needs its header is read after the block that holds the header: first all blocks that
//! need none, then those whose headers were found, and so on. Then the roots in the same way, those
//! that are least likely to be stale first. What remains are blocks whose header nothing holds.
//!
//! A length is known only if something proves it. The header of a value that is live does; three
//! neighbouring words of a stack do not, unless the elements agree with them ([`super::lengths`]).
//! If nothing proves the length, or two headers disagree, all words of the block count.

mod boxed;
mod headers;
mod scan;
mod weak;

use super::hash::Hash;
use super::heap::{Heap, RootKind};
use super::inputs::{self, Candidate, InInputs, LEAST_INPUT, LEAST_TEXT, MOST_TEXT, Texts};
use super::layout::{Form, Layouts, Source, View, Words};
use super::lengths::Trust;
use super::pages::{self, Pages};
use super::scc::NONE;
use super::slices::{self, Pointer, Sliced, Slices};
use super::{Memory, Stage, Step};
use crate::containers::{Fill, Header, bucket_bytes};
use crate::parallel::in_parts;
use boxed::MaySlice;
use headers::Said;
use rustc_hash::FxHashMap;
use scan::{Scan, Text};

/// The edge keeps nothing alive.
const REFERS: u32 = 1 << 31;
/// The last edge of its node.
const LAST: u32 = 1 << 30;
const TARGET: u32 = LAST - 1;

/// Blocks that lie close together are read at once. A larger block is read in windows of this size.
const WINDOW: u64 = 1 << 20;
/// Bytes between two blocks that are read with them: as many as one read more would cost.
const GAP: u64 = 512;
pub(super) const PAGE: u64 = 4096;
/// A table up to this size is read as a whole.
const MOST_TABLE: u64 = 8 << 20;
/// Nodes for which no other thread is worth starting.
const FEW: usize = 1024;
/// Blocks whose results wait to be merged.
const BATCH: usize = 1 << 20;
/// Bytes of such blocks: half as many may be results.
const BATCH_BYTES: u64 = 128 << 20;

const NOT_KNOWN: u64 = u64::MAX;

/// The contents of a heap.
#[derive(Debug)]
pub(super) struct Contents {
    /// For each block and root, the index of its first edge.
    starts: Vec<u32>,
    edges: Vec<u32>,
    /// Unused bytes, by block.
    unused: Vec<u64>,
    /// Hashes of contents without the blocks that they point to, until [`Contents::take_hashes`].
    hashes: Vec<u64>,
    /// Pages of zeros, by block.
    pub(super) zero_pages: Vec<(u32, u32)>,
    /// Tables, by block.
    pub(super) tables: Vec<Table>,
    pub(super) in_inputs: InInputs,
    /// Large blocks into which slices point, by block.
    pub(super) sliced: Vec<Sliced>,
    /// The lists and tables whose length is not known, one bit each.
    unknown_lengths: Vec<u64>,
    /// The blocks whose value was dropped and which `Weak` pointers keep, one bit each.
    dropped: Vec<u64>,
    /// The lists of records that hold other values than zeros, one bit each.
    records: Vec<u64>,
    pub(super) pages: Option<Pages>,
    pub(super) losses: Losses,
}

/// A table whose header was found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table {
    pub(super) block: u32,
    /// Its entries, or `u32::MAX` if there are more.
    pub(super) items: u32,
    /// Bytes of the entries.
    pub(super) item_bytes: u64,
}

/// The parts that could not be read or understood.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Losses {
    /// Blocks and roots whose memory could not be read, or only in part.
    pub unreadable: u64,
    /// Blocks of which two headers disagree. Their length is not known.
    pub ambiguous_headers: u64,
    /// Lists and tables whose length is not known. All their words count.
    pub unknown_lengths: u64,
    /// The bytes of these blocks.
    pub unknown_length_bytes: u64,
    /// Pointers beyond the four billion that can be kept.
    pub pointers: u64,
    /// Bytes of large texts that were not searched for the texts of other blocks: those beyond 1
    /// GiB, and those where too much looks alike.
    pub unsearched_bytes: u64,
}

impl Contents {
    /// Returns the targets of a node's pointers, in the order of their addresses, and whether each
    /// owns its target.
    pub(super) fn edges(&self, node: usize) -> impl Iterator<Item = (u32, bool)> {
        let mut position = self.starts[node];
        std::iter::from_fn(move || {
            let (target, owns, next) = self.edge(position)?;
            position = next;
            Some((target, owns))
        })
    }

    pub(super) fn first(&self, node: u32) -> u32 {
        self.starts[node as usize]
    }

    /// Returns the target of an edge, whether it is owned, and the position of the next edge.
    pub(super) fn edge(&self, position: u32) -> Option<(u32, bool, u32)> {
        let edge = *self.edges.get(position as usize)?;
        let next = if edge & LAST == 0 { position + 1 } else { NONE };
        Some((edge & TARGET, edge & REFERS == 0, next))
    }

    pub(super) fn unused(&self, block: usize) -> Option<u64> {
        Some(self.unused[block]).filter(|&bytes| bytes != NOT_KNOWN)
    }

    pub(super) fn has_unknown_length(&self, block: usize) -> bool {
        has_bit(&self.unknown_lengths, block)
    }

    pub(super) fn has_records(&self, block: usize) -> bool {
        has_bit(&self.records, block)
    }

    pub(super) fn is_dropped(&self, block: usize) -> bool {
        has_bit(&self.dropped, block)
    }

    /// Adds pointers that own nothing to a node: its edges move to the end.
    pub(super) fn refer(&mut self, node: usize, targets: &[u32]) {
        let start = self.edges.len();
        if start + targets.len() >= NONE as usize {
            self.losses.pointers += targets.len() as u64;
            return;
        }
        let mut position = self.starts[node];
        while let Some(&edge) = self.edges.get(position as usize) {
            self.edges.push(edge & !LAST);
            position = if edge & LAST == 0 { position + 1 } else { NONE };
        }
        let more = targets.iter().map(|target| target & TARGET | REFERS);
        self.edges.extend(more);
        if let Some(last) = self.edges[start..].last_mut() {
            *last |= LAST;
            self.starts[node] = start as u32;
        }
    }

    /// Forgets how much of a list is in use.
    pub(super) fn forget_length(&mut self, block: usize) {
        self.unused[block] = NOT_KNOWN;
        self.unknown_lengths[block / 64] |= 1 << (block % 64);
    }

    pub(super) fn take_hashes(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.hashes)
    }
}

struct Reader<'a> {
    heap: &'a Heap,
    memory: &'a dyn Memory,
    layouts: &'a dyn Layouts,
    progress: &'a (dyn Fn(Step) + Sync),
    read_blocks: u64,
    contents: Contents,
    /// The packed fill of each block by its header.
    fills: Vec<u64>,
    said: Vec<Said>,
    is_read: Vec<u64>,
    /// Sizes of elements that headers agreed on, by site.
    elements: FxHashMap<u32, u64>,
    /// Blocks whose header was found, or another one than that by which they were read.
    ready: Vec<u32>,
    /// Such blocks of which no pointer has told the type so far. They are read when nothing else
    /// is ready, because what they hold would have no type either.
    untyped: Vec<u32>,
    /// Such blocks whose values hold no pointers. They are read when all headers are known.
    plain: Vec<u32>,
    /// Pointers to lists in which less trust is than there may be in another one, as the index of
    /// their edge and the trust.
    weak: Vec<(u32, Trust)>,
    /// Lists, and what values beyond their length point to.
    beyond: Vec<(u32, u32)>,
    /// `None` if no block can be one in which texts lie.
    texts: Option<Texts>,
    slices: Slices,
    may_slice: Vec<MaySlice>,
}

/// The results of one thread.
#[derive(Default)]
struct Part {
    nodes: Vec<Node>,
    edges: Vec<u32>,
    /// Headers by the index of their edge.
    headers: Vec<(usize, Header)>,
    /// Notes of the layouts by the index of their edge.
    notes: Vec<(usize, u64)>,
    zero_pages: Vec<(u32, u32)>,
    tables: Vec<Table>,
    /// Starts of texts, their blocks, and large texts with their bytes.
    starts: Vec<u64>,
    texts: Vec<u32>,
    inputs: Vec<Candidate>,
    slices: Vec<Pointer>,
    /// The words behind pointers that may be lengths of slices, by the index of their edge.
    lengths: Vec<(usize, u64)>,
    /// The ranges that pointers of headers cover, by the index of their edge. They count if the
    /// header does not agree with its block.
    header_slices: Vec<(usize, Pointer)>,
    unreadable: u64,
    /// Lists, and what values beyond their length point to.
    beyond: Vec<(u32, u32)>,
    words: Words,
}

/// The results of one node.
struct Node {
    edges: u32,
    unused: u64,
    hash: u64,
    /// The trust in headers that it holds.
    trust: Trust,
    /// It is a list or table whose length is not known.
    has_unknown_length: bool,
    /// Its value was dropped, and `Weak` pointers keep it.
    is_dropped: bool,
    /// It is a list of records that holds other values than zeros.
    is_records: bool,
}

/// Reads all contents.
pub(super) fn read(
    heap: &Heap,
    memory: &dyn Memory,
    layouts: &dyn Layouts,
    progress: &(dyn Fn(Step) + Sync),
) -> Contents {
    let blocks = heap.len();
    let pages = pages::pages(heap, memory);
    let mut reader = Reader {
        heap,
        memory,
        layouts,
        progress,
        read_blocks: 0,
        contents: Contents {
            starts: vec![NONE; heap.nodes()],
            edges: Vec::new(),
            unused: vec![NOT_KNOWN; blocks],
            hashes: vec![0; blocks],
            zero_pages: Vec::new(),
            tables: Vec::new(),
            in_inputs: InInputs::default(),
            sliced: Vec::new(),
            unknown_lengths: vec![0; blocks.div_ceil(64)],
            dropped: vec![0; blocks.div_ceil(64)],
            records: vec![0; blocks.div_ceil(64)],
            pages,
            losses: Losses::default(),
        },
        fills: vec![NOT_KNOWN; blocks],
        said: vec![Said::default(); blocks],
        is_read: vec![0; blocks.div_ceil(64)],
        elements: FxHashMap::default(),
        ready: Vec::new(),
        untyped: Vec::new(),
        plain: Vec::new(),
        weak: Vec::new(),
        beyond: Vec::new(),
        texts: Texts::of(heap, layouts),
        slices: Slices::default(),
        may_slice: Vec::new(),
    };
    let needs = |block: &u32| layouts.needs_header(heap.site(*block as usize));
    let all = || (0..).take(blocks);
    reader.blocks(all().filter(|block| !needs(block)));
    reader.ready_blocks();
    let kinds = [
        &[RootKind::Segment, RootKind::ThreadLocals][..],
        &[RootKind::Stack],
        &[RootKind::DeadStack],
    ];
    for kinds in kinds {
        let roots = heap.roots().iter().enumerate();
        let roots = roots.filter(|(_, root)| kinds.contains(&root.kind));
        let roots: Vec<u32> = roots.map(|(index, _)| (blocks + index) as u32).collect();
        reader.nodes(&roots);
        reader.ready_blocks();
        if kinds != [RootKind::Segment, RootKind::ThreadLocals] {
            reader.untyped_blocks();
        }
    }
    // A value that is held in a way unknown leads to the headers of others.
    let whole = |block: &u32| layouts.is_whole(heap.site(*block as usize));
    let mut rest: Vec<u32> = all().filter(whole).collect();
    rest.retain(|&block| !reader.was_read(block as usize));
    reader.blocks(rest.into_iter());
    reader.ready_blocks();
    reader.untyped_blocks();
    reader.boxed_slices();
    let mut rest: Vec<u32> = all().collect();
    rest.retain(|&block| {
        !reader.was_read(block as usize) && !layouts.is_plain(heap, block as usize)
    });
    reader.blocks(rest.into_iter());
    reader.ready_blocks();
    reader.untyped_blocks();
    loop {
        let mut plain = std::mem::take(&mut reader.plain);
        plain.extend(all().filter(|&block| !reader.was_read(block as usize)));
        plain.sort_unstable();
        plain.dedup();
        if plain.is_empty() {
            break;
        }
        reader.blocks(plain.into_iter());
        // By the type that a pointer told, one may hold pointers after all.
        reader.ready_blocks();
    }
    reader.own_boxed_slices();
    reader.own_by_weak();
    reader.lower_weak();
    reader.keep_values_beyond();
    reader.count_lengths();
    reader.contents.edges.shrink_to_fit();
    reader.contents.zero_pages.sort_unstable();
    reader
        .contents
        .tables
        .sort_unstable_by_key(|table| table.block);
    reader.find_texts();
    let said = &reader.said;
    let has_list = |block: usize| said[block].trust != Trust::None;
    reader.contents.sliced = std::mem::take(&mut reader.slices).finish(has_list);
    reader.contents
}

impl Reader<'_> {
    fn was_read(&self, block: usize) -> bool {
        has_bit(&self.is_read, block)
    }

    /// Reads blocks whose header was found until there are no more.
    fn ready_blocks(&mut self) {
        while !self.ready.is_empty() {
            let mut ready = std::mem::take(&mut self.ready);
            ready.sort_unstable();
            ready.dedup();
            let (plain, ready): (Vec<u32>, Vec<u32>) = ready
                .into_iter()
                .partition(|&block| self.layouts.is_plain(self.heap, block as usize));
            self.plain.extend(plain);
            self.blocks(ready.into_iter());
        }
    }

    /// Reads blocks whose type no pointer has told, and what they lead to.
    fn untyped_blocks(&mut self) {
        loop {
            let mut untyped = std::mem::take(&mut self.untyped);
            untyped.retain(|&block| !self.was_read(block as usize));
            if untyped.is_empty() {
                break;
            }
            self.ready.extend(untyped);
            self.ready_blocks();
        }
    }

    /// Counts the lists whose length is not known.
    fn count_lengths(&mut self) {
        let losses = &mut self.contents.losses;
        for (block, said) in self.said.iter().enumerate() {
            losses.ambiguous_headers += u64::from(said.is_contradicted);
            if has_bit(&self.contents.unknown_lengths, block) {
                losses.unknown_lengths += 1;
                losses.unknown_length_bytes += self.heap.size(block);
            }
        }
    }

    /// Looks for texts in large blocks.
    fn find_texts(&mut self) {
        let Some(texts) = self.texts.take() else {
            return;
        };
        let hashes = &self.contents.hashes;
        let found = texts.find(self.heap, self.memory, |block| {
            hashes[block] ^ self.text_seed(block)
        });
        self.contents.losses.unsearched_bytes = found.unsearched_bytes;
        self.contents.in_inputs = found;
    }

    /// Returns what tells the hash of a text from that of an equal one of another type.
    fn text_seed(&self, block: usize) -> u64 {
        Hash::of(self.layouts.value_type_of(self.heap, block))
    }

    fn blocks(&mut self, mut blocks: impl Iterator<Item = u32>) {
        let mut batch = Vec::new();
        loop {
            batch.clear();
            let mut bytes = 0_u64;
            while batch.len() < BATCH && bytes < BATCH_BYTES {
                let Some(block) = blocks.next() else { break };
                bytes = bytes.saturating_add(self.heap.size(block as usize));
                batch.push(block);
            }
            if batch.is_empty() {
                break;
            }
            self.nodes(&batch);
            self.read_blocks += batch.len() as u64;
            (self.progress)(Step {
                stage: Stage::Contents,
                // Some are read once more, by another header.
                done: self.read_blocks.min(self.heap.len() as u64),
                total: self.heap.len() as u64,
            });
        }
    }

    /// Reads nodes on all cores, and takes in the results in their order.
    fn nodes(&mut self, nodes: &[u32]) {
        // Lists inside lists are rounds of one block each: even to count the cores takes longer.
        let parts = if nodes.len() < FEW {
            vec![self.part(nodes)]
        } else {
            in_parts(nodes.len(), |range| self.part(&nodes[range]))
        };
        self.elect(&parts);
        let each = |all: &mut Self, merge: &mut dyn FnMut(&mut Self, &[u32], &Part)| {
            let mut rest = nodes;
            for part in &parts {
                let (own, others) = rest.split_at(part.nodes.len());
                merge(all, own, part);
                rest = others;
            }
        };
        each(self, &mut Self::store);
        each(self, &mut Self::merge);
    }

    /// Keeps what the blocks say of themselves.
    fn store(&mut self, nodes: &[u32], part: &Part) {
        let blocks = nodes.iter().map(|&node| node as usize);
        let blocks = blocks.filter(|&node| node < self.heap.len());
        let again: Vec<u32> = blocks
            .filter(|&block| self.was_read(block))
            .map(|block| block as u32)
            .collect();
        if !again.is_empty() {
            let is_again = |block: &u32| again.binary_search(block).is_ok();
            self.contents
                .zero_pages
                .retain(|(block, _)| !is_again(block));
            self.contents.tables.retain(|table| !is_again(&table.block));
            self.beyond.retain(|(block, _)| !is_again(block));
            self.may_slice.retain(|slice| !is_again(&slice.holder));
        }
        for (&node, of) in nodes.iter().zip(&part.nodes) {
            let node = node as usize;
            if node < self.heap.len() {
                let (word, bit) = (node / 64, 1 << (node % 64));
                self.is_read[word] |= bit;
                self.contents.unknown_lengths[word] &= !bit;
                if of.has_unknown_length {
                    self.contents.unknown_lengths[word] |= bit;
                }
                let said = [
                    (&mut self.contents.dropped, of.is_dropped),
                    (&mut self.contents.records, of.is_records),
                ];
                for (bits, is_said) in said {
                    bits[word] &= !bit;
                    bits[word] |= if is_said { bit } else { 0 };
                }
                self.contents.unused[node] = of.unused;
                self.contents.hashes[node] = of.hash;
            }
        }
        self.contents.zero_pages.extend_from_slice(&part.zero_pages);
        self.contents.tables.extend_from_slice(&part.tables);
        self.beyond.extend_from_slice(&part.beyond);
        self.slices.add(self.heap, &part.slices);
        if let Some(texts) = &mut self.texts {
            texts.add(&part.starts, &part.texts, &part.inputs);
        }
        self.contents.losses.unreadable += part.unreadable;
    }

    /// Keeps the edges. Those of headers that do not agree own nothing.
    fn merge(&mut self, nodes: &[u32], part: &Part) {
        let mut headers = part.headers.iter().peekable();
        let mut notes = part.notes.iter().peekable();
        let mut lengths = part.lengths.iter().peekable();
        let mut first = 0;
        for (&node, of) in nodes.iter().zip(&part.nodes) {
            let edges = &part.edges[first..first + of.edges as usize];
            let start = self.contents.edges.len();
            let fits = start + edges.len() < NONE as usize;
            self.contents.starts[node as usize] = NONE;
            if fits && !edges.is_empty() {
                self.contents.starts[node as usize] = start as u32;
                self.contents.edges.extend_from_slice(edges);
            } else {
                self.contents.losses.pointers += edges.len() as u64;
            }
            let end = first + edges.len();
            while let Some(&(edge, note)) = notes.next_if(|note| note.0 < end) {
                let target = (part.edges[edge] & TARGET) as usize;
                let is_understood = self.layouts.held(self.source(node), target, note);
                // A header says more, if it agrees with the block.
                let has_header = part.headers.binary_search_by_key(&edge, |h| h.0).is_ok();
                if !is_understood || has_header || self.was_read(target) {
                    continue;
                }
                if self.heap.are_sizes_usable()
                    && let Some(bytes) = self.layouts.value_bytes(self.heap, target)
                {
                    self.heap.set_requested(target, Some(bytes));
                }
                if self.layouts.has_type(self.heap, target) {
                    self.ready.push(target as u32);
                } else {
                    self.untyped.push(target as u32);
                }
            }
            while let Some(&(edge, header)) = headers.next_if(|header| header.0 < end) {
                let target = (part.edges[edge] & TARGET) as usize;
                let owns = self.settle(target, header, of.trust);
                if owns && fits && of.trust != Trust::Live {
                    self.weak.push(((start + edge - first) as u32, of.trust));
                }
                if !owns {
                    let slices = &part.header_slices;
                    if let Ok(at) = slices.binary_search_by_key(&edge, |slice| slice.0) {
                        self.slices.add(self.heap, &[slices[at].1]);
                    } else if self.heap.size(target) >= slices::LEAST {
                        self.slices.other(target as u32);
                    }
                    if fits {
                        self.contents.edges[start + edge - first] |= REFERS;
                    }
                    // Words that belong to no header were taken for one.
                    if let Some(hash) = self.contents.hashes.get_mut(node as usize) {
                        *hash = Hash::of(u64::from(node));
                    }
                }
            }
            // On stacks are the slices that code works with.
            let is_stack = of.trust <= Trust::Stack;
            while let Some(&(edge, length)) = lengths.next_if(|length| length.0 < end) {
                let at = start + edge - first;
                let found = self.contents.edges.get(at).filter(|_| fits && !is_stack);
                let Some(&edge) = found.filter(|&edge| edge & REFERS != 0) else {
                    continue;
                };
                let block = edge & TARGET;
                let size = self.heap.size(block as usize);
                let fits = match self.element_bytes(block as usize) {
                    Some(bytes) => bytes
                        .checked_mul(length)
                        .is_some_and(|bytes| self.heap.holds(block as usize, bytes)),
                    None => !self.heap.are_sizes_usable() && size.is_multiple_of(length),
                };
                if fits {
                    let edge = at as u32;
                    self.may_slice.push(MaySlice {
                        block,
                        edge,
                        length,
                        holder: node,
                    });
                }
            }
            first = end;
        }
    }

    fn source(&self, node: u32) -> Source {
        match (node as usize).checked_sub(self.heap.len()) {
            None => Source::Block(node as usize),
            Some(root) => Source::Root(root),
        }
    }

    fn part(&self, nodes: &[u32]) -> Part {
        let mut part = Part::default();
        let mut buffer = Vec::new();
        let mut rest = nodes;
        while let Some((&node, others)) = rest.split_first() {
            if node as usize >= self.heap.len() {
                self.root(node as usize - self.heap.len(), &mut part);
                rest = others;
                continue;
            }
            let mut run = self.heap.range(node as usize);
            let mut count = 1;
            for &next in others {
                if next as usize >= self.heap.len() {
                    break;
                }
                let range = self.heap.range(next as usize);
                if range.start - run.end >= GAP || range.end - run.start > WINDOW {
                    break;
                }
                run.end = range.end;
                count += 1;
            }
            let (own, others) = rest.split_at(count);
            rest = others;
            if run.end - run.start > WINDOW {
                self.block(node as usize, None, &mut part);
                continue;
            }
            buffer.resize((run.end - run.start) as usize, 0);
            let is_read = self.memory.read(run.start, &mut buffer).is_ok();
            for &node in own {
                let range = self.heap.range(node as usize);
                let within = (range.start - run.start) as usize..(range.end - run.start) as usize;
                let bytes = is_read.then(|| &buffer[within]);
                self.block(node as usize, bytes, &mut part);
            }
        }
        part
    }

    /// Reads a block, whose bytes may have been read already.
    fn block(&self, block: usize, bytes: Option<&[u8]>, part: &mut Part) {
        let all = self.heap.range(block);
        let (packed, _) = self.chosen(block);
        // The full buckets of a table are many small ranges.
        let mut buffer = Vec::new();
        let mut bytes = bytes;
        if bytes.is_none()
            && matches!(Fill::unpacked(packed), Some(Fill::Table { .. }))
            && all.end - all.start <= MOST_TABLE
        {
            buffer.resize((all.end - all.start) as usize, 0);
            let is_read = self.memory.read(all.start, &mut buffer).is_ok();
            bytes = is_read.then_some(&buffer);
        }
        let element = self.element_bytes(block).unwrap_or(1);
        let form = self.layouts.form(self.heap, block);
        let (fill, trust) = self.fill_of(block, element, bytes, &mut part.beyond);
        let mut scan = Scan {
            reader: self,
            node: Source::Block(block),
            all: all.clone(),
            bytes,
            hash: Hash::new(self.layouts.value_type_of(self.heap, block)),
            zero_pages: 0,
            is_readable: true,
            is_dropped: false,
            is_zero: true,
            text: None,
            part,
        };
        let size = all.end - all.start;
        let used = fill.map_or([0..size, 0..0], |fill| fill.used(size, element));
        // A deque is no text.
        let text_bytes = match fill {
            None | Some(Fill::List { .. }) => used[0].end,
            Some(_) => 0,
        };
        let is_text = self.texts.is_some() && self.known_element(block) == Some(1);
        if is_text && (LEAST_TEXT..=MOST_TEXT).contains(&text_bytes) {
            scan.text = Some(Text {
                seed: self.text_seed(block),
                start: 0,
                hash: None,
            });
        }
        let edges = scan.part.edges.len();
        scan.part.words.unused_bytes = 0;
        let unused = match fill {
            Some(Fill::Table { buckets, control }) => {
                let bucket = bucket_bytes(self.known_element(block), buckets, control).unwrap_or(0);
                let full = scan.table(buckets, control, bucket);
                scan.part.tables.push(Table {
                    block: block as u32,
                    items: u32::try_from(full).unwrap_or(u32::MAX),
                    item_bytes: full * bucket,
                });
                Some((buckets - full) * bucket)
            }
            _ => {
                let mut left = size;
                for used in used {
                    left -= used.end - used.start;
                    scan.range(all.start + used.start..all.start + used.end);
                }
                fill.map(|_| left)
            }
        };
        let own = scan.part.words.unused_bytes.min(size);
        let mut hash = scan.hash.value();
        let (zero_pages, is_readable) = (scan.zero_pages, scan.is_readable);
        let (is_dropped, is_zero) = (scan.is_dropped, scan.is_zero);
        // A slice is full; how much of a list is in use without a header is not known.
        let is_known = fill.is_some() || form == Form::Whole;
        let has_unknown_length = fill.is_none() && form == Form::Listed;
        if let Some(text) = &scan.text
            && let Some(rolling) = text.hash
        {
            hash = rolling;
            if is_known && !inputs::begins_with_zeros(text.start, text_bytes) {
                scan.part.starts.push(text.start);
                scan.part.texts.push(block as u32);
            }
        }
        if is_text && size >= LEAST_INPUT && is_readable {
            let bytes = if is_known { text_bytes } else { size };
            if bytes >= LEAST_INPUT {
                part.inputs.push(Candidate {
                    block: block as u32,
                    bytes,
                    is_known,
                });
            }
        }
        if zero_pages > 0 {
            part.zero_pages.push((block as u32, zero_pages));
        }
        part.unreadable += u64::from(!is_readable);
        let unused = match unused {
            None if own == 0 => NOT_KNOWN,
            unused => (unused.unwrap_or(0) + own).min(size),
        };
        // What could not be read equals nothing, and neither does what may change or is gone.
        let hash = if is_readable && !is_dropped && !self.layouts.may_change(self.heap, block) {
            hash
        } else {
            Hash::of(all.start)
        };
        let has_records = is_known && text_bytes > 0 && is_readable && !is_zero;
        let is_records = has_records && self.layouts.holds_records(self.heap, block);
        part.finish(edges, |edges| Node {
            edges,
            unused,
            hash,
            trust,
            has_unknown_length,
            is_dropped,
            is_records,
        });
    }

    /// Returns what a pointer covers of a large block.
    fn slice(&self, view: &View<'_>, at: u64, word: u64, target: usize) -> Option<Pointer> {
        let is_stale = matches!(view.source, Source::Root(root)
            if self.heap.roots()[root].kind == RootKind::DeadStack);
        if self.heap.size(target) < slices::LEAST || is_stale {
            return None;
        }
        let is_outside = matches!(view.source, Source::Root(root)
            if self.heap.roots()[root].kind == RootKind::Stack);
        if is_outside {
            // It may be that of the owner, whose other words are in registers.
            return Some((target as u32, None));
        }
        let element = self.known_element(target)?;
        Some(slices::pointer(view, at, word, target, element))
    }

    fn root(&self, root: usize, part: &mut Part) {
        let all = self.heap.roots()[root].range.clone();
        let edges = part.edges.len();
        let mut scan = Scan {
            reader: self,
            node: Source::Root(root),
            all: all.clone(),
            bytes: None,
            hash: Hash::new(0),
            zero_pages: 0,
            is_readable: true,
            is_dropped: false,
            is_zero: true,
            text: None,
            part,
        };
        scan.range(all);
        let is_readable = scan.is_readable;
        part.unreadable += u64::from(!is_readable);
        part.finish(edges, |edges| Node {
            edges,
            unused: NOT_KNOWN,
            hash: 0,
            trust: match self.heap.roots()[root].kind {
                RootKind::Segment | RootKind::ThreadLocals => Trust::Live,
                RootKind::Stack | RootKind::DeadStack => Trust::Stack,
            },
            has_unknown_length: false,
            is_dropped: false,
            is_records: false,
        });
    }
}

impl Part {
    /// Adds a node, made from the number of its edges, which are those from `first` on.
    fn finish(&mut self, first: usize, node: impl FnOnce(u32) -> Node) {
        if let Some(last) = self.edges[first..].last_mut() {
            *last |= LAST;
        }
        self.nodes.push(node((self.edges.len() - first) as u32));
    }
}

fn has_bit(bits: &[u64], index: usize) -> bool {
    bits[index / 64] >> (index % 64) & 1 == 1
}

fn clear_bit(bits: &mut [u64], index: usize) {
    bits[index / 64] &= !(1 << (index % 64));
}

/// Sets a bit. Returns `true` if it was not set.
fn set_bit(bits: &mut [u64], index: usize) -> bool {
    let is_new = !has_bit(bits, index);
    bits[index / 64] |= 1 << (index % 64);
    is_new
}
