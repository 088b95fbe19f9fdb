//! Memory for heapglass itself: from mmap only, never from the hooked allocator.

use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicU64, Ordering};

/// Maps `bytes` of zeroed private memory that costs nothing until touched. `None` when the system refuses.
pub(crate) fn map_private(bytes: usize) -> Option<NonNull<u8>> {
    // SAFETY: an anonymous mapping at an address of the kernel's choice touches no existing memory.
    unsafe {
        let place = libc::mmap(
            null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        );
        if place == libc::MAP_FAILED {
            return None;
        }
        // Huge pages would make each first touch 2 MiB; core dumps have no use for our tables. Both are only advice.
        libc::madvise(place, bytes, libc::MADV_NOHUGEPAGE);
        libc::madvise(place, bytes, libc::MADV_DONTDUMP);
        NonNull::new(place.cast())
    }
}

/// Bytes taken from [`Bump`]s: heapglass's own tables, nearly all of them touched.
static OWN: AtomicU64 = AtomicU64::new(0);

/// Bytes of heapglass's own tables in private memory.
pub(crate) fn own_pages() -> u64 {
    OWN.load(Ordering::Relaxed)
}

/// A bump allocator over private mappings for tables that live until the process ends.
pub(crate) struct Bump {
    next: usize,
    end: usize,
}

const PIECE: usize = 256 << 10;

impl Bump {
    pub(crate) const fn new() -> Self {
        Bump { next: 0, end: 0 }
    }

    /// Zeroed memory for `count` values of `T`, for whom all-zero bytes must be a value. Never given back.
    pub(crate) fn take<T>(&mut self, count: usize) -> Option<NonNull<T>> {
        let bytes = size_of::<T>().checked_mul(count)?;
        let align = align_of::<T>().max(64);
        let mut start = self.next.checked_next_multiple_of(align)?;
        if start.checked_add(bytes)? > self.end {
            let piece = bytes.checked_add(align)?.max(PIECE);
            let place = map_private(piece)?.as_ptr() as usize;
            // A large table gets a mapping of its own; what was left of the present piece stays in use.
            if bytes >= PIECE / 2 {
                OWN.fetch_add(bytes as u64, Ordering::Relaxed);
                return NonNull::new(place as *mut T);
            }
            (start, self.end) = (place, place + piece);
        }
        self.next = start + bytes;
        OWN.fetch_add(bytes as u64, Ordering::Relaxed);
        NonNull::new(start as *mut T)
    }
}

/// Resident bytes of a mapping, by mincore; 0 when the kernel does not say.
///
/// # Safety
/// `start` must be page-aligned and `start .. start + bytes` mapped.
pub(crate) unsafe fn resident_bytes(start: usize, bytes: usize) -> u64 {
    const PAGE: usize = 4096;
    let mut pages = [0u8; 512];
    let mut resident = 0;
    let mut offset = 0;
    while offset < bytes {
        let span = (bytes - offset).min(pages.len() * PAGE);
        // SAFETY: the range is mapped (caller) and `pages` has a byte for each page of the span.
        if unsafe {
            libc::mincore(
                (start + offset) as *mut libc::c_void,
                span,
                pages.as_mut_ptr(),
            )
        } != 0
        {
            return resident;
        }
        resident += pages[..span.div_ceil(PAGE)]
            .iter()
            .filter(|page| **page & 1 != 0)
            .count() as u64
            * PAGE as u64;
        offset += span;
    }
    resident
}
