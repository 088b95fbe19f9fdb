//! Allocators without memory of their own, dlmalloc and talc, over pages that are taken from the
//! system and counted.
//!
//! Never returns pages, because Wasm cannot, and never allocates.

use std::alloc::{GlobalAlloc, Layout};
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use talc::source::GlobalAllocSource;

/// Bytes of a page in Wasm.
const PAGE: usize = 64 << 10;

static TIMES: AtomicU64 = AtomicU64::new(0);
static BY_ONE_PAGE: AtomicU64 = AtomicU64::new(0);
static PAGES: AtomicU64 = AtomicU64::new(0);

/// The amount taken from the system.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taken {
    /// Number of requests.
    pub(super) times: u64,
    /// Number of requests for a single page.
    pub(super) by_one_page: u64,
    /// Number of pages of 64 KiB.
    pub(super) pages: u64,
}

impl Taken {
    /// Returns the amount taken since `before`.
    pub(super) fn since(self, before: Taken) -> Taken {
        Taken {
            times: self.times - before.times,
            by_one_page: self.by_one_page - before.by_one_page,
            pages: self.pages - before.pages,
        }
    }
}

/// Returns the amount taken so far.
pub(super) fn taken() -> Taken {
    Taken {
        times: TIMES.load(Relaxed),
        by_one_page: BY_ONE_PAGE.load(Relaxed),
        pages: PAGES.load(Relaxed),
    }
}

/// Takes whole pages. Returns null if there are none.
fn take(bytes: usize) -> (*mut u8, usize) {
    let bytes = bytes.next_multiple_of(PAGE);
    let (access, flags) = (
        libc::PROT_READ | libc::PROT_WRITE,
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
    );
    // SAFETY: a new mapping touches nothing that exists.
    let start = unsafe { libc::mmap(null_mut(), bytes, access, flags, -1, 0) };
    if start == libc::MAP_FAILED {
        return (null_mut(), 0);
    }
    TIMES.fetch_add(1, Relaxed);
    BY_ONE_PAGE.fetch_add(u64::from(bytes == PAGE), Relaxed);
    PAGES.fetch_add((bytes / PAGE) as u64, Relaxed);
    (start.cast(), bytes)
}

/// The system, through the interfaces of dlmalloc and talc.
#[derive(Debug)]
struct System;

// SAFETY: mappings are new, at least as large as requested, zeroed, and never unmapped.
unsafe impl ::dlmalloc::Allocator for System {
    fn alloc(&self, size: usize) -> (*mut u8, usize, u32) {
        let (start, bytes) = take(size);
        (start, bytes, 0)
    }

    fn remap(&self, _: *mut u8, _: usize, _: usize, _: bool) -> *mut u8 {
        null_mut()
    }

    fn free_part(&self, _: *mut u8, _: usize, _: usize) -> bool {
        false
    }

    fn free(&self, _: *mut u8, _: usize) -> bool {
        false
    }

    fn can_release_part(&self, _: u32) -> bool {
        false
    }

    fn allocates_zeros(&self) -> bool {
        true
    }

    fn page_size(&self) -> usize {
        PAGE
    }
}

// SAFETY: mappings are new, at least as large as requested, zeroed, and only unmapped by `dealloc`.
// They are aligned to 4 KiB, and talc requests no other alignment for its blocks.
unsafe impl GlobalAlloc for System {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        take(layout.size()).0
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the block was mapped here with this size, and nothing uses it any more. It must
        // be unmapped, because talc forgets a block that it gives back.
        unsafe { libc::munmap(block.cast(), layout.size().next_multiple_of(PAGE)) };
    }
}

/// dlmalloc.
pub(super) struct Dlmalloc(Mutex<::dlmalloc::Dlmalloc<System>>);

impl Dlmalloc {
    /// Creates an empty heap.
    pub(super) const fn new() -> Self {
        Dlmalloc(Mutex::new(::dlmalloc::Dlmalloc::new_with_allocator(System)))
    }

    fn heap(&self) -> MutexGuard<'_, ::dlmalloc::Dlmalloc<System>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// SAFETY: every call goes to the one heap behind the lock.
unsafe impl GlobalAlloc for Dlmalloc {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is passed on.
        unsafe { self.heap().malloc(layout.size(), layout.align()) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is passed on.
        unsafe { self.heap().calloc(layout.size(), layout.align()) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { self.heap().free(block, layout.size(), layout.align()) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: the caller's promise is passed on.
        unsafe {
            self.heap()
                .realloc(block, layout.size(), layout.align(), new_size)
        }
    }
}

type TalcHeap = ::talc::base::Talc<GlobalAllocSource<System>, ::talc::DefaultBinning>;

/// talc.
pub(super) struct Talc(Mutex<TalcHeap>);

impl Talc {
    /// Creates an empty heap.
    pub(super) const fn new() -> Self {
        Talc(Mutex::new(TalcHeap::new(
            GlobalAllocSource::with_block_size(System, PAGE),
        )))
    }

    fn heap(&self) -> MutexGuard<'_, TalcHeap> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// SAFETY: every call goes to the one heap behind the lock.
unsafe impl GlobalAlloc for Talc {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is passed on.
        unsafe { self.heap().allocate(layout) }.map_or(null_mut(), NonNull::as_ptr)
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { self.heap().deallocate(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: the caller's promise is passed on.
        if unsafe { self.heap().try_realloc_in_place(block, layout, new_size) } {
            return block;
        }
        // SAFETY: the caller guarantees that the new size is valid; both blocks hold the smaller of
        // both sizes.
        unsafe {
            let moved = self.alloc(Layout::from_size_align_unchecked(new_size, layout.align()));
            if !moved.is_null() {
                moved.copy_from_nonoverlapping(block, layout.size().min(new_size));
                self.dealloc(block, layout);
            }
            moved
        }
    }
}
