//! The inner allocator of the target programs. `CASE_ALLOC` selects it at the first allocation:
//! `system` (default), `mimalloc`, `jemalloc`, or `pack`, which hands out bytes back to back with
//! no more alignment than requested. With `move`, every realloc moves its block. With `stay`, no
//! realloc does (up to 64 KiB). So the number of copied bytes is known.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering::*};

/// Forwards to the chosen allocator.
#[derive(Debug)]
pub struct Switch {
    chosen: AtomicU8,
}

const SYSTEM: u8 = 1;
const MIMALLOC: u8 = 2;
const JEMALLOC: u8 = 3;
const PACK: u8 = 4;
const MOVE: u8 = 5;
const STAY: u8 = 6;

impl Switch {
    /// Creates an allocator without a choice.
    pub const fn new() -> Self {
        Switch {
            chosen: AtomicU8::new(0),
        }
    }

    fn chosen(&self) -> u8 {
        match self.chosen.load(Relaxed) {
            0 => self.choose(),
            chosen => chosen,
        }
    }

    #[cold]
    fn choose(&self) -> u8 {
        // SAFETY: getenv neither allocates nor locks, and nothing changes the environment before
        // `main`.
        let name = unsafe {
            let value = libc::getenv(c"CASE_ALLOC".as_ptr());
            if value.is_null() {
                c"system"
            } else {
                std::ffi::CStr::from_ptr(value)
            }
        };
        let chosen = match name.to_bytes() {
            b"mimalloc" => MIMALLOC,
            b"jemalloc" => JEMALLOC,
            b"pack" => {
                PACKED.prepare();
                PACK
            }
            b"move" => MOVE,
            b"stay" => STAY,
            _ => SYSTEM,
        };
        self.chosen.store(chosen, Relaxed);
        chosen
    }
}

impl Default for Switch {
    fn default() -> Self {
        Switch::new()
    }
}

// SAFETY: every call goes to the same allocator, which is chosen before the first block is handed
// out.
unsafe impl GlobalAlloc for Switch {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's guarantees are passed on.
        unsafe {
            match self.chosen() {
                MIMALLOC => mimalloc::MiMalloc.alloc(layout),
                JEMALLOC => tikv_jemallocator::Jemalloc.alloc(layout),
                PACK => PACKED.alloc(layout),
                MOVE => Move.alloc(layout),
                STAY => Stay.alloc(layout),
                _ => System.alloc(layout),
            }
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's guarantees are passed on.
        unsafe {
            match self.chosen() {
                MIMALLOC => mimalloc::MiMalloc.alloc_zeroed(layout),
                JEMALLOC => tikv_jemallocator::Jemalloc.alloc_zeroed(layout),
                PACK => PACKED.alloc_zeroed(layout),
                MOVE => Move.alloc_zeroed(layout),
                STAY => Stay.alloc_zeroed(layout),
                _ => System.alloc_zeroed(layout),
            }
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's guarantees are passed on.
        unsafe {
            match self.chosen() {
                MIMALLOC => mimalloc::MiMalloc.dealloc(block, layout),
                JEMALLOC => tikv_jemallocator::Jemalloc.dealloc(block, layout),
                PACK => PACKED.dealloc(block, layout),
                MOVE => Move.dealloc(block, layout),
                STAY => Stay.dealloc(block, layout),
                _ => System.dealloc(block, layout),
            }
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: the caller's guarantees are passed on.
        unsafe {
            match self.chosen() {
                MIMALLOC => mimalloc::MiMalloc.realloc(block, layout, new_size),
                JEMALLOC => tikv_jemallocator::Jemalloc.realloc(block, layout, new_size),
                PACK => PACKED.realloc(block, layout, new_size),
                MOVE => Move.realloc(block, layout, new_size),
                STAY => Stay.realloc(block, layout, new_size),
                _ => System.realloc(block, layout, new_size),
            }
        }
    }
}

/// Hands out bytes of one large mapping back to back, so blocks of any alignment share granules.
/// The last block is taken back when it is freed, others never. It takes no lock, so signal
/// handlers may use it.
struct Pack {
    base: AtomicUsize,
    used: AtomicUsize,
}

const PACK_BYTES: usize = 1 << 30;

static PACKED: Pack = Pack {
    base: AtomicUsize::new(0),
    used: AtomicUsize::new(0),
};

impl Pack {
    /// Maps the memory, before the first block is handed out.
    fn prepare(&self) {
        let (protection, flags) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
        );
        // SAFETY: the kernel chooses the address of the anonymous mapping.
        let place =
            unsafe { libc::mmap(std::ptr::null_mut(), PACK_BYTES, protection, flags, -1, 0) };
        if place != libc::MAP_FAILED {
            self.base.store(place as usize, Release);
        }
    }
}

// SAFETY: blocks lie inside the mapping, do not overlap while they live, and have the requested
// alignment.
unsafe impl GlobalAlloc for Pack {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let base = self.base.load(Acquire);
        if base == 0 {
            return std::ptr::null_mut();
        }
        let place = |used: usize| (base + used).next_multiple_of(layout.align()) - base;
        let found = self.used.fetch_update(Relaxed, Relaxed, |used| {
            place(used)
                .checked_add(layout.size())
                .filter(|end| *end <= PACK_BYTES)
        });
        found.map_or(std::ptr::null_mut(), |used| (base + place(used)) as *mut u8)
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let start = block as usize - self.base.load(Acquire);
        let _ = self
            .used
            .compare_exchange(start + layout.size(), start, Relaxed, Relaxed);
    }
}

/// The system's allocator without its realloc: the new block is allocated before the old one is
/// freed.
struct Move;

// SAFETY: the blocks are the system's, and `realloc` is the trait's default.
unsafe impl GlobalAlloc for Move {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's guarantees are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's guarantees are passed on.
        unsafe { System.dealloc(block, layout) }
    }
}

/// The system's allocator, with room in each block to grow in place.
struct Stay;

const ROOM: usize = 64 << 10;

impl Stay {
    fn roomy(layout: Layout) -> Layout {
        let size = layout.size().max(ROOM);
        // SAFETY: the alignment is unchanged, and 64 KiB are not too much for an alignment that
        // fits a smaller size.
        unsafe { Layout::from_size_align_unchecked(size, layout.align()) }
    }
}

// SAFETY: blocks of the system with at least the requested size, freed with the size with which
// they were allocated.
unsafe impl GlobalAlloc for Stay {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the layout is not empty.
        unsafe { System.alloc(Stay::roomy(layout)) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: a block of that layout.
        unsafe { System.dealloc(block, Stay::roomy(layout)) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        if layout.size().max(new_size) <= ROOM {
            return block;
        }
        // SAFETY: a block of that layout. Afterwards, it has the room for its new size.
        unsafe { System.realloc(block, Stay::roomy(layout), new_size.max(ROOM)) }
    }
}
