//! The live blocks of glibc's malloc, found in memory alone: no symbols of libc are used.
//!
//! | step | module |
//! |---|---|
//! | An arena is found by its bins, other arenas by their ring, then the settings (`mp_`). | `arena` |
//! | Each heap is walked chunk by chunk, from its start to its end. | `walk` |
//! | Fast bins and thread caches have free chunks that look used. | `caches` |
//! | Large chunks are mappings of their own. | `mapped` |
//!
//! Structures are those of `malloc/malloc.c` and `malloc/arena.c` in glibc 2.26 to 2.41 on x86-64.
//! Everything is checked against everything else: a walk must end where the arena says, each list
//! must lead to chunks of its size, and the mapped chunks must be as many as the settings count. If
//! they do not agree, there are no blocks but a reason.
//!
//! The size of a block is its usable size. The program may have asked for up to 24 bytes less, up to
//! 40 less if the block has an alignment of its own, and about a page less if it is a mapping of
//! its own.

mod arena;
mod caches;
mod mapped;
mod walk;

use super::error::Why;
use super::{Image, word_at};
use crate::allocator::Allocator;
use crate::snapshot::Memory;
use crate::units::{Bytes, Count, counted};
use std::ops::Range;

/// The smallest chunk, and the multiple that all sizes are.
const SMALLEST: u64 = 32;
const ALIGNMENT: u64 = 16;
/// Bytes of a chunk before its block.
const HEADER: u64 = 16;
/// The bits of a size word that are flags: the chunk before is in use, the chunk is a mapping of
/// its own, it belongs to the arena of a thread.
const FLAGS: u64 = 7;
const PREVIOUS_IN_USE: u64 = 1;
const IS_MAPPED: u64 = 2;
const PAGE: u64 = 4096;

/// A chunk: its address, and its size with its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Chunk {
    address: u64,
    size: u64,
}

impl Chunk {
    /// Returns the block of a chunk in a heap: its last word is the first one of the next chunk.
    fn block(self) -> Block {
        Block {
            address: self.address + HEADER,
            usable_bytes: self.size - 8,
        }
    }
}

/// A live block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) address: u64,
    pub(super) usable_bytes: u64,
}

/// The blocks of a program.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    /// In the order of their addresses.
    pub(super) live: Vec<Block>,
    /// The memory of heaps and mapped chunks, in order.
    pub(super) ranges: Vec<Range<u64>>,
    arenas: usize,
    /// Arenas that were locked: a thread was inside malloc.
    locked: usize,
    heaps: usize,
    mapped: u64,
    /// Free chunks in fast bins and thread caches.
    cached: u64,
    caches: usize,
}

impl Blocks {
    pub(super) fn usable_bytes(&self) -> u64 {
        let sizes = self.live.iter().map(|block| block.usable_bytes);
        sizes.fold(0, u64::saturating_add)
    }

    /// Returns a sentence about the blocks and what was checked.
    pub(super) fn basis(&self) -> String {
        let mut text = format!(
            "allocator: glibc's malloc; {} blocks, {} (usable sizes: up to 24 bytes more than requested, and for aligned or mapped blocks more); checked: {} of {} walked to the end, {} thread caches and fast bins with {}, {} as counted by malloc",
            Count(self.live.len() as u64),
            Bytes(self.usable_bytes()),
            counted(self.heaps as u64, "heap"),
            counted(self.arenas as u64, "arena"),
            Count(self.caches as u64),
            counted(self.cached, "free block"),
            counted(self.mapped, "mapped block"),
        );
        if self.locked > 0 {
            text.push_str(&format!(
                "; {} arenas were locked, so a block that was being allocated or freed may be missing or listed",
                Count(self.locked as u64)
            ));
        }
        text
    }
}

/// Returns the live blocks of an image.
pub(super) fn blocks(image: &Image) -> Result<Blocks, Why> {
    check_allocator(image)?;
    let arenas = arena::all(image)?;
    let settings = arena::settings(image, &arenas)?;
    let regions = arena::regions(image, &arenas, &settings)?;
    let mut used = Vec::new();
    for region in &regions {
        walk::walk(image, region, &mut used)?;
    }
    let lists = caches::find(image, &arenas, &used)?;
    let mut found = Blocks {
        arenas: arenas.len(),
        locked: arenas.iter().filter(|arena| arena.is_locked).count(),
        heaps: regions.len(),
        cached: lists.free_chunks,
        caches: lists.caches,
        ..Blocks::default()
    };
    let live = used.iter().enumerate();
    let live = live.filter(|(number, _)| !lists.is_free(*number));
    found.live.extend(live.map(|(_, chunk)| chunk.block()));
    found
        .ranges
        .extend(regions.iter().map(|region| region.range.clone()));
    let mapped = mapped::find(image, &regions, &settings)?;
    found.mapped = mapped.len() as u64;
    for block in mapped {
        let end = block.address + block.usable_bytes;
        found.ranges.push(block.address - HEADER..end);
        found.live.push(block);
    }
    found.live.sort_unstable_by_key(|block| block.address);
    found.ranges.sort_unstable_by_key(|range| range.start);
    Ok(found)
}

/// Returns the address of the main arena.
#[cfg(test)]
pub(super) fn main_arena_of(image: &Image) -> u64 {
    arena::all(image).map_or(0, |arenas| arenas[0].address)
}

/// Checks that neither a library nor the executable replaces glibc's malloc.
fn check_allocator(image: &Image) -> Result<(), Why> {
    if let Some(other) = image.other_allocator {
        return Err(Why::Other(other));
    }
    for mapping in &image.mappings {
        let file = mapping.name.rsplit('/').next().unwrap_or_default();
        if let Some(other) = Allocator::of_library(file) {
            return Err(Why::Other(other.name()));
        }
        if file.starts_with("libtcmalloc") {
            return Err(Why::Other("tcmalloc"));
        }
    }
    Ok(())
}

/// Memory that is read a window at a time.
struct Window<'a> {
    memory: &'a dyn Memory,
    start: u64,
    bytes: Vec<u8>,
}

/// Bytes of a window.
const WINDOW: u64 = 128 << 10;

impl Window<'_> {
    fn new(memory: &dyn Memory) -> Window<'_> {
        Window {
            memory,
            start: 0,
            bytes: Vec::new(),
        }
    }

    /// Returns the word at an address. `end` is where the memory ends that is worth reading.
    fn word(&mut self, at: u64, end: u64) -> Result<u64, Why> {
        let missing = || Why::Missing(at..at.saturating_add(8));
        let inside = at.checked_sub(self.start);
        if inside.is_none_or(|inside| inside + 8 > self.bytes.len() as u64) {
            let length = end.saturating_sub(at).clamp(8, WINDOW);
            self.bytes.resize(length as usize, 0);
            self.start = at;
            if self.memory.read(at, &mut self.bytes).is_err() {
                // What follows may be missing.
                self.bytes.truncate(8);
                let is_read = self.memory.read(at, &mut self.bytes);
                is_read.map_err(|_| missing())?;
            }
        }
        Ok(word_at(&self.bytes, (at - self.start) as usize))
    }
}
