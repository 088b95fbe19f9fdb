//! The heap at one moment: who holds each block, how full containers are, and what repeats.
//!
//! A [`Heap`] lists the blocks of a program at one moment, with the roots outside the heap that may
//! point into it. [`analyse`] reads the contents of each block once, through [`Memory`], and
//! returns an [`Analysis`]:
//!
//! | question | answered by |
//! |---|---|
//! | what would be freed with this block? | [`Analysis::retained_bytes`] |
//! | who keeps it alive? | [`Analysis::holder`], [`Analysis::reach`] |
//! | how much of it is unused capacity? | [`Analysis::unused_bytes`] |
//! | which blocks does nothing reach? | [`Analysis::unreachable_since`], [`Analysis::cycles`] |
//! | which values are equal? | [`Analysis::equal_values`] |
//! | which pages are zero, and which were never touched? | [`Analysis::zero_pages`], [`Analysis::untouched_pages`] |
//! | which texts lie in a larger one? | [`Analysis::inputs`], [`Analysis::lies_in_input`] |
//! | which values are gone, with a block that only `Weak` keeps? | [`Analysis::is_dropped`] |
//! | which maps are small or empty? | [`Analysis::table_items`], [`Analysis::is_empty`] |
//! | how much of a large block do slices cover? | [`Analysis::sliced`] |
//! | which pages do small blocks keep? | [`Analysis::pinned_pages`] |
//! | what of all this is known of a site? | [`Analysis::by_site`] |
//!
//! [`Snapshot::of`] keeps what is shown to users, in a form that a recording carries.
//!
//! [`Layouts`] says which words of a block are pointers and which of them own. [`SiteShapes`] is
//! one that knows the container of each site; for other blocks, every word that points into a block
//! owns it.
//!
//! A made-up heap of three blocks: a box that holds a `String`, and a `String` in no one's hands.
//!
//! ```
//! use heapglass_profile::snapshot::{
//!     BlockKind, Holder, HeapBuilder, Memory, RootKind, Shape, SiteShapes, WordOrders, analyse,
//! };
//! use std::io;
//!
//! /// Memory from address 0 on.
//! struct Bytes(Vec<u8>);
//!
//! impl Memory for Bytes {
//!     fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<()> {
//!         let bytes = self.0.get(address as usize..).unwrap_or_default();
//!         let bytes = bytes.get(..buffer.len()).ok_or(io::ErrorKind::InvalidInput)?;
//!         buffer.copy_from_slice(bytes);
//!         Ok(())
//!     }
//! }
//!
//! let mut memory = Bytes(vec![0; 256]);
//! let mut word = |at: usize, word: u64| memory.0[at..at + 8].copy_from_slice(&word.to_le_bytes());
//! word(8, 64); // A segment with the pointer to the box.
//! word(64, 16); // The box: a `String` with a capacity of 16 bytes, ..
//! word(72, 128); // .. whose text is at 128 ..
//! word(80, 5); // .. and 5 bytes long.
//!
//! let mut heap = HeapBuilder::default();
//! heap.root(RootKind::Segment, 0, 0..16);
//! heap.block(64, 24, 0, 1);
//! heap.block(128, 16, 1, 2);
//! heap.block(160, 16, 1, 3);
//! let shapes = vec![Shape::new(BlockKind::Boxed, None, 0), Shape::new(BlockKind::List, Some(1), 0)];
//! let orders = WordOrders::new([0, 1, 2], [0, 1, 2, 3], [0, 1, 2, 3], 16);
//! let layouts = SiteShapes::new(shapes, orders);
//!
//! let snapshot = analyse(heap.finish(), &memory, &layouts, &|_| ());
//! assert_eq!(snapshot.holder(0), Holder::Root(0));
//! assert_eq!(snapshot.holder(1), Holder::Block(0));
//! assert_eq!(snapshot.retained_bytes(0), 40);
//! assert_eq!(snapshot.unused_bytes(1), Some(11));
//! assert_eq!(snapshot.holder(2), Holder::Nothing);
//! ```

mod dominators;
mod equal;
mod futures;
mod graph;
mod hash;
mod heap;
mod inputs;
mod kept;
mod layout;
mod lengths;
#[cfg(target_os = "linux")]
mod pagemap;
mod pages;
mod read;
mod scc;
mod shapes;
mod sites;
mod slices;
#[cfg(test)]
mod tests;
mod variants;

pub use crate::containers::{BlockKind, Header};
pub use equal::{EqualBlocks, EqualValues};
pub use futures::{FutureState, LargeLocal};
pub use graph::{Cycle, Cycles, Holder, Reach};
pub use heap::{Block, Heap, HeapBuilder, MOST_BLOCKS, Root, RootKind};
pub use inputs::{Input, TextsOfSite};
pub use kept::{
    Basis, Held, HolderName, HolderNode, InputFigures, Moment, Neighbours, NotReached, Outside,
    Slicer, Snapshot, TextsRead, Usable, UsableClass, confirmed,
};
pub use layout::{Form, Layouts, Mark, Source, View, WORD, Words};
#[cfg(target_os = "linux")]
pub use pagemap::PageMap;
pub use pages::{Page, PinnedPages};
pub use read::Losses;
pub use shapes::{Shape, SiteShapes, WordOrders};
pub use sites::SiteFigures;
pub use slices::Sliced;
pub use variants::LargeVariants;

use serde::{Deserialize, Serialize};

/// The memory of a program.
pub trait Memory: Sync {
    /// Fills a buffer with the bytes from an address on. They are those of a block, of a root, or
    /// of blocks that lie close together and of what is between them.
    ///
    /// # Errors
    ///
    /// An error means that some of the bytes cannot be read. Addresses without memory must be
    /// errors: the sizes of blocks are as the program left them.
    fn read(&self, address: u64, buffer: &mut [u8]) -> std::io::Result<()>;

    /// Returns the size of a page.
    fn page_bytes(&self) -> u64 {
        4096
    }

    /// Appends what stands behind a number of pages, from the one at an address on. Returns `None`
    /// if it is not known, as here. Pages that are left out at the end count as untouched.
    ///
    /// The engine asks before it reads: a page that is read becomes resident.
    fn pages(&self, _address: u64, _count: usize, _pages: &mut Vec<Page>) -> Option<()> {
        None
    }

    /// Is called when all contents were read, before they are analysed: the memory is needed no
    /// more.
    fn finished(&self) {}
}

/// A part of the analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Stage {
    /// Contents are read.
    Contents,
    /// Equal values are looked for.
    Values,
    /// Holders and retained bytes are computed.
    Holders,
}

/// The progress of the analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Step {
    /// The part that runs.
    pub stage: Stage,
    /// Blocks that are done.
    pub done: u64,
    /// All blocks.
    pub total: u64,
}

/// A block that is the same in two snapshots: its address, and the number of its allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Identity {
    /// The address.
    pub address: u64,
    /// The number of the allocation.
    pub birth: u64,
}

/// A heap that was analysed.
#[derive(Debug)]
pub struct Analysis {
    heap: Heap,
    contents: read::Contents,
    holders: graph::Holders,
    equal_values: EqualValues,
}

/// Blocks after which progress is told.
const OFTEN: u64 = 1 << 20;

/// Analyses a heap.
pub fn analyse(
    heap: Heap,
    memory: &dyn Memory,
    layouts: &dyn Layouts,
    progress: &(dyn Fn(Step) + Sync),
) -> Analysis {
    let mut contents = read::read(&heap, memory, layouts, progress);
    memory.finished();
    let total = heap.len() as u64;
    let tell = |stage, done| progress(Step { stage, done, total });
    let hashes = contents.take_hashes();
    let mut next = OFTEN;
    let hashes = equal::whole_hashes(&contents, hashes, &mut |done| {
        if done >= next {
            next = done + OFTEN;
            tell(Stage::Values, done);
        }
    });
    let equal_values = equal::equal_values(&heap, &hashes);
    drop(hashes);
    tell(Stage::Values, total);
    tell(Stage::Holders, 0);
    let holders = graph::holders(&heap, &contents);
    tell(Stage::Holders, total);
    Analysis {
        heap,
        contents,
        holders,
        equal_values,
    }
}

impl Analysis {
    /// Returns the heap, which numbers the blocks.
    pub fn heap(&self) -> &Heap {
        &self.heap
    }

    /// Gives the blocks other sites: groups of blocks that became known by the analysis.
    pub fn set_sites(&mut self, site: impl Fn(&Heap, usize) -> u32) {
        let sites = (0..self.heap.len()).map(|block| site(&self.heap, block));
        let sites = sites.collect();
        self.heap.set_sites(sites);
    }

    /// Returns how a block is reached.
    pub fn reach(&self, block: usize) -> Reach {
        self.holders.reach(block)
    }

    /// Returns the innermost holder through which every owning path to a block leads.
    pub fn holder(&self, block: usize) -> Holder {
        self.holders.holder(block)
    }

    /// Returns the bytes of a block and of all blocks that would be freed with it.
    pub fn retained_bytes(&self, block: usize) -> u64 {
        self.holders.retained(block)
    }

    /// Returns the bytes that would be freed if a root pointed to nothing.
    pub fn retained_by_root(&self, root: usize) -> u64 {
        self.holders.retained_by_root(root)
    }

    /// Returns the unused capacity of a block. Returns `None` if it is not known.
    pub fn unused_bytes(&self, block: usize) -> Option<u64> {
        self.contents.unused(block)
    }

    /// Returns the blocks that the words of a block point to, and whether each pointer owns.
    pub fn pointers(&self, block: usize) -> impl Iterator<Item = (usize, bool)> {
        let edges = self.contents.edges(block);
        edges.map(|(target, owns)| (target as usize, owns))
    }

    /// Returns the blocks that the words of a root point to, and whether each pointer owns.
    pub fn pointers_of_root(&self, root: usize) -> impl Iterator<Item = (usize, bool)> {
        let edges = self.contents.edges(self.heap.len() + root);
        edges.map(|(target, owns)| (target as usize, owns))
    }

    /// Returns the number of pages of zeros in the used part of a block.
    pub fn zero_pages(&self, block: usize) -> u32 {
        let pages = &self.contents.zero_pages;
        let at = pages.binary_search_by_key(&block, |&(block, _)| block as usize);
        at.map_or(0, |at| pages[at].1)
    }

    /// Returns the number of pages inside a block that were never touched, or were given back.
    /// Returns `None` if it is not known.
    pub fn untouched_pages(&self, block: usize) -> Option<u32> {
        let pages = &self.contents.pages.as_ref()?.untouched;
        let at = pages.binary_search_by_key(&block, |&(block, _)| block as usize);
        Some(at.map_or(0, |at| pages[at].1))
    }

    /// Returns the resident pages on which small blocks lie. Returns `None` if it is not known
    /// which pages are resident.
    pub fn pinned_pages(&self) -> Option<PinnedPages> {
        self.contents.pages.as_ref().map(|pages| pages.pinned)
    }

    /// Returns the number of entries of a table. Returns `None` for other blocks, and for tables
    /// whose header was not found.
    pub fn table_items(&self, block: usize) -> Option<u32> {
        let tables = &self.contents.tables;
        let at = tables.binary_search_by_key(&block, |table| table.block as usize);
        at.ok().map(|at| tables[at].items)
    }

    /// Returns `true` if a block is of a list or table that holds nothing.
    pub fn is_empty(&self, block: usize) -> bool {
        self.table_items(block) == Some(0)
            || self.unused_bytes(block) == Some(self.heap.size(block))
    }

    /// Returns the large texts in which the texts of other blocks lie, by block.
    ///
    /// Texts are blocks with elements of one byte. Those of 8 bytes to 64 KiB are looked for in
    /// those of at least 4 KiB.
    pub fn inputs(&self) -> &[Input] {
        &self.contents.in_inputs.inputs
    }

    /// Returns the texts in [`Analysis::inputs`], by input and site.
    pub fn texts_in_inputs(&self) -> &[TextsOfSite] {
        &self.contents.in_inputs.by_site
    }

    /// Returns `true` if the text of a block lies in one of [`Analysis::inputs`].
    pub fn lies_in_input(&self, block: usize) -> bool {
        self.contents.in_inputs.has(block)
    }

    /// Returns the blocks of at least 4 KiB into which slices point, and nothing else but an owner.
    ///
    /// What the slices cover is a bound: the owner may use all of the block, and so may code that
    /// computes an address from one of its slices. A slice that is only in a register is not seen.
    pub fn sliced(&self) -> &[Sliced] {
        &self.contents.sliced
    }

    /// Returns `true` if the block is of an `Rc` or `Arc` whose value was dropped: its strong count
    /// is 0, and only `Weak` pointers keep it.
    pub fn is_dropped(&self, block: usize) -> bool {
        self.contents.is_dropped(block)
    }

    /// Returns the cycles among the blocks that nothing reaches at this moment.
    pub fn cycles(&self) -> &Cycles {
        &self.holders.cycles
    }

    /// Returns the equal values.
    pub fn equal_values(&self) -> &EqualValues {
        &self.equal_values
    }

    /// Returns what could not be read or understood.
    pub fn losses(&self) -> Losses {
        self.contents.losses
    }

    /// Returns the blocks that nothing reaches at this moment, for a comparison with a later
    /// snapshot. They are in the order of their addresses, without those whose birth is not known
    /// (0).
    pub fn not_reached(&self) -> Vec<Identity> {
        let blocks = self.not_reached_blocks();
        blocks.map(|(_, identity)| identity).collect()
    }

    /// Returns the blocks that nothing reaches, neither now nor in an earlier snapshot, by what
    /// [`Analysis::not_reached`] returned there. One snapshot alone may catch a block in the middle
    /// of a move.
    pub fn unreachable_since(&self, earlier: &[Identity]) -> Vec<usize> {
        let blocks = self.not_reached_blocks();
        let blocks = blocks.filter(|(_, identity)| earlier.binary_search(identity).is_ok());
        blocks.map(|(block, _)| block).collect()
    }

    fn not_reached_blocks(&self) -> impl Iterator<Item = (usize, Identity)> {
        let blocks = (0..self.heap.len()).filter(|&at| self.reach(at) == Reach::NotReached);
        let blocks = blocks.map(|at| {
            let block = self.heap.block(at);
            let identity = Identity {
                address: block.address,
                birth: block.birth,
            };
            (at, identity)
        });
        blocks.filter(|(_, identity)| identity.birth != 0)
    }
}
