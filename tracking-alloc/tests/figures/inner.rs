//! The allocator under the recorder. It treats reallocs as the program requests, so the program
//! knows whether a block moved.

use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering::Relaxed};

/// The treatment of reallocs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reallocs {
    /// Every realloc moves its block.
    Move = 0,
    /// No realloc moves its block, because each block has room for [`ROOM`] bytes.
    Stay = 1,
    /// Every realloc fails.
    Fail = 2,
    /// Like `Move`, and blocks lie back to back, with no more alignment than requested.
    Pack = 3,
}

/// The maximum size of a block that does not move.
pub(crate) const ROOM: usize = 64 << 10;

/// The least size of blocks that no program touches, and that take no memory.
pub(crate) const HUGE: usize = 1 << 40;

static REALLOCS: AtomicU8 = AtomicU8::new(Reallocs::Move as u8);

/// Sets the treatment of all blocks from now on.
pub(crate) fn choose(reallocs: Reallocs) {
    REALLOCS.store(reallocs as u8, Relaxed);
}

fn chosen(reallocs: Reallocs) -> bool {
    REALLOCS.load(Relaxed) == reallocs as u8
}

/// The bytes of blocks that lie back to back, and the number of bytes in use. They are never freed.
#[repr(align(4096))]
struct Packed(std::cell::UnsafeCell<[u8; 64 << 20]>);

// SAFETY: every byte is handed out at most once.
unsafe impl Sync for Packed {}

static PACKED: Packed = Packed(std::cell::UnsafeCell::new([0; 64 << 20]));
static PACKED_USED: AtomicUsize = AtomicUsize::new(0);

fn packed(layout: Layout) -> *mut u8 {
    let place = |used: usize| used.next_multiple_of(layout.align());
    let used = PACKED_USED.fetch_update(Relaxed, Relaxed, |used| {
        Some(place(used) + layout.size()).filter(|end| *end <= size_of::<Packed>())
    });
    used.map_or(std::ptr::null_mut(), |used| {
        PACKED.0.get().cast::<u8>().wrapping_add(place(used))
    })
}

/// Makes the next packed block begin at a multiple of 8.
pub(crate) fn align_packed() {
    PACKED_USED.fetch_add(PACKED_USED.load(Relaxed).wrapping_neg() % 8, Relaxed);
}

fn is_packed(block: *mut u8) -> bool {
    (block as usize).wrapping_sub(PACKED.0.get() as usize) < size_of::<Packed>()
}

/// The system's allocator, except for reallocs.
#[derive(Debug)]
pub(crate) struct Inner;

// SAFETY: blocks are the system's, with at least the requested layout, or bytes that are handed out
// once. Both are freed the same way as they were allocated.
unsafe impl GlobalAlloc for Inner {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if chosen(Reallocs::Pack) {
            return packed(layout);
        }
        if layout.size() >= HUGE {
            // SAFETY: any size is allowed.
            return unsafe { libc::malloc(1).cast() };
        }
        let size = if chosen(Reallocs::Stay) {
            layout.size().max(ROOM)
        } else {
            layout.size()
        };
        // SAFETY: the programs request no more alignment than malloc provides.
        unsafe { libc::malloc(size).cast() }
    }

    unsafe fn dealloc(&self, block: *mut u8, _layout: Layout) {
        if !is_packed(block) {
            // SAFETY: a block of malloc's.
            unsafe { libc::free(block.cast()) }
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        if chosen(Reallocs::Fail) || chosen(Reallocs::Stay) && new_size > ROOM {
            return std::ptr::null_mut();
        }
        if chosen(Reallocs::Stay) {
            return block;
        }
        // SAFETY: the new block is allocated while the old one exists, so they differ. The smaller
        // of both sizes is copied.
        unsafe {
            let new = self.alloc(Layout::from_size_align_unchecked(new_size, layout.align()));
            if !new.is_null() {
                std::ptr::copy_nonoverlapping(block, new, layout.size().min(new_size));
                self.dealloc(block, layout);
            }
            new
        }
    }
}
