//! How often blocks of each size class were allocated at a site of a lane.
//!
//! Most sites have a few classes and one record, searched from the class's own place. A site with more gets a private
//! table that leads from a class to its pair: each class has one pair in one record, so the records of a site are
//! bounded by the number of classes, whatever happens.

use super::lane::{Lane, Slot};
use std::cell::Cell;
use std::ptr::null;
use std::sync::atomic::{AtomicU64, Ordering::*};
use tracking_alloc_recording::{SIZE_CLASSES, SIZE_COUNT_BITS, SIZE_PAIRS, Sizes, size_class};

const MOST_RECORDS: usize = SIZE_CLASSES.div_ceil(SIZE_PAIRS);

/// A size class, and the places in a record where its pair is looked for first.
#[derive(Clone, Copy)]
pub(super) struct Class {
    pub(super) number: u16,
    places: [u8; 2],
}

impl Class {
    /// Classes of blocks up to 1 KiB.
    const SMALL: [Class; 1025] = {
        let mut classes = [Class::of_number(0); 1025];
        let mut bytes = 0;
        while bytes < classes.len() {
            classes[bytes] = Class::of_number(size_class(bytes as u64));
            bytes += 1;
        }
        classes
    };

    pub(super) const fn of_number(number: u16) -> Class {
        let first = number as usize % SIZE_PAIRS;
        let places = [first as u8, ((first + 1) % SIZE_PAIRS) as u8];
        Class { number, places }
    }

    /// The class of a block. PERF: most are a look into a table instead of a dozen instructions.
    #[inline(always)]
    pub(super) fn of(bytes: u64) -> Class {
        static SMALL: [Class; 1025] = Class::SMALL;
        let small = SMALL.get(bytes as usize).copied();
        small.unwrap_or_else(|| Class::of_number(size_class(bytes)))
    }

    /// The pair of a record that has this class, if it is in one of its places.
    #[inline(always)]
    pub(super) fn known_pair(self, sizes: &Sizes) -> Option<&AtomicU64> {
        let mut pairs = self
            .places
            .iter()
            .filter_map(|place| sizes.pairs.get(usize::from(*place)));
        pairs.find(|pair| {
            let word = pair.load(Relaxed);
            word >> SIZE_COUNT_BITS == u64::from(self.number) && word != 0
        })
    }
}

/// Where the pairs of a site are. All-zero bytes are "nowhere yet".
#[repr(C)]
pub(super) struct Spread {
    records: [Cell<*const Sizes>; MOST_RECORDS],
    /// Pairs in use.
    used: Cell<u32>,
    /// The pair of each class, null before its first block.
    pairs: [Cell<*const AtomicU64>; SIZE_CLASSES],
}

fn add_to(pair: &AtomicU64, class: u16, more: u64) {
    let count = pair.load(Relaxed) & ((1 << SIZE_COUNT_BITS) - 1);
    pair.store(
        u64::from(class) << SIZE_COUNT_BITS | (count + more),
        Relaxed,
    );
}

/// Adds to the count of a class. What finds no room is left out: the histogram then tells less than the row.
pub(super) fn add(lane: &Lane, slot: &Slot, class: Class, more: u64) {
    let Class {
        number: class,
        places: [place, _],
    } = class;
    if let Some(spread) = slot.spread() {
        return spread.add(lane, slot, class, more);
    }
    let Some(sizes) = slot.one_record() else {
        if let Some(sizes) = lane.new_sizes(slot) {
            slot.set_one_record(sizes);
            if let Some(pair) = sizes.pairs.get(usize::from(place)) {
                add_to(pair, class, more);
            }
        }
        return;
    };
    let (before, after) = sizes.pairs.split_at(usize::from(place));
    for pair in after.iter().chain(before) {
        let word = pair.load(Relaxed);
        if word == 0 || word >> SIZE_COUNT_BITS == u64::from(class) {
            return add_to(pair, class, more);
        }
    }
    if let Some(spread) = Spread::begin(lane, sizes) {
        slot.set_spread(spread);
        spread.add(lane, slot, class, more);
    }
}

impl Spread {
    /// A table that knows the pairs of a full record.
    #[cold]
    fn begin(lane: &Lane, full: &'static Sizes) -> Option<&'static Spread> {
        // SAFETY: zeroed memory that is never given back, reached by the lane's owner alone.
        let spread: &'static Spread = unsafe { lane.take::<Spread>()?.as_ref() };
        spread.records.first()?.set(full);
        for pair in &full.pairs {
            let class = (pair.load(Relaxed) >> SIZE_COUNT_BITS) as usize;
            spread.pairs.get(class)?.set(pair);
        }
        spread.used.set(SIZE_PAIRS as u32);
        Some(spread)
    }

    /// Counts one more block of a class that was met before.
    #[inline(always)]
    pub(super) fn count_known(&self, class: u16) -> bool {
        let pair = self.pairs.get(class as usize).map_or(null(), Cell::get);
        // SAFETY: null or a word of a record of the lane's own, which stays mapped.
        let Some(pair) = (unsafe { pair.as_ref() }) else {
            return false;
        };
        // The count is the lower part of the word: it does not reach the class in 2^48 blocks.
        pair.store(pair.load(Relaxed) + 1, Relaxed);
        true
    }

    fn add(&self, lane: &Lane, slot: &Slot, class: u16, more: u64) {
        let Some(place) = self.pairs.get(class as usize) else {
            return;
        };
        if place.get().is_null() {
            let used = self.used.get() as usize;
            let Some(record) = self.records.get(used / SIZE_PAIRS) else {
                return;
            };
            if record.get().is_null() {
                let Some(sizes) = lane.new_sizes(slot) else {
                    return;
                };
                record.set(sizes);
            }
            // SAFETY: a record of the lane's own, just made or kept, which stays mapped.
            let sizes = unsafe { &*record.get() };
            let Some(pair) = sizes.pairs.get(used % SIZE_PAIRS) else {
                return;
            };
            place.set(pair);
            self.used.set(used as u32 + 1);
        }
        // SAFETY: as in `count_known`.
        if let Some(pair) = unsafe { place.get().as_ref() } {
            add_to(pair, class, more);
        }
    }
}
