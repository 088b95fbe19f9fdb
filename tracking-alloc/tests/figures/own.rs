//! Heapglass's own memory: a page of the shadow map is counted when it is first written.
//!
//! The blocks are addresses alone, chosen far from every other: the map asks for nothing else.

use crate::child::{Programs, Run};
use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicUsize, Ordering::*};
use tracking_alloc::TrackingAlloc;

pub(crate) const PROGRAMS: Programs = &[
    ("places-1", || blocks(1)),
    ("places-2", || blocks(2)),
    ("places-3", || blocks(3)),
    ("places-4", || blocks(4)),
    ("places-5", || blocks(5)),
    ("places-6", || blocks(6)),
    ("places-7", || blocks(7)),
    ("places-8", || blocks(8)),
    ("places-9", || blocks(9)),
];

/// Hands out one address, at which nothing is.
struct Nowhere;

static PLACE: AtomicUsize = AtomicUsize::new(0);

// SAFETY: for programs that use no block of it.
unsafe impl GlobalAlloc for Nowhere {
    unsafe fn alloc(&self, _layout: Layout) -> *mut u8 {
        PLACE.load(Relaxed) as *mut u8
    }

    unsafe fn dealloc(&self, _block: *mut u8, _layout: Layout) {}
}

const BASE: usize = 0x1000_0000_0000;
const PAGE: u64 = 4096;
/// A page of the map tells of 1,024 granules of 16 bytes.
const OF_PAGE: usize = 1024 * 16;
/// A leaf of it tells of 32 MiB, and a page of its root points to 512 leaves.
const OF_LEAF: usize = 32 << 20;
const OF_ROOT: usize = 512 * OF_LEAF;

/// Blocks of 16 bytes, one after the other, and what the map then writes for the first time.
const BLOCKS: [(usize, u64); 9] = [
    // A page of the leaf, the one that says which pages were written, and one of the root.
    (BASE, 3 * PAGE),
    (BASE + 16, 0),
    (BASE + OF_PAGE - 16, 0),
    (BASE + OF_PAGE, PAGE),
    (BASE + 5 * OF_PAGE, PAGE),
    // Another leaf, which the same page of the root points to; then one of the next page.
    (BASE + OF_ROOT - OF_LEAF, 2 * PAGE),
    (BASE + OF_ROOT, 3 * PAGE),
    // A map of its own for what begins in the middle of a granule.
    (BASE + OF_PAGE + 24, 3 * PAGE),
    (BASE + OF_PAGE + 40, 0),
];

fn blocks(count: usize) {
    static NOWHERE: TrackingAlloc<Nowhere> = TrackingAlloc::new(Nowhere);
    for (place, _) in BLOCKS.iter().take(count) {
        PLACE.store(*place, Relaxed);
        // SAFETY: the size is not 0.
        unsafe { NOWHERE.alloc(Layout::new::<u128>()) };
    }
}

#[test]
fn pages_of_the_shadow_map_are_counted_when_they_are_first_written() {
    let own = |count: usize| {
        let recording = Run::new(&format!("places-{count}"), "move").finished();
        let header = recording.header;
        assert!(header.own_bytes < header.rss_bytes, "not cut off");
        header.own_bytes
    };
    for (count, (place, ..)) in BLOCKS.iter().enumerate().skip(1) {
        let expected = BLOCKS[count].1;
        assert_eq!(own(count + 1) - own(count), expected, "{place:x}");
    }
}
