//! The inner allocator of the target programs, chosen by `CASE_ALLOC` at the first allocation: `system` (default),
//! `mimalloc`, `jemalloc`, or `pack`, which hands out bytes back to back with no more alignment than was asked for.

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

impl Switch {
    /// Not chosen yet.
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
        // SAFETY: getenv neither allocates nor locks; nothing changes the environment before `main`.
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

// SAFETY: every call goes to one and the same allocator, chosen before the first block is handed out.
unsafe impl GlobalAlloc for Switch {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is passed on.
        unsafe {
            match self.chosen() {
                MIMALLOC => mimalloc::MiMalloc.alloc(layout),
                JEMALLOC => tikv_jemallocator::Jemalloc.alloc(layout),
                PACK => PACKED.alloc(layout),
                _ => System.alloc(layout),
            }
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is passed on.
        unsafe {
            match self.chosen() {
                MIMALLOC => mimalloc::MiMalloc.alloc_zeroed(layout),
                JEMALLOC => tikv_jemallocator::Jemalloc.alloc_zeroed(layout),
                PACK => PACKED.alloc_zeroed(layout),
                _ => System.alloc_zeroed(layout),
            }
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe {
            match self.chosen() {
                MIMALLOC => mimalloc::MiMalloc.dealloc(block, layout),
                JEMALLOC => tikv_jemallocator::Jemalloc.dealloc(block, layout),
                PACK => PACKED.dealloc(block, layout),
                _ => System.dealloc(block, layout),
            }
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: the caller's promise is passed on.
        unsafe {
            match self.chosen() {
                MIMALLOC => mimalloc::MiMalloc.realloc(block, layout, new_size),
                JEMALLOC => tikv_jemallocator::Jemalloc.realloc(block, layout, new_size),
                PACK => PACKED.realloc(block, layout, new_size),
                _ => System.realloc(block, layout, new_size),
            }
        }
    }
}

/// Hands out bytes of one large mapping back to back: blocks of any alignment share granules. The last block is taken
/// back when it is freed, others never. Lock-free, so signal handlers may use it.
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
        // SAFETY: an anonymous mapping at an address of the kernel's choice.
        let place =
            unsafe { libc::mmap(std::ptr::null_mut(), PACK_BYTES, protection, flags, -1, 0) };
        if place != libc::MAP_FAILED {
            self.base.store(place as usize, Release);
        }
    }
}

// SAFETY: blocks lie inside the mapping, do not overlap while they live, and have the alignment asked for.
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
