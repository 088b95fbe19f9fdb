//! Allocator calls that count themselves.

use std::alloc::{Layout, alloc, alloc_zeroed, dealloc, realloc};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The allocator calls of a case, from all its threads.
#[derive(Debug, Default)]
pub struct Tally {
    total_bytes: AtomicU64,
    total_blocks: AtomicU64,
    freed_bytes: AtomicU64,
    freed_blocks: AtomicU64,
}

impl Tally {
    /// Creates a tally without calls.
    pub const fn new() -> Tally {
        Tally {
            total_bytes: AtomicU64::new(0),
            total_blocks: AtomicU64::new(0),
            freed_bytes: AtomicU64::new(0),
            freed_blocks: AtomicU64::new(0),
        }
    }

    fn allocated(&self, bytes: usize) {
        self.total_bytes.fetch_add(bytes as u64, Relaxed);
        self.total_blocks.fetch_add(1, Relaxed);
    }

    fn freed(&self, bytes: usize) {
        self.freed_bytes.fetch_add(bytes as u64, Relaxed);
        self.freed_blocks.fetch_add(1, Relaxed);
    }

    /// Returns the live bytes.
    pub fn live_bytes(&self) -> i64 {
        self.total_bytes.load(Relaxed) as i64 - self.freed_bytes.load(Relaxed) as i64
    }

    /// Returns the live blocks.
    pub fn live_blocks(&self) -> i64 {
        self.total_blocks.load(Relaxed) as i64 - self.freed_blocks.load(Relaxed) as i64
    }

    /// Prints the figures and flushes them.
    pub fn print(&self) {
        use std::io::Write;
        println!(
            "total_bytes={} total_blocks={} freed_bytes={} freed_blocks={}",
            self.total_bytes.load(Relaxed),
            self.total_blocks.load(Relaxed),
            self.freed_bytes.load(Relaxed),
            self.freed_blocks.load(Relaxed)
        );
        let _ = std::io::stdout().flush();
    }
}

/// A live block. Dropping it frees it and counts the free.
#[derive(Debug)]
pub struct Block {
    place: *mut u8,
    layout: Layout,
    tally: &'static Tally,
}

// SAFETY: only the owner uses the block, whichever thread that is.
unsafe impl Send for Block {}

impl Block {
    /// Allocates a block of `bytes`.
    ///
    /// # Panics
    /// If the allocator refuses.
    #[inline(never)]
    pub fn new(tally: &'static Tally, bytes: usize, align: usize) -> Block {
        let layout = Layout::from_size_align(bytes, align).expect("a layout");
        // SAFETY: the layout is not empty, because no case requests 0 bytes.
        let place = unsafe {
            if bytes % 7 == 3 {
                alloc_zeroed(layout)
            } else {
                alloc(layout)
            }
        };
        assert!(!place.is_null());
        tally.allocated(bytes);
        // SAFETY: the block has that length. It is written to, so that a block handed out twice
        // shows.
        unsafe { place.write_bytes(bytes as u8, bytes) };
        Block {
            place,
            layout,
            tally,
        }
    }

    /// Returns the size of the block.
    pub fn bytes(&self) -> usize {
        self.layout.size()
    }

    /// Resizes the block to `bytes`.
    ///
    /// # Panics
    /// If the allocator refuses.
    #[inline(never)]
    pub fn resize(&mut self, bytes: usize) {
        // SAFETY: the block is live and has this layout, and the new size is not 0.
        let place = unsafe { realloc(self.place, self.layout, bytes) };
        assert!(!place.is_null());
        self.tally.allocated(bytes);
        self.tally.freed(self.layout.size());
        self.place = place;
        self.layout = Layout::from_size_align(bytes, self.layout.align()).expect("a layout");
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: the block is live and has this layout.
        unsafe { dealloc(self.place, self.layout) };
        self.tally.freed(self.layout.size());
    }
}
