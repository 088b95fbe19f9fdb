//! Memory for heapglass itself. It comes only from mmap, never from the observed allocator.

use super::Lock;
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

/// Mappings of a recording. The next recording of the process uses them again.
struct Kept {
    list: *mut Mapping,
    len: usize,
    room: usize,
    free: usize,
}

#[derive(Clone, Copy)]
struct Mapping {
    start: usize,
    bytes: usize,
    is_free: bool,
}

// SAFETY: the list is reached under the lock.
unsafe impl Send for Kept {}

static KEPT: Lock<Kept> = Lock::new(Kept::new());

/// Attempts to get the lock. A signal handler may have interrupted its holder.
const TRIES: u32 = 1000;

impl Kept {
    const fn new() -> Kept {
        Kept {
            list: null_mut(),
            len: 0,
            room: 0,
            free: 0,
        }
    }

    fn all(&mut self) -> &mut [Mapping] {
        if self.list.is_null() {
            return &mut [];
        }
        // SAFETY: `len` entries are written, and reached under the lock.
        unsafe { std::slice::from_raw_parts_mut(self.list, self.len) }
    }

    /// Returns a free mapping of exactly this size.
    fn take(&mut self, bytes: usize) -> Option<NonNull<u8>> {
        if self.free == 0 {
            return None;
        }
        let mut all = self.all().iter_mut();
        let found = all.find(|of| of.is_free && of.bytes == bytes)?;
        found.is_free = false;
        let start = found.start;
        self.free -= 1;
        NonNull::new(std::ptr::with_exposed_provenance_mut(start))
    }

    /// Notes a mapping. Without memory for the note, the mapping is never used again.
    fn add(&mut self, place: NonNull<u8>, bytes: usize) {
        if self.len == self.room && !self.grow() {
            return;
        }
        let mapping = Mapping {
            start: place.as_ptr().expose_provenance(),
            bytes,
            is_free: false,
        };
        // SAFETY: there is room for one more.
        unsafe { self.list.add(self.len).write(mapping) };
        self.len += 1;
    }

    fn grow(&mut self) -> bool {
        let size = |room: usize| (room * size_of::<Mapping>()).next_multiple_of(PAGE);
        let room = (2 * self.room).max(PAGE / size_of::<Mapping>());
        let Some(place) = map_private(size(room)) else {
            return false;
        };
        let list: *mut Mapping = place.as_ptr().cast();
        if !self.list.is_null() {
            // SAFETY: the new list is larger, and nobody else knows the old one.
            unsafe {
                list.copy_from_nonoverlapping(self.list, self.len);
                libc::munmap(self.list.cast(), size(self.room));
            }
        }
        (self.list, self.room) = (list, room);
        true
    }
}

/// Maps memory as [`map_private`] does. The next recording of this process uses it again, after
/// [`recycle`].
pub(crate) fn map_kept(bytes: usize) -> Option<NonNull<u8>> {
    let Some(mut kept) = KEPT.try_lock(TRIES) else {
        return map_private(bytes);
    };
    if let Some(place) = kept.take(bytes) {
        return Some(place);
    }
    let place = map_private(bytes)?;
    kept.add(place, bytes);
    Some(place)
}

/// Gives a mapping of [`map_kept`] back that nobody has written to.
pub(crate) fn give_back(place: NonNull<u8>) {
    let Some(mut kept) = KEPT.try_lock(TRIES) else {
        return;
    };
    let start = place.as_ptr().addr();
    if let Some(mapping) = kept.all().iter_mut().find(|of| of.start == start) {
        mapping.is_free = true;
        kept.free += 1;
    }
}

/// Frees the pages of all mappings of [`map_kept`], whose addresses stay reserved for the next
/// recording. Nobody may use what is in them any more.
pub(crate) fn recycle() {
    let Some(mut kept) = KEPT.try_lock(TRIES) else {
        return;
    };
    for mapping in kept.all().iter_mut().filter(|of| !of.is_free) {
        // SAFETY: a whole private mapping, which nobody uses any more (guaranteed by the caller).
        // Its pages are zeros from now on.
        let is_freed = unsafe {
            let start = std::ptr::with_exposed_provenance_mut(mapping.start);
            libc::madvise(start, mapping.bytes, libc::MADV_DONTNEED) == 0
        };
        mapping.is_free = is_freed;
    }
    kept.free = kept.all().iter().filter(|of| of.is_free).count();
    OWN.store(0, Ordering::Relaxed);
}

/// Forgets the mappings of the parent, in a forked child that begins a recording of its own.
///
/// # Safety
/// No other thread may reach the lock.
pub(crate) unsafe fn forget_kept() {
    // SAFETY: guaranteed by the caller.
    unsafe { KEPT.reset(Kept::new()) };
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

/// A bump allocator over private mappings, for tables that live until the process ends or records
/// again.
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
    /// value. The memory is used until the next recording of the process. Its pages count as
    /// written.
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
            return map_kept(bytes);
        }
        let mut start = self.next.checked_next_multiple_of(align)?;
        if start + bytes > self.end {
            start = map_kept(PIECE)?.as_ptr() as usize;
            self.end = start + PIECE;
            self.written = WrittenPages::from(start);
        }
        self.next = start + bytes;
        NonNull::new(start as *mut u8)
    }
}
