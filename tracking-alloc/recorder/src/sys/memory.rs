//! Memory for heapglass itself: from mmap only, never from the hooked allocator.

use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Maps `bytes` of zeroed private memory that costs nothing until touched. Returns `None` if the
/// system refuses.
pub fn map_private(bytes: usize) -> Option<NonNull<u8>> {
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
        // Huge pages would make each first touch 2 MiB; core dumps have no use for our tables. Both
        // are only advice.
        libc::madvise(place, bytes, libc::MADV_NOHUGEPAGE);
        libc::madvise(place, bytes, libc::MADV_DONTDUMP);
        NonNull::new(place.cast())
    }
}

/// Pages are not populated: the system refused it once.
static REFUSES_TO_POPULATE: AtomicBool = AtomicBool::new(false);

/// Makes whole pages of our own memory resident, as writing to each would. Returns `false` if the
/// system does not, or cannot (Linux before 5.14).
pub(crate) fn populate(start: usize, bytes: usize) -> bool {
    if REFUSES_TO_POPULATE.load(Ordering::Relaxed) || super::is_quiet() {
        return false;
    }
    let _errno = super::Errno::keep();
    // SAFETY: populating changes no content; the pages are ours (caller).
    let is_done = unsafe {
        libc::madvise(
            std::ptr::with_exposed_provenance_mut(start),
            bytes,
            libc::MADV_POPULATE_WRITE,
        ) == 0
    };
    if !is_done {
        REFUSES_TO_POPULATE.store(true, Ordering::Relaxed);
    }
    is_done
}

/// Fills `buffer` from this process's memory at `start`, by the kernel: what is not mapped is an
/// answer and no fault.
pub(crate) fn read_own_memory(start: u64, buffer: &mut [u8]) -> bool {
    let (local, remote) = (
        libc::iovec {
            iov_base: buffer.as_mut_ptr().cast(),
            iov_len: buffer.len(),
        },
        libc::iovec {
            iov_base: std::ptr::with_exposed_provenance_mut(start as usize),
            iov_len: buffer.len(),
        },
    );
    // SAFETY: the kernel writes into the buffer, which is valid for its length, and checks the
    // other address.
    let read = unsafe {
        libc::syscall(
            libc::SYS_process_vm_readv,
            libc::getpid(),
            &raw const local,
            1usize,
            &raw const remote,
            1usize,
            0usize,
        )
    };
    usize::try_from(read) == Ok(buffer.len())
}

/// Pages of heapglass's own that are counted are of this size at least, bytes.
pub(crate) const PAGE: usize = 4096;

/// Bytes of pages of heapglass's own memory that were written.
static OWN: AtomicU64 = AtomicU64::new(0);

/// Bytes of pages that were written: of its tables, the shadow map and the recording. Where pages
/// are larger than [`PAGE`], or a table is only in part counted, less than are resident; never
/// more.
pub(crate) fn own_bytes() -> u64 {
    OWN.load(Ordering::Relaxed)
}

/// Bytes of pages that are written for the first time.
pub(crate) fn count_own(bytes: usize) {
    OWN.fetch_add(bytes as u64, Ordering::Relaxed);
}

/// Bytes that were counted and given back.
pub(crate) fn uncount_own(bytes: usize) {
    OWN.fetch_sub(bytes as u64, Ordering::Relaxed);
}

/// Counts the pages of memory that is written from its start on, each once.
pub(crate) struct WrittenPages {
    /// Up to here.
    end: usize,
}

impl WrittenPages {
    /// Of memory that begins here; the page it begins in is not counted if it is shared with what
    /// lies before.
    pub(crate) const fn from(start: usize) -> Self {
        WrittenPages { end: start }
    }

    /// It is written up to `end`.
    #[inline]
    pub(crate) fn up_to(&mut self, end: usize) {
        if end > self.end {
            self.advance(end);
        }
    }

    #[cold]
    fn advance(&mut self, end: usize) {
        let start = self.end.next_multiple_of(PAGE);
        self.end = end.next_multiple_of(PAGE);
        count_own(self.end.saturating_sub(start));
    }
}

/// A bump allocator over private mappings for tables that live until the process ends.
pub(crate) struct Bump {
    next: usize,
    end: usize,
    written: WrittenPages,
}

/// Bytes mapped at once.
const PIECE: usize = 256 << 10;
/// Tables from this size on get a mapping of their own.
const LARGE: usize = PIECE / 2;

impl Bump {
    pub(crate) const fn new() -> Self {
        Bump {
            next: 0,
            end: 0,
            written: WrittenPages::from(0),
        }
    }

    /// Zeroed memory for `count` values of `T`, for whom all-zero bytes must be a value. Never
    /// given back. Its pages count as written.
    pub(crate) fn take<T>(&mut self, count: usize) -> Option<NonNull<T>> {
        let bytes = size_of::<T>().checked_mul(count)?;
        let place = self.carve(bytes, align_of::<T>().max(64))?;
        if bytes < LARGE {
            self.written.up_to(self.next);
        } else {
            count_own(bytes / PAGE * PAGE);
        }
        Some(place.cast())
    }

    /// The same, beginning on a page of its own; whoever writes counts its pages.
    pub(crate) fn take_sparse<T>(&mut self, count: usize) -> Option<NonNull<T>> {
        let bytes = size_of::<T>().checked_mul(count)?.next_multiple_of(PAGE);
        let place = self.carve(bytes, PAGE)?;
        if bytes < LARGE {
            self.written = WrittenPages::from(self.next);
        }
        Some(place.cast())
    }

    fn carve(&mut self, bytes: usize, align: usize) -> Option<NonNull<u8>> {
        if bytes >= LARGE {
            return map_private(bytes);
        }
        let mut start = self.next.checked_next_multiple_of(align)?;
        if start + bytes > self.end {
            start = map_private(PIECE)?.as_ptr() as usize;
            self.end = start + PIECE;
            self.written = WrittenPages::from(start);
        }
        self.next = start + bytes;
        NonNull::new(start as *mut u8)
    }
}
