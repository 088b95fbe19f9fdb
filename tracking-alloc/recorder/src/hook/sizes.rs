//! The number of blocks in each size class at a site of a lane.
//!
//! Most sites have few classes and one record, searched from the class's own place. A site with
//! more classes gets a private table that leads from a class to its pair. Each class has only one
//! pair, in one record, so the number of classes bounds the records of a site.

use super::lane::{Lane, Slot};
use std::cell::Cell;
use std::ptr::null;
use std::sync::atomic::{AtomicU64, Ordering::*};
use tracking_alloc_recording::{SIZE_CLASSES, SIZE_COUNT_BITS, SIZE_PAIRS, Sizes, size_class};

/// A size class.
#[derive(Clone, Copy)]
pub(super) struct Class(pub(super) u8);

const _: () = assert!(SIZE_CLASSES <= 1 << u8::BITS);

impl Class {
    /// Classes of blocks up to 1 KiB.
    const SMALL: [Class; 1025] = {
        let mut classes = [Class(0); 1025];
        let mut bytes = 0;
        while bytes < classes.len() {
            classes[bytes] = Class(size_class(bytes as u64) as u8);
            bytes += 1;
        }
        classes
    };

    /// The first place in a record to search for the pair of each class.
    const PLACES: [[u8; 2]; SIZE_CLASSES] = {
        let mut places = [[0; 2]; SIZE_CLASSES];
        let mut class = 0;
        while class < SIZE_CLASSES {
            let first = class % SIZE_PAIRS;
            places[class] = [first as u8, ((first + 1) % SIZE_PAIRS) as u8];
            class += 1;
        }
        places
    };

    /// Returns the class of a block.
    ///
    /// PERF: for most blocks, a table look-up replaces a dozen instructions.
    #[inline(always)]
    pub(super) fn of(bytes: u64) -> Class {
        static SMALL: [Class; 1025] = Class::SMALL;
        let small = SMALL.get(bytes as usize).copied();
        small.unwrap_or_else(|| Class(size_class(bytes) as u8))
    }

    #[inline(always)]
    fn places(self) -> [u8; 2] {
        static PLACES: [[u8; 2]; SIZE_CLASSES] = Class::PLACES;
        PLACES.get(usize::from(self.0)).copied().unwrap_or_default()
    }

    /// Returns the pair of a record that has this class, if it is in one of its places.
    #[inline(always)]
    pub(super) fn known_pair(self, sizes: &'static Sizes) -> Option<&'static AtomicU64> {
        let mut pairs = self
            .places()
            .into_iter()
            .filter_map(|place| sizes.pairs.get(usize::from(place)));
        pairs.find(|pair| {
            let word = pair.load(Relaxed);
            word >> SIZE_COUNT_BITS == u64::from(self.0) && word != 0
        })
    }
}

/// The place of a site's pairs. All-zero bytes mean that there are none yet.
#[repr(C)]
pub(super) struct Spread {
    /// The last record, and the number of its pairs in use.
    last: Cell<*const Sizes>,
    used: Cell<usize>,
    /// The pair of each class, null before its first block.
    pairs: [Cell<*const AtomicU64>; SIZE_CLASSES],
}

/// Adds to the count of a class. If there is no room, the count is dropped, and the histogram
/// contains fewer blocks than the row.
pub(super) fn add(lane: &Lane, slot: &Slot, class: Class, more: u64) {
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

    /// Returns the pair of a class that already has one.
    #[inline(always)]
    pub(super) fn known_pair(&self, class: Class) -> Option<&'static AtomicU64> {
        let pair = self
            .pairs
            .get(usize::from(class.0))
            .map_or(null(), Cell::get);
        // SAFETY: null or a word of one of the lane's own records, which stay mapped.
        unsafe { pair.as_ref() }
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
