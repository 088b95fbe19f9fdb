//! An allocator that keeps the size and site of the blocks that a thread asks for at a site. All
//! other blocks are the system's.

use mimalloc::MiMalloc;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tikv_jemallocator::Jemalloc;

/// The allocator under it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inner {
    System,
    Mimalloc,
    Jemalloc,
}

impl Inner {
    fn allocator(self) -> &'static dyn GlobalAlloc {
        match self {
            Inner::System => &System,
            Inner::Mimalloc => &MiMalloc,
            Inner::Jemalloc => &Jemalloc,
        }
    }
}

/// A block that is live.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    pub(crate) size: usize,
    pub(crate) site: u32,
    inner: Inner,
}

static COUNTS: [AtomicUsize; 3] = [const { AtomicUsize::new(0) }; 3];
static LIVE: Mutex<BTreeMap<usize, Block>> = Mutex::new(BTreeMap::new());

thread_local! {
    /// The site at which this thread allocates, and the allocator.
    static SITE: Cell<Option<(u32, Inner)>> = const { Cell::new(None) };
    /// The map of live blocks is in use, and allocates.
    static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Runs code whose blocks are of a site.
pub(crate) fn at<T>(site: u32, inner: Inner, code: impl FnOnce() -> T) -> T {
    let outer = SITE.replace(Some((site, inner)));
    let value = code();
    SITE.set(outer);
    value
}

/// Returns the live blocks of an allocator, by address.
pub(crate) fn live(of: Inner) -> Vec<(usize, Block)> {
    inside(|live| {
        let live = live.iter().map(|(&address, &block)| (address, block));
        live.filter(|(_, block)| block.inner == of).collect()
    })
}

/// Returns the number of live blocks of an allocator.
pub(crate) fn count(of: Inner) -> usize {
    COUNTS[of as usize].load(Ordering::Relaxed)
}

fn inside<T>(code: impl FnOnce(&mut MutexGuard<'_, BTreeMap<usize, Block>>) -> T) -> T {
    IS_INSIDE.set(true);
    let value = code(&mut LIVE.lock().unwrap_or_else(PoisonError::into_inner));
    IS_INSIDE.set(false);
    value
}

pub(crate) struct Recorded;

// SAFETY: each block is freed by the allocator that it comes from, with its own layout.
unsafe impl GlobalAlloc for Recorded {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let site = SITE.get().filter(|_| !IS_INSIDE.get());
        let Some((site, inner)) = site else {
            // SAFETY: the caller's promises are the same.
            return unsafe { System.alloc(layout) };
        };
        // SAFETY: as above.
        let pointer = unsafe { inner.allocator().alloc(layout) };
        if !pointer.is_null() {
            COUNTS[inner as usize].fetch_add(1, Ordering::Relaxed);
            let size = layout.size();
            inside(|live| live.insert(pointer.addr(), Block { size, site, inner }));
        }
        pointer
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        let block = if IS_INSIDE.get() {
            None
        } else {
            inside(|live| live.remove(&pointer.addr()))
        };
        let inner = block.map_or(Inner::System, |block| {
            COUNTS[block.inner as usize].fetch_sub(1, Ordering::Relaxed);
            block.inner
        });
        // SAFETY: the block is of this allocator.
        unsafe { inner.allocator().dealloc(pointer, layout) }
    }
}
