//! Reads the contents of a heap: edges, unused bytes, hashes and zero pages, out of one read of
//! each block. Only the blocks in which texts are looked for are read twice.
//!
//! The memory behind the length of a list is dead, and the length is in a header elsewhere. So a
//! block that needs its header is read after the block that holds the header: first all blocks that
//! need none, then those whose headers were found, and so on. Then the roots in the same way, those
//! that are least likely to be stale first. What remains are blocks whose header nothing holds.

use super::hash::{Hash, Rolling};
use super::heap::{Heap, RootKind};
use super::inputs::{self, InInputs, LEAST_INPUT, LEAST_TEXT, MOST_TEXT, Texts};
use super::layout::{Header, Layouts, Mark, Source, View, WORD, Words};
use super::pages::{self, Pages};
use super::scc::NONE;
use super::slices::{self, Pointer, Sliced, Slices};
use super::{Memory, Stage, Step};
use crate::parallel::in_parts;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// The edge keeps nothing alive.
const REFERS: u32 = 1 << 31;
/// The last edge of its node.
const LAST: u32 = 1 << 30;
const TARGET: u32 = LAST - 1;

/// Blocks that lie close together are read at once. A larger block is read in windows of this size.
const WINDOW: u64 = 1 << 20;
/// Bytes between two blocks that are read with them: as many as one read more would cost.
const GAP: u64 = 512;
/// Bytes around a window, so that a header at its end is seen as a whole.
const AROUND: u64 = 8 * WORD;
/// More bytes are never kept around a window, however large a value is.
const MOST_AROUND: u64 = 16 << 20;
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
    /// Headers that do not agree with another header of the same block. They own nothing.
    pub ambiguous_headers: u64,
    /// Blocks that need a header, and none was found. All their words count.
    pub without_header: u64,
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

    pub(super) fn take_hashes(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.hashes)
    }
}

/// The fill of a block by its header, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fill {
    List { used: u64 },
    Deque { head: u64, length: u64 },
    Table { buckets: u64, control: u64 },
}

impl Fill {
    fn packed(self) -> Option<u64> {
        let fits = |number: u64, bits: u32| (number >> bits == 0).then_some(number);
        match self {
            Fill::List { used } => fits(used, 62),
            Fill::Deque { head, length } => {
                Some(1 << 62 | fits(head, 31)? << 31 | fits(length, 31)?)
            }
            Fill::Table { buckets, control } => {
                Some(2 << 62 | u64::from(buckets.ilog2()) << 56 | fits(control, 56)?)
            }
        }
    }

    fn unpacked(word: u64) -> Option<Fill> {
        let low = |bits: u32| (1 << bits) - 1;
        match word >> 62 {
            0 => Some(Fill::List { used: word }),
            1 => Some(Fill::Deque {
                head: word >> 31 & low(31),
                length: word & low(31),
            }),
            2 => Some(Fill::Table {
                buckets: 1 << (word >> 56 & low(6)),
                control: word & low(56),
            }),
            _ => None,
        }
    }
}

struct Reader<'a> {
    heap: &'a Heap,
    memory: &'a dyn Memory,
    layouts: &'a dyn Layouts,
    progress: &'a (dyn Fn(Step) + Sync),
    read_blocks: u64,
    /// Until a block is read, its packed fill is in `unused`.
    contents: Contents,
    is_read: Vec<u64>,
    /// Sizes of elements that headers agreed on, by site.
    elements: FxHashMap<u32, u64>,
    /// Blocks whose header was found.
    ready: Vec<u32>,
    /// `None` if no block can be one in which texts lie.
    texts: Option<Texts>,
    slices: Slices,
}

/// The results of one thread.
#[derive(Default)]
struct Part {
    /// For each node, the number of its edges, its unused bytes and its hash.
    nodes: Vec<(u32, u64, u64)>,
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
    inputs: Vec<(u32, u64)>,
    slices: Vec<Pointer>,
    /// The ranges that pointers of headers cover, by the index of their edge. They count if the
    /// header does not agree with its block.
    header_slices: Vec<(usize, Pointer)>,
    unreadable: u64,
    words: Words,
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
            pages,
            losses: Losses::default(),
        },
        is_read: vec![0; blocks.div_ceil(64)],
        elements: FxHashMap::default(),
        ready: Vec::new(),
        texts: Texts::of(heap, layouts),
        slices: Slices::default(),
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
    }
    // A value that is held in a way unknown leads to the headers of others.
    let whole = |block: &u32| layouts.is_whole(heap.site(*block as usize));
    let mut rest: Vec<u32> = all().filter(whole).collect();
    rest.retain(|&block| !reader.was_read(block as usize));
    reader.blocks(rest.into_iter());
    reader.ready_blocks();
    let mut rest: Vec<u32> = all().collect();
    rest.retain(|&block| !reader.was_read(block as usize));
    reader.contents.losses.without_header = rest.len() as u64;
    reader.blocks(rest.into_iter());
    reader.contents.edges.shrink_to_fit();
    reader.contents.zero_pages.sort_unstable();
    reader
        .contents
        .tables
        .sort_unstable_by_key(|table| table.block);
    reader.find_texts();
    let has_list = |block: usize| reader.contents.unused(block).is_some();
    reader.contents.sliced = std::mem::take(&mut reader.slices).finish(has_list);
    reader.contents
}

impl Reader<'_> {
    fn was_read(&self, block: usize) -> bool {
        self.is_read[block / 64] >> (block % 64) & 1 == 1
    }

    /// Reads blocks whose header was found until there are no more.
    fn ready_blocks(&mut self) {
        while !self.ready.is_empty() {
            let mut ready = std::mem::take(&mut self.ready);
            ready.sort_unstable();
            ready.dedup();
            self.blocks(ready.into_iter());
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
                done: self.read_blocks,
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

    /// Chooses the size of elements that most headers of a site have, where none is known.
    fn elect(&mut self, parts: &[Part]) {
        let mut votes: FxHashMap<(u32, u64), u64> = FxHashMap::default();
        for part in parts {
            for &(edge, header) in &part.headers {
                let block = (part.edges[edge] & TARGET) as usize;
                let site = self.heap.site(block);
                let capacity = match header {
                    Header::List { capacity, .. } | Header::Deque { capacity, .. } => capacity,
                    Header::Table { .. } => continue,
                };
                let is_known =
                    self.elements.contains_key(&site) || self.known_element(block).is_some();
                let size = self.heap.size(block);
                if !is_known && capacity > 0 && size.is_multiple_of(capacity) {
                    *votes.entry((site, size / capacity)).or_default() += 1;
                }
            }
        }
        let mut votes: Vec<_> = votes.into_iter().collect();
        // Of sizes with as many votes the smallest, so that the order of the map does not matter.
        votes.sort_unstable_by_key(|&((site, bytes), count)| {
            (site, std::cmp::Reverse(count), bytes)
        });
        for ((site, bytes), _) in votes {
            self.elements.entry(site).or_insert(bytes);
        }
    }

    fn known_element(&self, block: usize) -> Option<u64> {
        self.layouts.element_bytes_of(self.heap, block)
    }

    fn element_bytes(&self, block: usize) -> Option<u64> {
        let elected = || self.elements.get(&self.heap.site(block)).copied();
        self.known_element(block).or_else(elected)
    }

    /// Returns how full a block is by a header that agrees with it, and its unused bytes.
    fn agreed(&self, block: usize, header: Header) -> Option<(Fill, u64)> {
        let size = self.heap.size(block);
        match header {
            Header::List { capacity, length } => {
                let element = self.element_bytes(block)?;
                let agrees = capacity.checked_mul(element)? == size && length <= capacity;
                let used = length.checked_mul(element).filter(|_| agrees)?;
                Some((Fill::List { used }, size - used))
            }
            Header::Deque {
                capacity,
                head,
                length,
            } => {
                let element = self.element_bytes(block)?;
                let agrees =
                    capacity.checked_mul(element)? == size && length <= capacity && head < capacity;
                let used = length.checked_mul(element).filter(|_| agrees)?;
                Some((Fill::Deque { head, length }, size - used))
            }
            Header::Table {
                buckets,
                control,
                items,
            } => {
                let agrees = buckets.is_power_of_two()
                    && items <= buckets
                    && control.checked_add(buckets)? <= size;
                if !agrees {
                    return None;
                }
                let element = self.bucket_bytes(block, buckets, control)?;
                Some((
                    Fill::Table { buckets, control },
                    (buckets - items) * element,
                ))
            }
        }
    }

    /// Returns the size of a table's buckets.
    fn bucket_bytes(&self, block: usize, buckets: u64, control: u64) -> Option<u64> {
        let between = control / buckets;
        match self.known_element(block) {
            // The buckets are padded to a group of control bytes.
            Some(bytes) => (bytes.checked_mul(buckets)?.checked_next_multiple_of(WORD)? <= control
                && control - bytes * buckets < 16)
                .then_some(bytes),
            None => Some(between),
        }
    }

    /// Takes in what a header says of a block. Returns `false` if the header does not agree.
    fn settle(&mut self, block: usize, header: Header) -> bool {
        let Some((fill, unused)) = self.agreed(block, header) else {
            return false;
        };
        let Some(packed) = fill.packed() else {
            return false;
        };
        let was_read = self.was_read(block);
        let new = if was_read { unused } else { packed };
        let slot = &mut self.contents.unused[block];
        if *slot == NOT_KNOWN {
            *slot = new;
            if !was_read {
                self.ready.push(block as u32);
            }
            return true;
        }
        let agrees = *slot == new;
        if !agrees {
            self.contents.losses.ambiguous_headers += 1;
        }
        agrees
    }

    /// Keeps what the blocks say of themselves.
    fn store(&mut self, nodes: &[u32], part: &Part) {
        for (&node, &(_, unused, hash)) in nodes.iter().zip(&part.nodes) {
            let node = node as usize;
            if node < self.heap.len() {
                self.is_read[node / 64] |= 1 << (node % 64);
                self.contents.unused[node] = unused;
                self.contents.hashes[node] = hash;
            }
        }
        self.contents.zero_pages.extend_from_slice(&part.zero_pages);
        self.contents.tables.extend_from_slice(&part.tables);
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
        let mut first = 0;
        for (&node, &(count, ..)) in nodes.iter().zip(&part.nodes) {
            let edges = &part.edges[first..first + count as usize];
            let start = self.contents.edges.len();
            let fits = start + edges.len() < NONE as usize;
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
                if is_understood && !has_header && !self.was_read(target) {
                    self.ready.push(target as u32);
                }
            }
            while let Some(&(edge, header)) = headers.next_if(|header| header.0 < end) {
                let target = (part.edges[edge] & TARGET) as usize;
                if !self.settle(target, header) {
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
        let fill = Fill::unpacked(self.contents.unused[block]);
        // The full buckets of a table are many small ranges.
        let mut buffer = Vec::new();
        let mut bytes = bytes;
        if bytes.is_none()
            && matches!(fill, Some(Fill::Table { .. }))
            && all.end - all.start <= MOST_TABLE
        {
            buffer.resize((all.end - all.start) as usize, 0);
            let is_read = self.memory.read(all.start, &mut buffer).is_ok();
            bytes = is_read.then_some(&buffer);
        }
        let element = self.element_bytes(block).unwrap_or(1);
        let mut scan = Scan {
            reader: self,
            node: Source::Block(block),
            all: all.clone(),
            bytes,
            hash: Hash::new(self.layouts.value_type_of(self.heap, block)),
            zero_pages: 0,
            is_readable: true,
            text: None,
            part,
        };
        let used = match fill {
            Some(Fill::List { used }) => used,
            None => all.end - all.start,
            Some(_) => 0,
        };
        let is_text = self.texts.is_some() && self.known_element(block) == Some(1);
        if is_text && (LEAST_TEXT..=MOST_TEXT).contains(&used) {
            scan.text = Some(Text {
                seed: self.text_seed(block),
                start: 0,
                hash: None,
            });
        }
        let edges = scan.part.edges.len();
        scan.part.words.unused_bytes = 0;
        let size = all.end - all.start;
        let mut unused = None;
        match fill {
            None => scan.range(all.clone()),
            Some(Fill::List { used }) => {
                scan.range(all.start..all.start + used);
                unused = Some(size - used);
            }
            Some(Fill::Deque { head, length }) => {
                let used = length * element;
                let first = all.start + head * element;
                let end = first + used;
                scan.range(first..end.min(all.end));
                scan.range(all.start..all.start + end.saturating_sub(all.end));
                unused = Some(size - used);
            }
            Some(Fill::Table { buckets, control }) => {
                let bucket = self.bucket_bytes(block, buckets, control).unwrap_or(0);
                let full = scan.table(buckets, control, bucket);
                unused = Some((buckets - full) * bucket);
                scan.part.tables.push(Table {
                    block: block as u32,
                    items: u32::try_from(full).unwrap_or(u32::MAX),
                    item_bytes: full * bucket,
                });
            }
        }
        let own = scan.part.words.unused_bytes.min(size);
        let mut hash = scan.hash.value();
        let (zero_pages, is_readable) = (scan.zero_pages, scan.is_readable);
        // A slice is full; how much of a list is in use without a header is not known.
        let is_known = fill.is_some() || !self.layouts.needs_header(self.heap.site(block));
        if let Some(text) = &scan.text
            && let Some(rolling) = text.hash
        {
            hash = rolling;
            if is_known {
                scan.part.starts.push(text.start);
                scan.part.texts.push(block as u32);
            }
        }
        if is_text && is_known && used >= LEAST_INPUT && is_readable {
            part.inputs.push((block as u32, used));
        }
        if zero_pages > 0 {
            part.zero_pages.push((block as u32, zero_pages));
        }
        part.unreadable += u64::from(!is_readable);
        let unused = match unused {
            None if own == 0 => NOT_KNOWN,
            unused => (unused.unwrap_or(0) + own).min(size),
        };
        // What could not be read equals nothing.
        let hash = if is_readable {
            hash
        } else {
            Hash::of(all.start)
        };
        part.finish(edges, unused, hash);
    }

    /// Returns what a pointer covers of a large block.
    fn slice(&self, view: &View<'_>, at: u64, word: u64, target: usize) -> Option<Pointer> {
        let is_stale = matches!(view.source, Source::Root(root)
            if self.heap.roots()[root].kind == RootKind::DeadStack);
        if self.heap.size(target) < slices::LEAST || is_stale {
            return None;
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
            text: None,
            part,
        };
        scan.range(all);
        let is_readable = scan.is_readable;
        part.unreadable += u64::from(!is_readable);
        part.finish(edges, NOT_KNOWN, 0);
    }
}

impl Part {
    fn finish(&mut self, first: usize, unused: u64, hash: u64) {
        if let Some(last) = self.edges[first..].last_mut() {
            *last |= LAST;
        }
        let count = (self.edges.len() - first) as u32;
        self.nodes.push((count, unused, hash));
    }
}

/// The reading of one block or root.
struct Scan<'a, 'b> {
    reader: &'a Reader<'a>,
    node: Source,
    all: Range<u64>,
    /// All bytes, if they are read already.
    bytes: Option<&'a [u8]>,
    hash: Hash,
    zero_pages: u32,
    is_readable: bool,
    /// The knowledge about the block if it is a text that may lie in an input.
    text: Option<Text>,
    part: &'b mut Part,
}

struct Text {
    /// The seed of its hash.
    seed: u64,
    start: u64,
    hash: Option<u64>,
}

impl Scan<'_, '_> {
    /// Goes through addresses that are in use.
    fn range(&mut self, range: Range<u64>) {
        if let Some(bytes) = self.bytes {
            let within = (range.start - self.all.start) as usize;
            let bytes = &bytes[within..within + (range.end - range.start) as usize];
            return self.window(bytes, range.start, range);
        }
        let mut buffer = Vec::new();
        let span = self.reader.layouts.span(self.node).min(MOST_AROUND);
        // A value larger than a window is not read once for each window.
        let window = span.next_multiple_of(PAGE).max(WINDOW);
        let around = span.max(AROUND);
        let mut start = range.start;
        while start < range.end {
            // Windows end with a page, so that no page is seen in two parts.
            let end = (start / PAGE * PAGE).saturating_add(window).min(range.end);
            let before = start.saturating_sub(around).max(range.start);
            let after = end.saturating_add(around).min(range.end);
            buffer.resize((after - before) as usize, 0);
            if self.reader.memory.read(before, &mut buffer).is_ok() {
                self.window(&buffer, before, start..end);
            } else {
                // The size may be as wrong as the address.
                self.is_readable = false;
                break;
            }
            start = end;
        }
    }

    /// Goes through the full buckets of a table, and returns their number.
    fn table(&mut self, buckets: u64, control: u64, bucket: u64) -> u64 {
        let within = control as usize..(control + buckets) as usize;
        let mut buffer = Vec::new();
        let controls = if let Some(bytes) = self.bytes {
            &bytes[within]
        } else {
            // In steps: a size that is wrong must not cost memory.
            while buffer.len() < within.len() {
                let read = buffer.len();
                buffer.resize(within.len().min(read + WINDOW as usize), 0xff);
                let start = self.all.start + control + read as u64;
                if self.reader.memory.read(start, &mut buffer[read..]).is_err() {
                    self.is_readable = false;
                    return 0;
                }
            }
            &buffer
        };
        let is_full = |index: &u64| controls[*index as usize] < 0x80;
        let full = (0..buckets).filter(is_full).count() as u64;
        if bucket > 0 {
            // The bucket with the highest number lies first. Neighbours are one range.
            let end = self.all.start + control;
            let start = |index: u64| end - (index + 1) * bucket;
            let mut open: Option<Range<u64>> = None;
            for index in (0..buckets).rev().filter(is_full) {
                let range = start(index)..start(index) + bucket;
                if let Some(open) = &mut open
                    && open.end == range.start
                {
                    open.end = range.end;
                } else if let Some(whole) = open.replace(range) {
                    self.range(whole);
                }
            }
            if let Some(whole) = open {
                self.range(whole);
            }
        }
        full
    }

    fn window(&mut self, bytes: &[u8], start: u64, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        let view = View {
            heap: self.reader.heap,
            source: self.node,
            bytes,
            start,
            range: range.clone(),
        };
        let words = &mut self.part.words;
        words.marks.clear();
        words.headers.clear();
        words.notes.clear();
        self.reader.layouts.walk(&view, words);
        // They usually are in order.
        words.marks.sort_by_key(|mark| mark.0);
        words.headers.sort_by_key(|header| header.0);
        words.notes.sort_by_key(|note| note.0);
        let mut notes = words.notes.iter().peekable();
        let mut headers = words.headers.iter().peekable();
        let mut marks = words.marks.iter().peekable();
        let head = first_multiple(&range, WORD);
        let at = |address: u64| (address - start) as usize;
        if let Some(text) = &mut self.text
            && marks.len() == 0
        {
            // A text is small enough for one window.
            let bytes = &bytes[at(range.start)..at(range.end)];
            let first = bytes.first_chunk::<8>().copied().unwrap_or_default();
            text.start = inputs::start_of(u64::from_le_bytes(first), bytes.len() as u64);
            text.hash = Some(Rolling::of(bytes) ^ text.seed);
            return self.zero_pages(bytes, &range);
        }
        self.hash.bytes(&bytes[at(range.start)..at(head)]);
        for (address, word) in view.words() {
            while marks.next_if(|mark| mark.0 < address).is_some() {}
            while headers.next_if(|header| header.0 < address).is_some() {}
            while notes.next_if(|note| note.0 < address).is_some() {}
            match marks.next_if(|mark| mark.0 == address) {
                None => self.hash.word(word),
                Some((_, Mark::Skip)) => {}
                Some(&(_, mark @ (Mark::Owns(target) | Mark::Refers(target)))) => {
                    // The target counts later, when its own hash is known.
                    let offset = word.wrapping_sub(self.reader.heap.range(target as usize).start);
                    self.hash.word(offset);
                    let slice = self.reader.slice(&view, address, word, target as usize);
                    if let Some((_, header)) = headers.next_if(|header| header.0 == address) {
                        let edge = self.part.edges.len();
                        self.part.headers.push((edge, *header));
                        let slice = slice.map(|slice| (edge, slice));
                        self.part.header_slices.extend(slice);
                    } else {
                        self.part.slices.extend(slice);
                    }
                    if let Some(&(_, note)) = notes.next_if(|note| note.0 == address) {
                        self.part.notes.push((self.part.edges.len(), note));
                    }
                    let refers = if matches!(mark, Mark::Refers(_)) {
                        REFERS
                    } else {
                        0
                    };
                    self.part.edges.push(target & TARGET | refers);
                }
            }
        }
        let tail = (range.end / WORD * WORD).max(head);
        self.hash.bytes(&bytes[at(tail)..at(range.end)]);
        self.zero_pages(&bytes[at(range.start)..at(range.end)], &range);
    }

    /// Counts the pages of zeros among the bytes of a range.
    fn zero_pages(&mut self, bytes: &[u8], range: &Range<u64>) {
        let first = first_multiple(range, PAGE) - range.start;
        let (pages, _) = bytes[first as usize..].as_chunks::<4096>();
        let zero = pages.iter().filter(|page| **page == [0; 4096]).count();
        self.zero_pages += zero as u32;
    }
}

/// Returns the first multiple in a range, or the range's end.
fn first_multiple(range: &Range<u64>, of: u64) -> u64 {
    let first = range.start.checked_next_multiple_of(of);
    first.map_or(range.end, |first| first.min(range.end))
}
