//! Snapshots of made-up heaps, against slow oracles and against truth.

mod containers;
mod figures;
mod graphs;
mod large;

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

/// A word that points to the start of a block owns it, one that points to the byte after refers to
/// it, and the byte after that counts for nothing.
struct ByOffset;

impl Layouts for ByOffset {
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
            match word - view.heap.block(to).address {
                0 => words.owns(at, to),
                1 => words.refers(at, to),
                _ => words.skip(at),
            }
        }
    }
}
