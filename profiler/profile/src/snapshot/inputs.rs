//! Texts that lie in a live input: blocks of bytes whose contents also are part of a larger block.
//!
//! While texts are read, their hashes are kept, with the lengths that occur behind each first
//! eight bytes. Then the inputs are read once more. Where eight bytes are the first of some text,
//! the hash of each such length is looked up. It comes from the sums of a rolling hash, so that its
//! cost does not depend on the length.
//!
//! The length of an input is often not known: the header of a local is in registers, or an old one
//! is left on the stack. Then the whole block is searched, up to the zeros at its end. What lies
//! behind the text in use is an older text. A buffer that is used again holds such texts too, and a
//! text that is written holds those that it was written from, so the texts of each site tell
//! whether they were read from the input ([`TextsOfSite::is_read`]).

use super::Memory;
use super::hash::{Hash, Sums};
use super::heap::Heap;
use super::layout::Layouts;
use crate::parallel::in_large_parts;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::ops::Range;
use std::sync::atomic::{AtomicU16, Ordering};

/// The least bytes of an input.
pub(super) const LEAST_INPUT: u64 = 4096;
/// Shorter texts occur by accident.
pub(super) const LEAST_TEXT: u64 = 8;
/// Longer texts are left out: a window is read with as many bytes behind it.
pub(super) const MOST_TEXT: u64 = 1 << 16;
/// Inputs are read in windows of this size.
const WINDOW: u64 = 1 << 20;
/// Bytes of inputs that are searched.
const MOST_BYTES: u64 = 1 << 30;
const MOST_INPUTS: usize = NOT_FOUND as usize;
/// Hashes that are looked up in a window: a few for each byte.
const MOST_LOOKUPS: u64 = 8 * WINDOW;
/// Starts that are kept before those that repeat are removed.
const MANY_STARTS: usize = 1 << 20;
const NOT_FOUND: u16 = u16::MAX;

/// A large block of bytes in which other texts lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Input {
    /// The block.
    pub block: usize,
    /// Blocks whose text lies in it. A text that lies in several inputs counts in the largest. One
    /// that is older than that does not count.
    pub texts: u64,
    /// The bytes of these blocks.
    pub text_bytes: u64,
}

/// The texts of one site that lie in an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TextsOfSite {
    /// The block of the input.
    pub input: usize,
    /// The site of the texts.
    pub site: u32,
    /// Blocks whose text lies in it, and that are not older.
    pub texts: u64,
    /// The bytes of these blocks.
    pub text_bytes: u64,
    /// `true` if the texts were read from the input, as far as can be told: most later texts of the
    /// site lie in an input, and most texts in the input are later than it. In a buffer that is
    /// used again, only the last of many texts lie. A text that was written is later than most of
    /// what lies in it.
    pub is_read: bool,
}

/// A large block in which texts are looked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) block: u32,
    /// Bytes to search, from its start.
    pub(super) bytes: u64,
    /// `true` if these are the bytes in use. If not, zeros at the end are not searched.
    pub(super) is_known: bool,
}

/// The texts of a heap, as they are read.
#[derive(Debug, Default)]
pub(super) struct Texts {
    /// For each text, its first eight bytes and its length in one word.
    starts: Vec<u64>,
    /// The starts that are sorted and do not repeat.
    sorted: usize,
    /// The blocks, one bit each.
    blocks: Vec<u64>,
    inputs: Vec<Candidate>,
}

/// The findings.
#[derive(Debug, Default)]
pub(super) struct InInputs {
    /// The inputs in which a text lies, by block.
    pub(super) inputs: Vec<Input>,
    /// The texts in inputs, by input and site.
    pub(super) by_site: Vec<TextsOfSite>,
    /// The blocks whose text lies in an input, one bit each.
    blocks: Vec<u64>,
    /// Bytes of inputs that were not searched.
    pub(super) unsearched_bytes: u64,
}

/// Returns the first eight bytes of a text and its length, in one word.
pub(super) fn start_of(first: u64, length: u64) -> u64 {
    prefix(first) | length
}

/// Returns `true` if a text begins with eight zeros. The unused part of a block has as many, so
/// such a text is not looked for.
pub(super) fn begins_with_zeros(start: u64, length: u64) -> bool {
    start == start_of(0, length)
}

/// Returns 44 bits for eight bytes, above the bits of a length.
fn prefix(first: u64) -> u64 {
    Hash::of_prefix(first) >> 20 << 20
}

impl Texts {
    /// Returns the texts of a heap, or `None` if no block can be an input.
    pub(super) fn of(heap: &Heap, layouts: &dyn Layouts) -> Option<Texts> {
        let mut blocks = 0..heap.len();
        let has_input = blocks.any(|block| {
            heap.size(block) >= LEAST_INPUT && layouts.element_bytes(heap.site(block)) == Some(1)
        });
        has_input.then(|| Texts {
            blocks: vec![0; heap.len().div_ceil(64)],
            ..Texts::default()
        })
    }

    pub(super) fn add(&mut self, starts: &[u64], texts: &[u32], inputs: &[Candidate]) {
        for &block in texts {
            self.blocks[block as usize / 64] |= 1 << (block % 64);
        }
        self.inputs.extend_from_slice(inputs);
        self.starts.extend_from_slice(starts);
        if self.starts.len() > 2 * self.sorted + MANY_STARTS {
            self.sort();
        }
    }

    fn sort(&mut self) {
        self.starts.sort_unstable();
        self.starts.dedup();
        self.sorted = self.starts.len();
    }

    /// Searches the inputs for the texts, whose hashes are those of their blocks.
    pub(super) fn find(
        mut self,
        heap: &Heap,
        memory: &dyn Memory,
        hashes: impl Fn(usize) -> u64,
    ) -> InInputs {
        let mut found = InInputs::default();
        // A block that was read again, by another header, counts as it was read last.
        self.inputs.reverse();
        self.inputs.sort_by_key(|input| input.block);
        self.inputs.dedup_by_key(|input| input.block);
        for input in &mut self.inputs {
            if !input.is_known {
                input.bytes = without_zeros(heap, memory, *input);
            }
        }
        self.inputs.retain(|input| input.bytes >= LEAST_INPUT);
        self.inputs
            .sort_unstable_by_key(|input| (Reverse(input.bytes), input.block));
        let mut windows = Vec::new();
        let mut searched = 0;
        for (number, &Candidate { bytes, .. }) in self.inputs.iter().enumerate() {
            if searched + bytes > MOST_BYTES || number >= MOST_INPUTS {
                found.unsearched_bytes += bytes;
                continue;
            }
            searched += bytes;
            let starts = (0..bytes).step_by(WINDOW as usize);
            windows.extend(starts.map(|start| (number, start)));
        }
        self.sort();
        if windows.is_empty() || self.starts.is_empty() {
            return found;
        }
        let texts = |bits: &Vec<u64>| {
            let bits = bits.clone();
            (0..heap.len()).filter(move |&at| bits[at / 64] >> (at % 64) & 1 == 1)
        };
        let mut keys = Vec::new();
        keys.extend(texts(&self.blocks).map(&hashes));
        keys.sort_unstable();
        keys.dedup();
        let search = Search {
            heap,
            memory,
            inputs: &self.inputs,
            starts: Sorted::new(std::mem::take(&mut self.starts)),
            found: keys.iter().map(|_| AtomicU16::new(NOT_FOUND)).collect(),
            keys: Sorted::new(keys),
            sums: Sums::new(MOST_TEXT),
        };
        let unsearched = in_large_parts(windows.len(), |range| {
            let mut buffers = Buffers::default();
            let windows = windows[range].iter();
            let unsearched = windows.map(|&(input, start)| {
                search
                    .window(input, start, &mut buffers)
                    .map_or_else(|left| left, |()| 0)
            });
            unsearched.sum::<u64>()
        });
        found.unsearched_bytes += unsearched.into_iter().sum::<u64>();

        let input_of = |block: usize| {
            let key = search.keys.find(hashes(block))?;
            let input = usize::from(search.found[key].load(Ordering::Relaxed));
            (input < self.inputs.len()).then_some(input)
        };
        let birth_of = |block: usize| heap.block(block).birth;
        let birth_of_input = |input: usize| birth_of(self.inputs[input].block as usize);
        let mut parts: FxHashMap<(usize, u32), Part> = FxHashMap::default();
        found.blocks = vec![0; heap.len().div_ceil(64)];
        for block in texts(&self.blocks) {
            let Some(input) = input_of(block) else {
                continue;
            };
            let part = parts.entry((input, heap.site(block))).or_default();
            // What is older than the large text was not read from it: it was written to it.
            let birth = birth_of(block);
            if birth != 0 && birth < birth_of_input(input) {
                part.older += 1;
                continue;
            }
            part.texts += 1;
            part.bytes += heap.size(block);
            found.blocks[block / 64] |= 1 << (block % 64);
        }
        let mut births: FxHashMap<u32, Births> = FxHashMap::default();
        for &(_, site) in parts.keys() {
            births.entry(site).or_default();
        }
        for block in texts(&self.blocks) {
            if let Some(births) = births.get_mut(&heap.site(block)) {
                let births = if input_of(block).is_some() {
                    &mut births.found
                } else {
                    &mut births.others
                };
                births.push(birth_of(block));
            }
        }
        for births in births.values_mut() {
            births.found.sort_unstable();
            births.others.sort_unstable();
        }
        let mut sums = vec![Part::default(); self.inputs.len()];
        for (&(input, _), part) in &parts {
            sums[input].add(part);
        }
        for (&(input, site), part) in parts.iter().filter(|(_, part)| part.texts > 0) {
            let since = birth_of_input(input);
            let is_usual = births
                .get(&site)
                .is_some_and(|births| births.are_usual(since));
            found.by_site.push(TextsOfSite {
                input: self.inputs[input].block as usize,
                site,
                texts: part.texts,
                text_bytes: part.bytes,
                is_read: is_usual && sums[input].texts >= sums[input].older,
            });
        }
        found
            .by_site
            .sort_unstable_by_key(|texts| (texts.input, texts.site));
        let inputs = self.inputs.iter().zip(sums);
        let inputs = inputs.filter(|(_, sum)| sum.texts > 0);
        let inputs = inputs.map(|(input, sum)| Input {
            block: input.block as usize,
            texts: sum.texts,
            text_bytes: sum.bytes,
        });
        found.inputs = inputs.collect();
        found.inputs.sort_unstable_by_key(|input| input.block);
        found
    }
}

/// The texts of one site in one input.
#[derive(Clone, Copy, Default)]
struct Part {
    texts: u64,
    bytes: u64,
    /// Texts that are older than the input, which are none of `texts`.
    older: u64,
}

impl Part {
    fn add(&mut self, other: &Part) {
        self.texts += other.texts;
        self.bytes += other.bytes;
        self.older += other.older;
    }
}

/// The births of the texts of a site: those in inputs, and all others. Sorted.
#[derive(Default)]
struct Births {
    found: Vec<u64>,
    others: Vec<u64>,
}

impl Births {
    /// Returns `true` if most of the texts since a birth lie in an input.
    fn are_usual(&self, since: u64) -> bool {
        let later = |births: &[u64]| births.len() - births.partition_point(|&birth| birth < since);
        later(&self.found) >= later(&self.others)
    }
}

/// Returns the bytes of a block up to the zeros at its end; 0 if it cannot be read.
fn without_zeros(heap: &Heap, memory: &dyn Memory, input: Candidate) -> u64 {
    let start = heap.range(input.block as usize).start;
    let mut buffer = Vec::new();
    let mut end = input.bytes;
    while end > 0 {
        let from = end.saturating_sub(WINDOW);
        buffer.resize((end - from) as usize, 0);
        if memory.read(start + from, &mut buffer).is_err() {
            return 0;
        }
        if let Some(last) = buffer.iter().rposition(|&byte| byte != 0) {
            return from + last as u64 + 1;
        }
        end = from;
    }
    0
}

impl InInputs {
    pub(super) fn has(&self, block: usize) -> bool {
        self.blocks
            .get(block / 64)
            .is_some_and(|bits| bits >> (block % 64) & 1 == 1)
    }
}

struct Search<'a> {
    heap: &'a Heap,
    memory: &'a dyn Memory,
    inputs: &'a [Candidate],
    starts: Sorted,
    keys: Sorted,
    /// The largest input that each key was found in.
    found: Vec<AtomicU16>,
    sums: Sums,
}

#[derive(Default)]
struct Buffers {
    bytes: Vec<u8>,
    sums: Vec<u64>,
}

impl Search<'_> {
    /// Searches for texts that begin in a window of an input. Returns the bytes that were not
    /// searched as an error.
    fn window(&self, number: usize, start: u64, buffers: &mut Buffers) -> Result<(), u64> {
        let Candidate {
            block, bytes: used, ..
        } = self.inputs[number];
        let own = WINDOW.min(used - start);
        let with_texts = (WINDOW + MOST_TEXT).min(used - start);
        buffers.bytes.resize(with_texts as usize, 0);
        let address = self.heap.range(block as usize).start + start;
        let is_read = self.memory.read(address, &mut buffers.bytes);
        is_read.map_err(|_| own)?;
        let bytes = buffers.bytes.as_slice();
        self.sums.sum(bytes, &mut buffers.sums);
        let mut lookups = 0;
        for (at, first) in bytes.windows(8).take(own as usize).enumerate() {
            let mut word = [0; 8];
            word.copy_from_slice(first);
            let prefix = prefix(u64::from_le_bytes(word));
            let Some(starts) = self.starts.from(prefix) else {
                continue;
            };
            for text in starts
                .iter()
                .take_while(|start| *start >> 20 == prefix >> 20)
            {
                let length = text - prefix;
                let is_whole = start == 0 && at == 0 && length == used;
                if length > (bytes.len() - at) as u64 || is_whole {
                    // Lengths are in their order.
                    break;
                }
                lookups += 1;
                let hash = self.sums.hash(&buffers.sums, at, length as usize);
                if let Some(key) = self.keys.find(hash) {
                    self.found[key].fetch_min(number as u16, Ordering::Relaxed);
                }
            }
            if lookups > MOST_LOOKUPS {
                return Err(own - at as u64);
            }
        }
        Ok(())
    }
}

/// Sorted numbers whose high bits are spread evenly.
struct Sorted {
    all: Vec<u64>,
    /// The index of the first number with these high bits.
    first: Vec<u32>,
    bits: u32,
    /// For some more high bits, whether a number has them: small enough for a cache.
    filter: Vec<u64>,
}

/// High bits of the filter beyond those of the index.
const FILTER: u32 = 4;

impl Sorted {
    fn new(all: Vec<u64>) -> Sorted {
        let bits = all.len().max(2).ilog2();
        let mut first = Vec::with_capacity((1 << bits) + 1);
        let mut index = 0;
        for high in 0..1_u64 << bits {
            first.push(index);
            while all
                .get(index as usize)
                .is_some_and(|&number| number >> (64 - bits) == high)
            {
                index += 1;
            }
        }
        first.push(index);
        let mut filter = vec![0; (1_usize << (bits + FILTER)).div_ceil(64)];
        for number in &all {
            let high = number >> (64 - bits - FILTER);
            filter[high as usize / 64] |= 1 << (high % 64);
        }
        Sorted {
            all,
            first,
            bits,
            filter,
        }
    }

    /// Returns the places of numbers with the same high bits, or `None` if there surely is none.
    fn place(&self, number: u64) -> Option<Range<usize>> {
        let high = number >> (64 - self.bits - FILTER);
        if self.filter[high as usize / 64] >> (high % 64) & 1 == 0 {
            return None;
        }
        let high = (high >> FILTER) as usize;
        Some(self.first[high] as usize..self.first[high + 1] as usize)
    }

    fn find(&self, number: u64) -> Option<usize> {
        let place = self.place(number)?;
        let start = place.start;
        let at = self.all[place].binary_search(&number).ok()?;
        Some(start + at)
    }

    /// Returns the first number that is not below one, and all that follow it. Returns `None` if
    /// surely none has the same high bits.
    fn from(&self, number: u64) -> Option<&[u64]> {
        let place = self.place(number)?;
        let start = place.start;
        let at = self.all[place].partition_point(|&other| other < number);
        Some(&self.all[start + at..])
    }
}
