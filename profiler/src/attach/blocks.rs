//! The blocks in the memory of a copy: those of the shadow map, those of the side table, and those
//! that were being reallocated.

use super::Progress;
use super::error::Kind;
use crate::snapshot::{HeapBuilder, MOST_BLOCKS, Memory};
use std::num::NonZero;
use std::ops::Range;
use std::panic::resume_unwind;
use std::thread::Builder;
use tracking_alloc_recording::shadow::{Block, Leaf, Map};
use tracking_alloc_recording::{HeaderValue, InFlightValue, LaneValue, Record};

/// Threads that read. More would wait for the memory.
const MOST_THREADS: usize = 4;
/// Blocks that lie no further apart belong to one range of the allocator.
const NEAR: u64 = 64 << 10;

/// The blocks that were found.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    pub(super) heap: HeapBuilder,
    /// The memory from the first to the last of blocks that lie close together, in order.
    pub(super) ranges: Vec<Range<u64>>,
    pub(super) count: u64,
    pub(super) bytes: u64,
    /// Bytes of the blocks that were being reallocated.
    pub(super) in_flight_bytes: u64,
}

impl Blocks {
    /// Adds a block. Returns `false` if no more can be held.
    fn add(&mut self, block: Block) -> bool {
        if self.count >= MOST_BLOCKS as u64 {
            return false;
        }
        self.count += 1;
        self.bytes = self.bytes.saturating_add(block.bytes);
        let Block {
            address,
            bytes,
            site,
            birth,
        } = block;
        self.heap.block(address, bytes, site, birth);
        let end = address.saturating_add(bytes);
        match self.ranges.last_mut() {
            Some(last) if last.start <= address && address <= last.end.saturating_add(NEAR) => {
                last.end = last.end.max(end);
            }
            _ => self.ranges.push(address..end),
        }
        true
    }

    /// Puts the ranges in order and joins those that overlap.
    fn join_ranges(&mut self) {
        self.ranges.sort_unstable_by_key(|range| range.start);
        self.ranges.dedup_by(|next, last| {
            let joins = next.start <= last.end.saturating_add(NEAR);
            if joins {
                last.end = last.end.max(next.end);
            }
            joins
        });
    }
}

/// Reads all blocks.
pub(super) fn read(
    header: &HeaderValue,
    lanes: &[LaneValue],
    memory: &dyn Memory,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Blocks, Kind> {
    let map = Map::new(header).ok_or(Kind::NoMap)?;
    let read = |address: u64, buffer: &mut [u8]| memory.read(address, buffer);
    let leaves = map.leaves(&read).map_err(Kind::Memory)?;
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    let threads = threads.min(MOST_THREADS);
    let mut blocks = Blocks::default();
    for (batch, some) in leaves.chunks(threads).enumerate() {
        progress(Progress::Blocks {
            done: (batch * threads) as u64,
            total: leaves.len() as u64,
        });
        for found in in_threads(some, &|leaf| of_leaf(&map, leaf, memory)) {
            if !found?.into_iter().all(|block| blocks.add(block)) {
                return Err(Kind::TooManyBlocks);
            }
        }
    }
    let mut is_held = true;
    let mut add = |block| {
        is_held = blocks.add(block);
        is_held
    };
    map.side_blocks(&read, &mut add).map_err(Kind::Memory)?;
    for lane in lanes.iter().filter(|lane| lane.in_flight != 0) {
        let mut bytes = [0; InFlightValue::SIZE];
        // The memory of a lane that was never used may not be there.
        let is_read = memory.read(lane.in_flight, &mut bytes).is_ok();
        let Some(block) = Block::in_flight(&InFlightValue::parse(&bytes)).filter(|_| is_read)
        else {
            continue;
        };
        // The block may be in the map still or again, or another one at its address.
        let is_in_map = map.block_at(block.address, &read).map_err(Kind::Memory)?;
        if is_in_map.is_none() {
            blocks.in_flight_bytes = blocks.in_flight_bytes.saturating_add(block.bytes);
            is_held = is_held && blocks.add(block);
        }
    }
    if !is_held {
        return Err(Kind::TooManyBlocks);
    }
    blocks.join_ranges();
    Ok(blocks)
}

fn of_leaf(map: &Map, leaf: Leaf, memory: &dyn Memory) -> Result<Vec<Block>, Kind> {
    let mut blocks = Vec::new();
    let read = |address: u64, buffer: &mut [u8]| memory.read(address, buffer);
    let found = map.blocks(leaf, &read, &mut |block| {
        blocks.push(block);
        true
    });
    found.map_err(Kind::Memory)?;
    Ok(blocks)
}

/// Does work on each of a few items, on a thread each.
fn in_threads<T: Copy + Send, R: Send>(items: &[T], work: &(dyn Fn(T) -> R + Sync)) -> Vec<R> {
    std::thread::scope(|scope| {
        let others: Vec<_> = items
            .iter()
            .skip(1)
            .map(|&item| (item, Builder::new().spawn_scoped(scope, move || work(item))))
            .collect();
        let first = items.first().map(|&item| work(item));
        let others = others.into_iter().map(|(item, thread)| match thread {
            Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            // The system has no thread to give.
            Err(_) => work(item),
        });
        first.into_iter().chain(others).collect()
    })
}
