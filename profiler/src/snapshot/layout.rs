//! The seam between the engine and what is known of the types: for each word of a block, is it a
//! pointer that owns, one that only refers, or no pointer at all?

use super::futures::{FutureState, LargeLocal};
use super::heap::Heap;
use std::ops::Range;

/// Bytes of a word.
pub(crate) const WORD: u64 = 8;

/// Knows how blocks are laid out. The engine asks it for the words of every block and root once.
pub trait Layouts: Sync {
    /// Returns `true` if the blocks of a site can only be understood together with the header that
    /// points to them: their length is not in the block. Such a block is read after its header.
    fn needs_header(&self, site: u32) -> bool;

    /// Returns the size of the elements in blocks of a site. If it is not known, the engine takes
    /// the one on which most headers agree.
    fn element_bytes(&self, site: u32) -> Option<u64>;

    /// Returns a number for the type of the values in blocks of a site. Values of types with
    /// different numbers are never equal.
    fn value_type(&self, site: u32) -> u64;

    /// Reports the words of a view that are not plain data.
    fn walk(&self, view: &View<'_>, words: &mut Words);

    /// Takes in what [`Words::held_as`] said of a block. The engine calls it from one thread, in
    /// the order of the holders' addresses, before it reads the block. Returns `true` if the
    /// block is understood from now on, without a header.
    fn held(&self, _holder: Source, _block: usize, _note: u64) -> bool {
        false
    }

    /// Returns the size of the elements in a block.
    fn element_bytes_of(&self, heap: &Heap, block: usize) -> Option<u64> {
        self.element_bytes(heap.site(block))
    }

    /// Returns a number for the type of the values in a block.
    fn value_type_of(&self, heap: &Heap, block: usize) -> u64 {
        self.value_type(heap.site(block))
    }

    /// Returns `true` if a block of a site that needs a header is understood without one in case
    /// no root leads to a header. Such blocks are read before others that have none.
    fn is_whole(&self, _site: u32) -> bool {
        false
    }

    /// Returns the bytes that must be seen together to understand one of the values in a block or
    /// root. A view of a large block has at least as many around the addresses to walk.
    fn span(&self, _source: Source) -> u64 {
        0
    }

    /// Returns a number for the place of a block in its holder, by type and field; 0 if it is not
    /// known. Call it after all contents were read.
    fn label(&self, block: usize) -> u32 {
        let _ = block;
        0
    }

    /// Returns the futures by the await that they wait at. Call it after all contents were read.
    fn futures(&self) -> Vec<FutureState> {
        Vec::new()
    }

    /// Returns the locals of futures that make blocks of a heap larger. Call it after all contents
    /// were read.
    fn large_locals(&self, _heap: &Heap) -> Vec<LargeLocal> {
        Vec::new()
    }

    /// Returns the text of a [`label`](Layouts::label): `Catalog.products[]`.
    fn label_text(&self, label: u32) -> String {
        let _ = label;
        String::new()
    }
}

/// The memory that a view shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// A block, by its number.
    Block(usize),
    /// A root, by its number.
    Root(usize),
}

/// The used part of a block or root, or a window of it if it is large.
#[derive(Debug)]
pub struct View<'a> {
    /// The heap that pointers lead into.
    pub heap: &'a Heap,
    /// The owner of the memory.
    pub source: Source,
    /// The bytes, with a few before and after those to walk.
    pub(super) bytes: &'a [u8],
    /// The address of the first of `bytes`.
    pub(super) start: u64,
    /// The addresses to walk.
    pub(super) range: Range<u64>,
}

impl View<'_> {
    /// Returns the aligned words to walk, with their addresses.
    pub fn words(&self) -> impl Iterator<Item = (u64, u64)> {
        let first = self.range.start.checked_next_multiple_of(WORD);
        let first = first.map_or(self.range.end, |first| first.min(self.range.end));
        let skipped = usize::try_from(first - self.start).unwrap_or(usize::MAX);
        let end = usize::try_from(self.range.end - self.start).unwrap_or(usize::MAX);
        let bytes = self.bytes.get(skipped..end).unwrap_or_default();
        let (words, _) = bytes.as_chunks::<8>();
        let addresses = (0..).map(move |index| first + index * WORD);
        addresses.zip(words.iter().map(|word| u64::from_le_bytes(*word)))
    }

    /// Returns the word at an address. Returns `None` if it lies outside of the used part, or far
    /// from the addresses to walk.
    pub fn word(&self, address: u64) -> Option<u64> {
        let at = usize::try_from(address.checked_sub(self.start)?).ok()?;
        let bytes = self.bytes.get(at..)?.first_chunk::<8>()?;
        Some(u64::from_le_bytes(*bytes))
    }

    /// Returns a number of up to eight bytes at an address, under the conditions of
    /// [`View::word`].
    pub fn number(&self, address: u64, bytes: usize) -> Option<u64> {
        let at = usize::try_from(address.checked_sub(self.start)?).ok()?;
        let bytes = self.bytes.get(at..at.checked_add(bytes)?)?;
        let mut word = [0; 8];
        word.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(u64::from_le_bytes(word))
    }

    /// Returns the addresses to walk.
    pub fn range(&self) -> Range<u64> {
        self.range.clone()
    }
}

/// The header of a container: what it says about the block that it points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Header {
    /// A `Vec`, a `String`: the first elements are in use.
    List {
        /// Elements that fit into the block.
        capacity: u64,
        /// Elements in use.
        length: u64,
    },
    /// A `VecDeque`: elements from `head` on are in use, and continue at the block's start.
    Deque {
        /// Elements that fit into the block.
        capacity: u64,
        /// The index of the first element.
        head: u64,
        /// Elements in use.
        length: u64,
    },
    /// A `HashMap`: hashbrown's buckets lie before their control bytes, in reverse order.
    Table {
        /// The number of buckets.
        buckets: u64,
        /// The offset of the control bytes in the block.
        control: u64,
        /// Entries of the table.
        items: u64,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    Owns(u32),
    Refers(u32),
    Skip,
}

/// Receives what [`Layouts::walk`] finds out about the words to walk. All others are plain data.
#[derive(Debug, Default)]
pub struct Words {
    pub(crate) marks: Vec<(u64, Mark)>,
    /// Headers by the address of their pointer.
    pub(crate) headers: Vec<(u64, Header)>,
    /// Notes for [`Layouts::held`] by the address of the pointer.
    pub(crate) notes: Vec<(u64, u64)>,
    pub(super) unused_bytes: u64,
}

impl Words {
    /// Reports that the word at an address is a pointer that keeps a block alive.
    pub fn owns(&mut self, address: u64, block: usize) {
        self.marks.push((address, Mark::Owns(block as u32)));
    }

    /// Reports a pointer that keeps nothing alive: `&T`, `*const T`, `prev`, `parent`, a waker.
    /// A block that only such pointers reach is reachable, and its holder is not known.
    pub fn refers(&mut self, address: u64, block: usize) {
        self.marks.push((address, Mark::Refers(block as u32)));
    }

    /// Reports a word that is not part of the value: the dead payload of an enum, a reference
    /// count, a `Weak`.
    pub fn skip(&mut self, address: u64) {
        self.marks.push((address, Mark::Skip));
    }

    /// Reports the pointer in a container's header. It owns the block if the header agrees with the
    /// block's size, and refers to it otherwise.
    pub fn header(&mut self, address: u64, block: usize, header: Header) {
        self.headers.push((address, header));
        self.owns(address, block);
    }

    /// Says of a pointer that was reported what it tells about its block, in terms of the layouts.
    /// [`Layouts::held`] gets the note.
    pub fn held_as(&mut self, address: u64, note: u64) {
        self.notes.push((address, note));
    }

    /// Reports unused bytes of the block itself, such as empty places in the node of a B-tree.
    pub fn unused(&mut self, bytes: u64) {
        self.unused_bytes = self.unused_bytes.saturating_add(bytes);
    }
}
