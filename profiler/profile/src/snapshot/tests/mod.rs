//! Snapshots of made-up heaps, against slow oracles and against truth.

mod containers;
mod figures;
mod graphs;
mod large;
mod lengths;
mod order;

use super::*;
use std::collections::BTreeMap;
use std::io;
use std::sync::Mutex;

/// Memory of a few ranges that counts how often each byte of it is read.
#[derive(Default)]
struct Ranges {
    ranges: BTreeMap<u64, Vec<u8>>,
    reads: Mutex<BTreeMap<u64, u32>>,
}

impl Ranges {
    fn put(&mut self, address: u64, bytes: Vec<u8>) {
        self.ranges.insert(address, bytes);
    }

    /// Returns the number of reads of the block at an address.
    fn reads(&self, address: u64) -> u32 {
        let reads = self.reads.lock().expect("reads");
        reads.get(&address).copied().unwrap_or(0)
    }
}

impl Memory for Ranges {
    /// What lies between ranges is zero.
    fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<()> {
        buffer.fill(0);
        let end = address + buffer.len() as u64;
        let mut reads = self.reads.lock().expect("reads");
        for (&start, bytes) in self.ranges.range(..end).rev() {
            let stop = start + bytes.len() as u64;
            if stop <= address {
                break;
            }
            let (from, to) = (start.max(address), stop.min(end));
            buffer[(from - address) as usize..(to - address) as usize]
                .copy_from_slice(&bytes[(from - start) as usize..(to - start) as usize]);
            *reads.entry(start).or_default() += 1;
        }
        Ok(())
    }
}

fn le(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Layouts of blocks without headers: a function says what a word is that points into a block. The
/// label of a block is the lowest bit of its number.
pub(super) struct ByWord(pub(super) fn(&Block, u64) -> Mark);

/// Every pointer owns.
pub(super) const OWNING: ByWord = ByWord(|_, _| Mark::Owns(0));

/// A word that points to the start of a block owns it, one that points to the byte after refers to
/// it, and the byte after that counts for nothing.
const BY_OFFSET: ByWord = ByWord(|block, word| match word - block.address {
    0 => Mark::Owns(0),
    1 => Mark::Refers(0),
    _ => Mark::Skip,
});

impl Layouts for ByWord {
    fn needs_header(&self, _: u32) -> bool {
        false
    }

    fn element_bytes(&self, _: u32) -> Option<u64> {
        None
    }

    fn value_type(&self, site: u32) -> u64 {
        u64::from(site)
    }

    fn walk(&self, view: &View<'_>, words: &mut Words) {
        for (at, word) in view.words() {
            let Some(to) = view.heap.find(word) else {
                continue;
            };
            match (self.0)(&view.heap.block(to), word) {
                Mark::Owns(_) => words.owns(at, to),
                Mark::Refers(_) => words.refers(at, to),
                Mark::Skip => words.skip(at),
            }
        }
    }

    fn label(&self, block: usize) -> u32 {
        block as u32 & 1
    }

    fn label_text(&self, label: u32) -> String {
        ["even", "odd"][label as usize].to_owned()
    }
}
