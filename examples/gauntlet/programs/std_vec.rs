//! Runs the talk's script on std's own `Vec<_, A>`. It needs a compiler with this unstable API.
//! Prints the calls that the allocator got: allocations, grows, moves, shrinks, frees and bytes.
#![feature(allocator_api)]

use std::alloc::{AllocError, Allocator, Global, Layout};
use std::cell::Cell;
use std::hint::black_box;
use std::ptr::NonNull;

const ALLOCS: usize = 0;
const GROWS: usize = 1;
const MOVES: usize = 2;
const SHRINKS: usize = 3;
const FREES: usize = 4;
const BYTES: usize = 5;

/// Counts its calls and passes them on to std's allocator.
#[derive(Default)]
struct VerboseAllocator([Cell<usize>; 6]);

impl VerboseAllocator {
    fn add(&self, what: usize, more: usize) {
        self.0[what].set(self.0[what].get() + more);
    }

    fn resized(
        &self,
        what: usize,
        from: NonNull<u8>,
        new: Layout,
        to: Result<NonNull<[u8]>, AllocError>,
    ) -> Result<NonNull<[u8]>, AllocError> {
        self.add(what, 1);
        self.add(BYTES, new.size());
        let moved = to.is_ok_and(|to| to.cast::<u8>() != from);
        self.add(MOVES, usize::from(moved));
        to
    }
}

// SAFETY: every call is passed on to std's allocator.
unsafe impl Allocator for &VerboseAllocator {
    fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        self.add(ALLOCS, 1);
        self.add(BYTES, layout.size());
        Global.allocate(layout)
    }

    unsafe fn deallocate(&self, block: NonNull<u8>, layout: Layout) {
        self.add(FREES, 1);
        // SAFETY: the caller's promise is passed on.
        unsafe { Global.deallocate(block, layout) };
    }

    unsafe fn grow(
        &self,
        block: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        // SAFETY: the caller's promise is passed on.
        let to = unsafe { Global.grow(block, old, new) };
        self.resized(GROWS, block, new, to)
    }

    unsafe fn shrink(
        &self,
        block: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        // SAFETY: the caller's promise is passed on.
        let to = unsafe { Global.shrink(block, old, new) };
        self.resized(SHRINKS, block, new, to)
    }
}

fn main() {
    let allocator = VerboseAllocator::default();
    let mut first = Vec::new_in(&allocator);
    first.push(1_u8);
    first.push(2);
    drop(black_box(first));
    let mut second = Vec::with_capacity_in(100, &allocator);
    second.push(1_u8);
    second.extend((0..100).map(|number| number as u8));
    second.shrink_to_fit();
    drop(second);
    let counts: Vec<String> = allocator.0.iter().map(|count| count.get().to_string()).collect();
    println!("{}", counts.join(" "));
}
