//! Heapglass's own memory: a page of the shadow map is counted when it is first written.
//!
//! The blocks are only addresses, far from all others. The map needs nothing else.

use crate::child::{Block, Programs, Run, join, spawn, until};
use crate::read;
use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicUsize, Ordering::*};
use tracking_alloc::{TrackingAlloc, phase as enter};

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
    ("threads-1", || threads(1)),
    ("threads-2", || threads(2)),
    ("threads-3", || threads(3)),
    ("passes-0", || passes(0)),
    ("passes-1", || passes(1)),
    ("passes-3", || passes(3)),
    ("no-memory", no_memory),
    ("odd-places", odd_places),
];

/// Hands out one address at which there is nothing.
struct Nowhere;

static PLACE: AtomicUsize = AtomicUsize::new(0);

// SAFETY: for programs that use none of its blocks.
unsafe impl GlobalAlloc for Nowhere {
    unsafe fn alloc(&self, _layout: Layout) -> *mut u8 {
        PLACE.load(Relaxed) as *mut u8
    }

    unsafe fn dealloc(&self, _block: *mut u8, _layout: Layout) {}
}

const BASE: usize = 0x1000_0000_0000;
const PAGE: u64 = 4096;
/// A page of the map covers 1,024 granules of 16 bytes.
const OF_PAGE: usize = 1024 * 16;
/// A leaf of the map covers 32 MiB, and a page of its root points to 512 leaves.
const OF_LEAF: usize = 32 << 20;
const OF_ROOT: usize = 512 * OF_LEAF;

/// Blocks of 16 bytes, one after another, and the bytes of the map that each writes for the first
/// time.
const BLOCKS: [(usize, u64); 9] = [
    // A page of the leaf, the page of its written flags, and a page of the root.
    (BASE, 3 * PAGE),
    (BASE + 16, 0),
    (BASE + OF_PAGE - 16, 0),
    (BASE + OF_PAGE, PAGE),
    (BASE + 5 * OF_PAGE, PAGE),
    // Another leaf, to which the same page of the root points. Then one of the next page.
    (BASE + OF_ROOT - OF_LEAF, 2 * PAGE),
    (BASE + OF_ROOT, 3 * PAGE),
    // Addresses in the middle of a granule have a map of their own.
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

/// Threads that are alive at the same time, each with a block.
fn threads(count: usize) {
    static READY: AtomicUsize = AtomicUsize::new(0);
    static GOES_ON: AtomicUsize = AtomicUsize::new(0);
    let mut threads = [0; 3];
    for thread in &mut threads[..count] {
        let before = READY.load(Acquire);
        *thread = spawn(c"one", || {
            Block::new(16).free();
            READY.fetch_add(1, Release);
            until(|| GOES_ON.load(Acquire) == 1);
        });
        until(|| READY.load(Acquire) > before);
    }
    GOES_ON.store(1, Release);
    threads[..count].iter().copied().for_each(join);
}

/// Allocates blocks in 500 phases, `count` times. They lie in one phase, because the end of an
/// outermost phase may be a checkpoint, which takes pages too.
fn passes(count: usize) {
    Block::new(16).free();
    let _all = (count > 0).then(|| enter("all"));
    for number in (0..count).flat_map(|_| 0..500_usize) {
        let name = [number % 8, number / 8 % 8, number / 64].map(|part| b'a' + part as u8);
        let _phase = enter(std::str::from_utf8(&name).expect("letters"));
        Block::new(16).free();
    }
}

/// Returns the recorder's own memory after the end, in pages.
fn pages(program: &str) -> u64 {
    let own = Run::new(program, "move").finished().header.own_bytes;
    assert_eq!(own % PAGE, 0);
    own / PAGE
}

#[test]
fn each_thread_and_each_place_of_its_cache_is_counted_once() {
    let more = |pages: [u64; 3]| [pages[1] - pages[0], pages[2] - pages[1]];
    // First, pages of a lane, its rows, its cache, its look-up from site to row, and its last walk
    // (the kept frames and the new ones). Then pages of tables for 500 phases and sites and of all
    // cache places, and then none. A checkpoint takes pages too. It may fall due on a slow, busy
    // machine.
    let expected = ([8, 8], [47, 0]);
    let mut seen = Vec::new();
    while seen.len() < 20 && seen.last() != Some(&expected) {
        let threads = [1, 2, 3].map(|count| pages(&format!("threads-{count}")));
        let passes = [0, 1, 3].map(|count| pages(&format!("passes-{count}")));
        let sorted = threads.is_sorted() && passes.is_sorted();
        seen.push(match sorted {
            true => (more(threads), more(passes)),
            false => ([0; 2], [0; 2]),
        });
    }
    assert_eq!(seen.last(), Some(&expected), "{seen:?}");
}

/// There is no memory for the map.
fn no_memory() {
    static NOWHERE: TrackingAlloc<Nowhere> = TrackingAlloc::new(Nowhere);
    Block::new(16).free();
    PLACE.store(BASE, Relaxed);
    // SAFETY: limits to read and to write. The size is not 0.
    unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        assert_eq!(libc::getrlimit(libc::RLIMIT_AS, &mut limit), 0);
        let none = libc::rlimit {
            rlim_cur: 1,
            ..limit
        };
        assert_eq!(libc::setrlimit(libc::RLIMIT_AS, &none), 0);
        NOWHERE.alloc(Layout::new::<u128>());
        assert_eq!(libc::setrlimit(libc::RLIMIT_AS, &limit), 0);
    }
}

#[test]
fn blocks_that_the_map_has_no_memory_for_are_counted() {
    let recording = Run::new("no-memory", "move").finished();
    assert_eq!(recording.header.untracked_blocks, 1);
    assert_eq!(read::all(&recording).live(), (16, 1));
}

/// Returns the number of address space pages of this process.
fn mapped_pages() -> u64 {
    let mut text = [0_u8; 64];
    // SAFETY: the buffer has that many bytes.
    let length = unsafe {
        let file = libc::open(c"/proc/self/statm".as_ptr(), libc::O_RDONLY);
        let length = libc::read(file, text.as_mut_ptr().cast(), text.len());
        libc::close(file);
        length
    };
    assert!(length > 0);
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit());
    digits.fold(0, |number, digit| 10 * number + u64::from(digit - b'0'))
}

/// Blocks at addresses that the map does not cover. They have tables of their own, which grow.
fn odd_places() {
    static NOWHERE: TrackingAlloc<Nowhere> = TrackingAlloc::new(Nowhere);
    Block::new(16).free();
    let before = mapped_pages();
    for number in 0..ODD_PLACES {
        PLACE.store(BASE + 1 + 16 * number, Relaxed);
        // SAFETY: the size is not 0.
        unsafe { NOWHERE.alloc(Layout::new::<u128>()) };
    }
    assert_eq!(mapped_pages() - before, ODD_PAGES, "older tables are gone");
}

const ODD_PLACES: usize = 40_000;
/// 64 tables with 625 blocks each, plus or minus 120. A table for up to 768 blocks has 1,024 places
/// of 24 bytes.
const ODD_PAGES: u64 = 64 * 1024 * 24 / PAGE;

#[test]
fn tables_of_odd_addresses_are_counted_as_large_as_they_are() {
    // A second site has its place by a hash of addresses, which differ in each run. In about one
    // run of 16 it shares a page with the first one, so the largest of some runs counts.
    let odd = (0..4).map(|_| pages("odd-places")).max();
    let more = odd.expect("some runs") - pages("passes-0");
    // In addition, there are some pages of other tables, in which a second site has its place.
    // Tables of half the size took 192 pages.
    assert!((ODD_PAGES..ODD_PAGES + 8).contains(&more), "{more}");
}
