//! The segments of a recording. The store allocates pieces of tables from reserved memory and
//! enters them in the directory.

use super::backing::{Backing, Refusal};
use crate::sys;
use std::ptr::{NonNull, null};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};
use tracking_alloc_recording::{
    DIRECTORY_BYTES, FIRST_SEGMENT_BYTES, HEADER_BYTES, Header, Record, SEGMENT_BYTES, Segment,
    SegmentValue, growth, table,
};

/// A recording being written.
pub(crate) struct Store {
    backing: Backing,
    /// The current size of the recording in bytes.
    end: u64,
    header: *const Header,
    /// The rest of the last reserved piece.
    pool: *mut u8,
    pool_offset: u64,
    pool_bytes: u64,
    /// The current piece of the directory, and the number of its entries in use.
    directory: *const Segment,
    directory_used: usize,
    /// Mappings, to read the recording back from memory (finish, in-memory recordings).
    pieces: [(usize, u64); Store::MAX_PIECES],
    pieces_len: usize,
}

/// The time of the next attempt after a failed growth, in monotonic nanoseconds. It is 0 if growth
/// has not failed, or will never be tried again.
static RETRY_NS: AtomicU64 = AtomicU64::new(0);
/// Number of times growth resumed after a failure. Lanes that got "(table full)" then try again.
static RESUMED: AtomicU32 = AtomicU32::new(0);

/// Returns the number of times growth resumed after a failure.
pub(crate) fn growths_resumed() -> u32 {
    RESUMED.load(Acquire)
}

/// Returns `true` if a failed growth should be tried again now.
#[inline]
pub(crate) fn is_retry_due() -> bool {
    let at = RETRY_NS.load(Relaxed);
    at != 0 && sys::now_ns() >= at
}

// SAFETY: a store is reached only under the write lock. Its pointers lead to memory that is mapped
// while the recording is current.
unsafe impl Send for Store {}

impl Store {
    /// Maximum number of mappings. Growth steps increase with the file, so this many reach far
    /// beyond every size limit.
    const MAX_PIECES: usize = 4096;
    /// Number of entries in a piece of the directory.
    const DIRECTORY_ROOM: usize = DIRECTORY_BYTES as usize / size_of::<Segment>();
    /// After a failed growth, the wait before the next attempt is this many times as long as the
    /// attempt took.
    const PATIENCE: u64 = 64;
    const LONGEST_WAIT_NS: u64 = 1_000_000_000;

    /// Reserves the first segment and lays out header and directory.
    ///
    /// # Safety
    /// `at` must be zeroed memory for a `Store` that nobody else reaches.
    pub(crate) unsafe fn create(
        at: NonNull<Store>,
        backing: Backing,
        reserve: u64,
    ) -> Result<(), Refusal> {
        // SAFETY: `at` is ours (guaranteed by the caller). Zeros are valid for all fields except
        // the backing.
        let store = unsafe {
            (&raw mut (*at.as_ptr()).backing).write(backing);
            &mut *at.as_ptr()
        };
        // A forked child starts from the beginning.
        RETRY_NS.store(0, Relaxed);
        store.grow(FIRST_SEGMENT_BYTES.max(reserve))?;
        // The first segment is larger than header and directory together.
        store.carve(HEADER_BYTES);
        let directory = store.carve(DIRECTORY_BYTES);
        store.directory = directory.map_or(null(), |(place, _)| place.as_ptr().cast());
        Ok(())
    }

    /// Returns the header, which is mapped while the recording is current.
    pub(crate) fn header(&self) -> &'static Header {
        // SAFETY: set when the store was created and mapped while the recording is current. All its
        // words are atomics.
        unsafe { &*self.header }
    }

    /// Returns a zeroed piece of `bytes` for a table, and enters it in the directory. Returns
    /// `None` if there is no room now.
    pub(crate) fn segment(
        &mut self,
        table: u32,
        lane: u32,
        bytes: u64,
        first: u64,
    ) -> Option<NonNull<u8>> {
        if self.directory_used + 1 >= Self::DIRECTORY_ROOM {
            self.extend_directory()?;
        }
        let (place, offset) = self.carve(bytes)?;
        self.add_entry(SegmentValue {
            table,
            lane,
            offset,
            bytes,
            first,
        });
        Some(place)
    }

    fn add_entry(&mut self, entry: SegmentValue) {
        // SAFETY: `segment` keeps one entry free, in which the directory continues. All words are
        // atomics.
        entry.store(unsafe { &*self.directory.add(self.directory_used) });
        self.directory_used += 1;
        self.header().directory_len.fetch_add(1, Release);
    }

    /// Enters the next piece of the directory in the last free entry of the current one.
    fn extend_directory(&mut self) -> Option<()> {
        let (place, offset) = self.carve(DIRECTORY_BYTES)?;
        self.add_entry(SegmentValue {
            table: table::DIRECTORY,
            offset,
            bytes: DIRECTORY_BYTES,
            ..SegmentValue::default()
        });
        self.directory = place.as_ptr().cast();
        self.directory_used = 0;
        Some(())
    }

    fn carve(&mut self, bytes: u64) -> Option<(NonNull<u8>, u64)> {
        // Pieces begin on separate pages, so that the written ones can be counted.
        let bytes = bytes.next_multiple_of(sys::PAGE as u64);
        if bytes > self.pool_bytes {
            self.refill(bytes)?;
        }
        let (place, offset) = (NonNull::new(self.pool)?, self.pool_offset);
        // SAFETY: the pool has `pool_bytes >= bytes` left.
        self.pool = unsafe { self.pool.add(bytes as usize) };
        self.pool_offset += bytes;
        self.pool_bytes -= bytes;
        Some((place, offset))
    }

    /// Reserves a new piece. The rest of the old one stays unused.
    ///
    /// A failure need not be permanent: descriptors are closed, and disk space is freed. The store
    /// tries again, but attempts take at most one part in [`Store::PATIENCE`] of the time, so that
    /// not every event makes one.
    #[cold]
    fn refill(&mut self, bytes: u64) -> Option<()> {
        let header = self.header();
        let ended = header.growth_ended.load(Relaxed);
        if ended == growth::CAP || ended != growth::OPEN && !is_retry_due() {
            return None;
        }
        // Steps increase with the file (3 %), which keeps both the number of mappings and the
        // unused space small.
        let step = (self.end / 32).clamp(SEGMENT_BYTES, 4 << 20);
        let least = bytes.next_multiple_of(SEGMENT_BYTES);
        let wanted = least.max(step.next_multiple_of(SEGMENT_BYTES));
        let asked_ns = sys::now_ns();
        let mut grown = self.grow(wanted);
        if grown.is_err() && least < wanted {
            // The remaining space may be enough for this request.
            grown = self.grow(least);
        }
        match grown {
            Ok(()) => {
                if ended != growth::OPEN {
                    // NOTE: `growth_errno` stays, because it shows that there was a time without
                    // growth.
                    header.growth_ended.store(growth::OPEN, Release);
                    RETRY_NS.store(0, Relaxed);
                    RESUMED.fetch_add(1, Release);
                }
                Some(())
            }
            Err(refusal) => {
                header.growth_errno.store(refusal.errno as u32, Relaxed);
                header.growth_ended.store(refusal.reason, Release);
                let now = sys::now_ns();
                let wait = now.saturating_sub(asked_ns).max(1) * Self::PATIENCE;
                let at = now + wait.min(Self::LONGEST_WAIT_NS);
                RETRY_NS.store(if refusal.reason == growth::CAP { 0 } else { at }, Relaxed);
                None
            }
        }
    }

    fn grow(&mut self, bytes: u64) -> Result<(), Refusal> {
        if self.pieces_len == Self::MAX_PIECES {
            return Err(Refusal::new(growth::CAP, 0));
        }
        let place = self.backing.grow(self.end, bytes)?;
        if self.header.is_null() {
            // The recording begins with this mapping.
            self.header = place.as_ptr().cast();
        }
        self.pieces[self.pieces_len] = (place.as_ptr() as usize, bytes);
        self.pieces_len += 1;
        (self.pool, self.pool_offset, self.pool_bytes) = (place.as_ptr(), self.end, bytes);
        self.end += bytes;
        self.header().file_bytes.store(self.end, Release);
        Ok(())
    }

    /// Removes the mappings of a finished file from memory. Nobody may use them any more.
    pub(crate) fn unmap(&mut self) {
        if matches!(self.backing, Backing::File { .. }) {
            for (start, bytes) in &self.pieces[..self.pieces_len] {
                let start = std::ptr::with_exposed_provenance_mut(*start);
                // SAFETY: a whole mapping of the file, which nobody uses (guaranteed by the
                // caller).
                unsafe { libc::munmap(start, *bytes as usize) };
            }
            self.pieces_len = 0;
        }
    }

    /// Tries a failed growth again if it is time, even if no room is needed now.
    pub(crate) fn retry(&mut self) {
        if is_retry_due() && self.header().growth_ended.load(Relaxed) != growth::OPEN {
            let _ = self.refill(SEGMENT_BYTES);
        }
    }

    /// Returns the words of each mapping, in the order of the file. Threads that are still inside
    /// the hook may write to them.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = &'static [AtomicU64]> {
        let pieces = &self.pieces[..self.pieces_len];
        pieces.iter().map(|(start, bytes)| {
            let words = *bytes as usize / size_of::<AtomicU64>();
            // SAFETY: mappings are whole pages that stay while the recording is current. All other
            // accesses to them are atomic too.
            unsafe { std::slice::from_raw_parts(*start as *const AtomicU64, words) }
        })
    }
}
