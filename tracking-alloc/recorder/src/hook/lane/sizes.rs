//! The number of blocks in each size class at a site of a lane.
//!
//! Most sites have few classes and one record, searched from the class's own place. A site with
//! more classes gets a private table that leads from a class to its pair. Each class has only one
//! pair, in one record, so the number of classes bounds the records of a site.

use super::Lane;
use super::size_class::{Class, Spread};
use super::slots::{MIXED, NO_CLASS, SPREAD, SizeCount, Slot};
use crate::session::add;
use crate::sys::Errno;
use std::sync::atomic::{AtomicU64, Ordering::*};
use tracking_alloc_recording::{SIZE_COUNT_BITS, SIZE_PAIRS, Sizes};

impl Lane {
    /// Counts a block's size, before the block itself is counted.
    #[inline(always)]
    pub(in crate::hook) fn count_size(&self, slot: &Slot, bytes: u64) {
        match slot.size_count(bytes) {
            SizeCount::Row => {}
            SizeCount::Pair(pair) => add(pair, 1),
            SizeCount::New(class) => self.count_new_size(slot, class),
        }
    }

    /// Counts the sizes of the blocks that a sample stands for. The site gets a size record with
    /// its first sample, because a mean of estimates does not tell a class.
    pub(in crate::hook) fn count_sizes(&self, slot: &Slot, bytes: u64, blocks: u64) {
        if slot.row_index.get() == u32::MAX {
            return;
        }
        match slot.class.get() {
            NO_CLASS => slot.class.set(MIXED),
            MIXED | SPREAD => {}
            first => {
                slot.class.set(MIXED);
                let counted = slot.row().map_or(0, |row| row.total_blocks.load(Relaxed));
                add_blocks(self, slot, Class(first as u8), counted);
            }
        }
        add_blocks(self, slot, Class::of(bytes), blocks);
    }

    #[inline(never)]
    fn count_new_size(&self, slot: &Slot, class: Class) {
        if slot.row_index.get() == u32::MAX {
            return;
        }
        match slot.class.get() {
            NO_CLASS => return slot.class.set(class.0.into()),
            MIXED | SPREAD => {}
            first => {
                slot.class.set(MIXED);
                let counted = slot.row().map_or(0, |row| row.total_blocks.load(Relaxed));
                add_blocks(self, slot, Class(first as u8), counted);
            }
        }
        add_blocks(self, slot, class, 1);
    }

    /// Adds a size record for a slot's row.
    fn new_sizes(&self, slot: &Slot) -> Option<&'static Sizes> {
        let _errno = Errno::keep();
        let added = self.add_record(
            |tables| &mut tables.sizes,
            |lane| &lane.sizes_len,
            |sizes: &Sizes| sizes.row.store(slot.row_index.get(), Relaxed),
        );
        added.map(|(_, sizes)| sizes)
    }
}

/// Adds to the count of a class. If there is no room, the count is dropped, and the histogram
/// contains less than the row.
fn add_blocks(lane: &Lane, slot: &Slot, class: Class, more: u64) {
    if let Some(pair) = pair_of(lane, slot, class) {
        let count = pair.load(Relaxed) & ((1 << SIZE_COUNT_BITS) - 1);
        let pair_now = u64::from(class.0) << SIZE_COUNT_BITS | (count + more);
        pair.store(pair_now, Relaxed);
    }
}

/// Returns the pair that counts a class, adding it if necessary. Returns `None` if there is no
/// room.
fn pair_of(lane: &Lane, slot: &Slot, class: Class) -> Option<&'static AtomicU64> {
    if let Some(spread) = slot.spread() {
        return spread.pair_of(lane, slot, class);
    }
    let [place, _] = class.places().map(usize::from);
    let Some(sizes) = slot.one_record() else {
        let sizes = lane.new_sizes(slot)?;
        slot.set_one_record(sizes);
        return sizes.pairs.get(place);
    };
    let (before, after) = sizes.pairs.split_at(place);
    let fits = |pair: &&AtomicU64| {
        let word = pair.load(Relaxed);
        word == 0 || word >> SIZE_COUNT_BITS == u64::from(class.0)
    };
    if let Some(pair) = after.iter().chain(before).find(fits) {
        return Some(pair);
    }
    let spread = Spread::begin(lane, sizes)?;
    slot.set_spread(spread);
    spread.pair_of(lane, slot, class)
}

impl Spread {
    /// Creates a table with the pairs of a full record.
    #[cold]
    fn begin(lane: &Lane, full: &'static Sizes) -> Option<&'static Spread> {
        // SAFETY: zeroed memory that is never freed. Only the lane's owner reaches it.
        let spread: &'static Spread = unsafe { lane.take::<Spread>()?.as_ref() };
        spread.last.set(full);
        for pair in &full.pairs {
            let class = (pair.load(Relaxed) >> SIZE_COUNT_BITS) as usize;
            spread.pairs.get(class)?.set(pair);
        }
        spread.used.set(SIZE_PAIRS);
        Some(spread)
    }

    /// Returns the pair of a class, taken from the last record or a new one if the class has none.
    fn pair_of(&self, lane: &Lane, slot: &Slot, class: Class) -> Option<&'static AtomicU64> {
        if let Some(pair) = self.known_pair(class) {
            return Some(pair);
        }
        if self.used.get() == SIZE_PAIRS {
            self.last.set(lane.new_sizes(slot)?);
            self.used.set(0);
        }
        // SAFETY: null or one of the lane's own records, which stay mapped.
        let pair = unsafe { self.last.get().as_ref() }?
            .pairs
            .get(self.used.get())?;
        self.pairs.get(usize::from(class.0))?.set(pair);
        self.used.set(self.used.get() + 1);
        Some(pair)
    }
}
