//! Memory for heapglass itself. It comes only from mmap, never from the observed allocator.

use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Maps `bytes` of zeroed private memory, which costs nothing until it is touched. Returns `None`
/// if the system refuses.
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
        // With huge pages, each first touch would take 2 MiB. Core dumps do not need our tables.
        // Both calls are only advice.
        libc::madvise(place, bytes, libc::MADV_NOHUGEPAGE);
        libc::madvise(place, bytes, libc::MADV_DONTDUMP);
        NonNull::new(place.cast())
    }
}

/// `true` if the system once refused to populate pages.
static REFUSES_TO_POPULATE: AtomicBool = AtomicBool::new(false);

/// Makes whole pages of our own memory resident, as if each were written to. Returns `false` if the
/// system refuses or cannot do this (Linux before 5.14).
pub(crate) fn populate(start: usize, bytes: usize) -> bool {
    if REFUSES_TO_POPULATE.load(Ordering::Relaxed) || super::is_quiet() {
        return false;
    }
    let _errno = super::Errno::keep();
    // SAFETY: populating changes no content, and the pages are ours (guaranteed by the caller).
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

/// Fills `buffer` from this process's memory at `start`. The kernel copies the bytes, so unmapped
/// memory gives `false` and no fault.
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
    // SAFETY: the kernel writes into the buffer, which is valid for its length, and it checks the
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

/// The minimum size of a counted page of heapglass's own memory, in bytes.
pub(crate) const PAGE: usize = 4096;

/// The bytes of heapglass's own pages that were written.
static OWN: AtomicU64 = AtomicU64::new(0);

/// Returns the bytes of heapglass's own pages that were written: its tables, the shadow map and the
/// recording. If pages are larger than [`PAGE`], or a table is only partly counted, this is less
/// than the resident bytes. It is never more.
pub(crate) fn own_bytes() -> u64 {
    OWN.load(Ordering::Relaxed)
}

/// Adds the bytes of pages that are written for the first time.
pub(crate) fn count_own(bytes: usize) {
    OWN.fetch_add(bytes as u64, Ordering::Relaxed);
}

/// Subtracts counted bytes that were freed.
pub(crate) fn uncount_own(bytes: usize) {
    OWN.fetch_sub(bytes as u64, Ordering::Relaxed);
}

/// Counts the pages of memory that is written from its start onwards, each once.
pub(crate) struct WrittenPages {
    /// The end of the counted memory.
    end: usize,
}

impl WrittenPages {
    /// Creates the counter for memory that begins at `start`. If `start` shares its page with
    /// earlier memory, that page is not counted.
    pub(crate) const fn from(start: usize) -> Self {
        WrittenPages { end: start }
    }

    /// Notes that the memory is written up to `end`.
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

/// A bump allocator over private mappings, for tables that live until the process ends.
pub(crate) struct Bump {
    next: usize,
    end: usize,
    written: WrittenPages,
}

/// The number of bytes mapped at once.
const PIECE: usize = 256 << 10;
/// Tables of at least this size get a mapping of their own.
const LARGE: usize = PIECE / 2;

impl Bump {
    pub(crate) const fn new() -> Self {
        Bump {
            next: 0,
            end: 0,
            written: WrittenPages::from(0),
        }
    }

    /// Returns zeroed memory for `count` values of `T`, for which all-zero bytes must be a valid
    /// value. The memory is never freed. Its pages count as written.
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

    /// Returns memory like [`take`](Self::take), but on pages of its own. The writer counts the
    /// pages.
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
