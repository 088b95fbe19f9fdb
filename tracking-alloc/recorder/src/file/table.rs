//! One table of the recording while it is written, with the place of its next record.

use super::store::Store;
use crate::sys::WrittenPages;
use std::ptr::NonNull;
use tracking_alloc_recording::Record;

/// A chain of segments that is being filled. New records are zero; the caller fills them, then
/// publishes the length.
pub(crate) struct Table {
    id: u32,
    lane: u32,
    /// The size of the next segment in bytes. It doubles up to `most_bytes`.
    next_bytes: usize,
    most_bytes: usize,
    /// Number of records handed out.
    len: u64,
    /// Number of records that fit up to the end of the current segment.
    room: u64,
    /// Address of record `len`.
    next: *mut u8,
    /// The pages of the current segment that were written.
    written: WrittenPages,
}

// SAFETY: one thread at a time reaches a table, under the write lock or as the owner of its lane.
unsafe impl Send for Table {}

impl Table {
    pub(crate) const fn new(id: u32, lane: u32, first_bytes: usize, most_bytes: usize) -> Self {
        Table {
            id,
            lane,
            next_bytes: first_bytes,
            most_bytes,
            len: 0,
            room: 0,
            next: std::ptr::null_mut(),
            written: WrittenPages::from(0),
        }
    }

    /// Returns the number of records handed out.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Returns the next record if the current segment has room.
    #[inline]
    pub(crate) fn push_within<T>(&mut self) -> Option<(u64, NonNull<T>)> {
        if self.len >= self.room {
            return None;
        }
        let record = NonNull::new(self.next.cast::<T>())?;
        // SAFETY: record `len` lies inside the segment, so one past it is at most its end.
        self.next = unsafe { self.next.add(size_of::<T>()) };
        self.written.up_to(self.next as usize);
        self.len += 1;
        Some((self.len - 1, record))
    }

    /// Returns the index and place of the next record, or `None` if the recording cannot grow.
    pub(crate) fn push<T>(&mut self, store: &mut Store) -> Option<(u64, NonNull<T>)> {
        if self.len >= self.room {
            self.extend(store, size_of::<T>(), size_of::<T>())?;
        }
        self.push_within()
    }

    /// Adds a record. Returns its index and place, or `None` if the recording cannot grow.
    pub(crate) fn add<R: Record>(
        &mut self,
        store: &mut Store,
        record: R,
    ) -> Option<(u32, &'static R::Cells)> {
        let (index, place) = self.push::<R::Cells>(store)?;
        // SAFETY: a zeroed record that was just handed out and is mapped while the recording is
        // current. All its words are atomics.
        let cells: &'static R::Cells = unsafe { place.as_ref() };
        record.store(cells);
        Some((index as u32, cells))
    }

    /// Copies bytes to the end as one piece within one segment (for tables of bytes). Returns its
    /// index and address.
    pub(crate) fn push_bytes(
        &mut self,
        store: &mut Store,
        pieces: &[&[u8]],
    ) -> Option<(u64, *const u8)> {
        let bytes: usize = pieces.iter().map(|piece| piece.len()).sum();
        if self.len + bytes as u64 > self.room {
            // The rest of the segment is skipped. Indices continue in the next one, so count the
            // rest as used.
            let before = std::mem::replace(&mut self.len, self.room);
            if self.extend(store, bytes, 1).is_none() {
                self.len = before;
                return None;
            }
        }
        let (start, place) = (self.len, self.next.cast_const());
        for piece in pieces {
            // SAFETY: the segment has room for all pieces (checked above), and nobody else writes
            // there.
            unsafe {
                std::ptr::copy_nonoverlapping(piece.as_ptr(), self.next, piece.len());
                self.next = self.next.add(piece.len());
            }
        }
        self.written.up_to(self.next as usize);
        self.len += bytes as u64;
        Some((start, place))
    }

    /// Begins a new segment with room for at least `least` bytes.
    fn extend(&mut self, store: &mut Store, least: usize, record_bytes: usize) -> Option<()> {
        let bytes = self.next_bytes.max(least.next_multiple_of(4096));
        // Only whole records are used. The rest at the end stays zero.
        let fitting = bytes / record_bytes;
        let place = store.segment(self.id, self.lane, bytes as u64, self.len)?;
        self.next = place.as_ptr();
        self.written = WrittenPages::from(self.next as usize);
        self.room = self.len + fitting as u64;
        self.next_bytes = (self.next_bytes * 2).min(self.most_bytes);
        Some(())
    }
}
