//! Size classes, and the table of a site with many of them.

use std::cell::Cell;
use std::ptr::null;
use std::sync::atomic::{AtomicU64, Ordering::*};
use tracking_alloc_recording::{SIZE_CLASSES, SIZE_COUNT_BITS, SIZE_PAIRS, Sizes, size_class};

/// A size class.
#[derive(Clone, Copy)]
pub(in crate::hook) struct Class(pub(super) u8);

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
    // PERF: as many entries as a class has values, so that a look-up checks no bound.
    const PLACES: [[u8; 2]; 1 << u8::BITS] = {
        let mut places = [[0; 2]; 1 << u8::BITS];
        let mut class = 0;
        while class < SIZE_CLASSES {
            let first = class % SIZE_PAIRS;
            places[class] = [first as u8, ((first + 1) % SIZE_PAIRS) as u8];
            class += 1;
        }
        places
    };

    /// Returns the class of a block. PERF: a table look-up instead of a dozen instructions for most
    /// blocks.
    #[inline(always)]
    pub(super) fn of(bytes: u64) -> Class {
        static SMALL: [Class; 1025] = Class::SMALL;
        let small = SMALL.get(bytes as usize).copied();
        small.unwrap_or_else(|| Class(size_class(bytes) as u8))
    }

    #[inline(always)]
    pub(super) fn places(self) -> [u8; 2] {
        static PLACES: [[u8; 2]; 1 << u8::BITS] = Class::PLACES;
        PLACES[usize::from(self.0)]
    }

    /// Returns the pair of a record that has this class, if it is in one of its places.
    #[inline(always)]
    pub(super) fn known_pair(self, sizes: &'static Sizes) -> Option<&'static AtomicU64> {
        let mut pairs = self
            .places()
            .into_iter()
            .filter_map(|place| sizes.pairs.get(usize::from(place)));
        // PERF: a pair in use counts at least one block. One less than an unused pair, which is 0,
        // has bits that no class has.
        const { assert!(SIZE_CLASSES < 1 << (u64::BITS - SIZE_COUNT_BITS)) };
        pairs
            .find(|pair| pair.load(Relaxed).wrapping_sub(1) >> SIZE_COUNT_BITS == u64::from(self.0))
    }
}

/// The place of a site's pairs. All-zero bytes mean that there are none yet.
#[repr(C)]
pub(in crate::hook) struct Spread {
    /// The last record, and the number of its pairs in use.
    pub(super) last: Cell<*const Sizes>,
    pub(super) used: Cell<usize>,
    /// The pair of each class, null before its first block.
    pub(super) pairs: [Cell<*const AtomicU64>; SIZE_CLASSES],
}

impl Spread {
    /// Returns the pair of a class that already has one.
    #[inline(always)]
    pub(super) fn known_pair(&self, class: Class) -> Option<&'static AtomicU64> {
        let pair = self
            .pairs
            .get(usize::from(class.0))
            .map_or(null(), Cell::get);
        // SAFETY: null or a word of a record of the lane's own, which stays mapped while the
        // recording is current.
        unsafe { pair.as_ref() }
    }
}
