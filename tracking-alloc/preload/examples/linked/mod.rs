//! Work of a program with an allocator of its own, and the truth about it.

use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// An allocator that counts its calls.
pub(crate) struct Counted<A>(pub(crate) A);

static BLOCKS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);
static FREED: AtomicU64 = AtomicU64::new(0);

fn count(bytes: usize) {
    BLOCKS.fetch_add(1, Relaxed);
    BYTES.fetch_add(bytes as u64, Relaxed);
}

// SAFETY: every call is passed on.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Counted<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: passed on.
        unsafe { self.0.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: passed on.
        unsafe { self.0.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        count(bytes);
        FREED.fetch_add(layout.size() as u64, Relaxed);
        // SAFETY: passed on.
        unsafe { self.0.realloc(block, layout, bytes) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        FREED.fetch_add(layout.size() as u64, Relaxed);
        // SAFETY: passed on.
        unsafe { self.0.dealloc(block, layout) }
    }
}

#[repr(align(64))]
#[derive(Clone)]
#[expect(dead_code, reason = "only its size and its alignment matter")]
struct Wide([u8; 192]);

#[inline(never)]
fn rows(count: usize) -> Vec<String> {
    (0..count).map(|row| format!("row {row:0>100}")).collect()
}

/// Allocates in two threads, keeps some, and prints how many blocks and bytes were allocated, and
/// how many bytes are live.
pub(crate) fn work() {
    let rounds = std::env::args().nth(1);
    let rounds: usize = rounds.map_or(1000, |rounds| rounds.parse().expect("a number"));
    let kept = rows(rounds);
    let numbers = move || {
        let mut numbers = Vec::new();
        (0..rounds * 10).for_each(|number| numbers.push(number));
        numbers.truncate(rounds);
        numbers.shrink_to_fit();
        numbers
    };
    let numbers = std::thread::spawn(numbers).join().expect("it ends");
    let wide = vec![Wide([1; 192]); rounds];
    let zeros = vec![0_u8; rounds * 5000];
    std::hint::black_box((&kept, &numbers, &wide, &zeros));
    // What printing allocates is part of the second run too.
    let [blocks, bytes, freed] = [&BLOCKS, &BYTES, &FREED].map(|count| count.load(Relaxed));
    println!("{blocks} {bytes} {}", bytes - freed);
    std::process::exit(0);
}
