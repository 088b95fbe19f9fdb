//! The seam between the engine and what is known of the types: for each word of a block, is it a
//! pointer that owns, one that only refers, or no pointer at all?

use super::futures::{FutureState, LargeLocal};
use super::heap::Heap;
use super::variants::LargeVariants;
use crate::containers::Header;
use std::ops::Range;

/// Bytes of a word.
pub const WORD: u64 = 8;

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

    /// Returns the size of the one value that a block holds, or `None` if it is not known.
    fn value_bytes(&self, _heap: &Heap, _block: usize) -> Option<u64> {
        None
    }

    /// Returns `true` if the type of the values in a block is known, or if none ever is. Blocks of
    /// other types are read later: a pointer that tells the type may still come.
    fn has_type(&self, _heap: &Heap, _block: usize) -> bool {
        true
    }

    /// Returns the size of the elements in a block.
    fn element_bytes_of(&self, heap: &Heap, block: usize) -> Option<u64> {
        self.element_bytes(heap.site(block))
    }

    /// Returns a number for the type of the values in a block.
    fn value_type_of(&self, heap: &Heap, block: usize) -> u64 {
        self.value_type(heap.site(block))
    }

    /// Returns `true` if code may change the value of a block through a shared reference, as with a
    /// `Cell` inside, or if nothing tells. Such a value equals no other one: that it does at one
    /// moment says nothing.
    fn may_change(&self, _heap: &Heap, _block: usize) -> bool {
        false
    }

    /// Returns `true` if a block holds a list of records: values of a struct or enum of which all
    /// bytes are understood, and which nobody changes through a shared reference.
    fn holds_records(&self, _heap: &Heap, _block: usize) -> bool {
        false
    }

    /// Returns `true` if a block of a site that needs a header is understood without one in case
    /// no root leads to a header. Such blocks are read before others that have none.
    fn is_whole(&self, _site: u32) -> bool {
        false
    }

    /// Returns what a block is made of, as far as its length is concerned.
    fn form(&self, heap: &Heap, block: usize) -> Form {
        if self.needs_header(heap.site(block)) {
            Form::Listed
        } else {
            Form::Whole
        }
    }

    /// Returns `true` if the values in a block hold no pointers. Such blocks are read last: they
    /// lead to no header.
    fn is_plain(&self, _heap: &Heap, _block: usize) -> bool {
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

    /// Returns the enums of which rare variants make blocks of a heap larger. Call it after all
    /// contents were read.
    fn large_variants(&self, _heap: &Heap) -> Vec<LargeVariants> {
        Vec::new()
    }

    /// Returns the text of a [`label`](Layouts::label): `Catalog.products[]`.
    fn label_text(&self, label: u32) -> String {
        let _ = label;
        String::new()
    }
}

/// The place of the number that says how much of a block is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Form {
    /// All of the block is one value, or as many values as fit.
    Whole,
    /// A list, a deque or a table: its header says how much is in use.
    Listed,
    /// Not known.
    NotKnown,
}

/// The memory that a view shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// The walk only asks what these bytes are: they may be no value at all.
    pub(super) is_probe: bool,
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

    /// Returns the words to walk that are not aligned and could point into a block, with their
    /// addresses. Only those above 32 bits: parts of two small numbers look like a low address.
    pub(super) fn unaligned(&self) -> impl Iterator<Item = (u64, u64)> {
        let blocks = self.heap.bounds();
        let first = usize::try_from(self.range.start - self.start).unwrap_or(usize::MAX);
        let end = (self.range.end - self.start).saturating_add(WORD - 1);
        let end = usize::try_from(end).map_or(self.bytes.len(), |end| end.min(self.bytes.len()));
        let bytes = self.bytes.get(first..end).unwrap_or_default();
        let words = bytes.windows(WORD as usize).filter_map(<[u8]>::first_chunk);
        let words = (self.range.start..).zip(words.map(|word| u64::from_le_bytes(*word)));
        words.filter(move |(at, word)| {
            blocks.contains(word) && word >> 32 != 0 && !at.is_multiple_of(WORD)
        })
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

    /// Returns `true` if the walk only asks what the bytes are. They may be those of a value that
    /// is gone, so nothing in them is counted.
    pub fn is_probe(&self) -> bool {
        self.is_probe
    }

    /// Returns `true` if the two counts at an address are those of an `Rc` or `Arc` whose value was
    /// dropped: there is no strong reference, and `Weak` pointers keep the block. While the function
    /// of `Rc::new_cyclic` runs, the counts are the same.
    pub fn has_dropped_value(&self, counts: u64) -> bool {
        let weak = counts.checked_add(WORD).and_then(|at| self.word(at));
        let is_weak = weak.is_some_and(|weak| (1..=i64::MAX as u64).contains(&weak));
        is_weak && self.word(counts) == Some(0)
    }

    /// Returns the addresses to walk.
    pub fn range(&self) -> Range<u64> {
        self.range.clone()
    }
}

/// The meaning of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A pointer that owns this block.
    Owns(u32),
    /// A pointer that refers to this block.
    Refers(u32),
    /// No pointer.
    Skip,
}

/// Receives what [`Layouts::walk`] finds out about the words to walk. All others are plain data.
#[derive(Debug, Default)]
pub struct Words {
    /// The pointers, and the words that are none, by address.
    pub marks: Vec<(u64, Mark)>,
    /// Headers by the address of their pointer.
    pub headers: Vec<(u64, Header)>,
    /// Notes for [`Layouts::held`] by the address of the pointer.
    pub notes: Vec<(u64, u64)>,
    /// Lengths of slices by the address of their pointer.
    pub slices: Vec<(u64, u64)>,
    /// Bytes that are not part of the value, as the addresses of the first one and of the one after
    /// the last.
    pub gaps: Vec<(u64, u64)>,
    pub(super) unused_bytes: u64,
    pub(super) has_no_value: bool,
    pub(super) is_dropped: bool,
}

impl Words {
    /// Forgets everything but the unused bytes, which add up over the windows of a block.
    pub(super) fn clear(&mut self) {
        self.marks.clear();
        self.headers.clear();
        self.notes.clear();
        self.slices.clear();
        self.gaps.clear();
        self.has_no_value = false;
        self.is_dropped = false;
    }

    /// Reports that the word at an address is a pointer that keeps a block alive.
    pub fn owns(&mut self, address: u64, block: usize) {
        self.marks.push((address, Mark::Owns(block as u32)));
    }

    /// Reports a pointer that keeps nothing alive: `&T`, `*const T`, `prev`, `parent`, a waker.
    /// A block that only such pointers reach is reachable, and its holder is not known.
    pub fn refers(&mut self, address: u64, block: usize) {
        self.marks.push((address, Mark::Refers(block as u32)));
    }

    /// Says of a pointer that was reported that the word behind it may be the number of elements in
    /// its block, as in a `Box<[T]>`. If it is, and the pointer only refers so far, it owns the
    /// block unless something else does or could.
    pub fn slice(&mut self, address: u64, length: u64) {
        self.slices.push((address, length));
    }

    /// Reports a word that is not part of the value: the dead payload of an enum, a reference
    /// count, a `Weak`.
    pub fn skip(&mut self, address: u64) {
        self.marks.push((address, Mark::Skip));
    }

    /// Reports bytes that are not part of the value, as [`Words::skip`] does with a word: padding.
    /// No pointer lies there.
    pub fn skip_bytes(&mut self, addresses: Range<u64>) {
        self.gaps.push((addresses.start, addresses.end));
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

    /// Reports that some of the words are no value of their type: a box that points to no block, a
    /// variant that does not exist. Such memory was never written, or its value is gone.
    pub fn no_value(&mut self) {
        self.has_no_value = true;
    }

    /// Reports that the block of an `Rc` or `Arc` holds a value that was dropped, and that `Weak`
    /// pointers keep it.
    pub fn dropped(&mut self) {
        self.is_dropped = true;
    }

    /// Returns `true` if [`Words::no_value`] was reported.
    pub fn has_no_value(&self) -> bool {
        self.has_no_value
    }

    /// Reports unused bytes of the block itself, such as empty places in the node of a B-tree.
    pub fn unused(&mut self, bytes: u64) {
        self.unused_bytes = self.unused_bytes.saturating_add(bytes);
    }
}
