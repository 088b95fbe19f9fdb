//! The directory: the table of each piece of the file. Everything else follows the directory, and
//! nothing else knows offsets.

use super::error::Error;
use super::limits;
use super::pieces::{self, Zeros};
use super::source::ReadAt;
use crate::layout::*;
use crate::tables::TableRecord;
use crate::words::Record;
use std::collections::BTreeMap;

/// Segments by (table, lane), in order of their first record.
pub(super) struct Directory<'s> {
    source: &'s dyn ReadAt,
    segments: BTreeMap<(u32, u32), Vec<SegmentValue>>,
}

/// Start of the directory, directly after the header.
const DIRECTORY_OFFSET: u64 = HEADER_BYTES;

impl<'s> Directory<'s> {
    /// Reads the number of entries that the header states. The directory contains its own
    /// continuation: an entry of the table `DIRECTORY`, which is read in turn.
    pub(super) fn read(
        source: &'s dyn ReadAt,
        file_bytes: u64,
        header: &HeaderValue,
    ) -> Result<Self, Error> {
        let length = u64::from(header.directory_len);
        // No segment is shorter than 64 bytes, and no two segments overlap. So a longer directory
        // is forged.
        if length > file_bytes / 64 {
            return Err(Error::damaged(
                "the directory lists more segments than fit into the file",
            ));
        }
        let size = SegmentValue::SIZE;
        let mut left = length;
        let mut rest = Some((DIRECTORY_OFFSET, DIRECTORY_BYTES));
        let mut entries: Vec<SegmentValue> = Vec::new();
        let mut zeros = Zeros::of_records(size, false);
        while let Some((offset, bytes)) = rest.take() {
            let count = (bytes / size as u64).min(left);
            left -= count;
            let mut next = None;
            let place = (offset, count * size as u64);
            pieces::read(source, place, size, &mut zeros, |piece| {
                pieces::reserve(&mut entries, piece.len() / size)?;
                for entry in piece.chunks_exact(size).map(SegmentValue::parse) {
                    check(&entry, file_bytes)?;
                    if entry.table == table::DIRECTORY {
                        next = Some((entry.offset, entry.bytes));
                    } else {
                        entries.push(entry);
                    }
                }
                Ok(())
            })?;
            // A writer reserves each piece after the one that refers to it.
            if next.is_some_and(|(next, _)| next < offset.saturating_add(bytes)) {
                return Err(Error::damaged("the directory refers back to itself"));
            }
            rest = next;
        }
        if left > 0 {
            return Err(Error::damaged(
                "the directory is shorter than the header says",
            ));
        }
        refuse_overlaps(&entries)?;
        let mut segments: BTreeMap<(u32, u32), Vec<SegmentValue>> = BTreeMap::new();
        for entry in entries {
            let of = segments.entry((entry.table, entry.lane));
            of.or_default().push(entry);
        }
        for pieces in segments.values_mut() {
            pieces.sort_by_key(|entry| entry.first);
        }
        Ok(Directory { source, segments })
    }

    /// Returns the first `length` bytes of a table, or fewer if its segments hold fewer.
    pub(super) fn bytes(&self, table: u32, length: u64) -> Result<Vec<u8>, Error> {
        let mut out = Vec::new();
        self.gather((table, 0), 1, length, |piece| {
            pieces::reserve(&mut out, piece.len())?;
            out.extend_from_slice(piece);
            Ok(())
        })?;
        Ok(out)
    }

    /// Returns the published records of a table.
    pub(super) fn table<R: TableRecord>(&self, header: &HeaderValue) -> Result<Vec<R>, Error> {
        self.records((R::TABLE, 0), R::published(header))
    }

    /// Returns the first `length` records of a table, or of one lane's part of it; fewer if its
    /// segments hold fewer.
    pub(super) fn records<R: Record>(
        &self,
        (table, lane): (u32, u32),
        length: impl Into<u64>,
    ) -> Result<Vec<R>, Error> {
        let mut out = Vec::new();
        self.gather((table, lane), R::SIZE, length.into(), |piece| {
            pieces::reserve(&mut out, piece.len() / R::SIZE)?;
            out.extend(piece.chunks_exact(R::SIZE).map(R::parse));
            Ok(())
        })?;
        Ok(out)
    }

    /// Returns all records of a table with the length of its segments.
    pub(super) fn all<R: Record>(&self, table: u32) -> Result<Vec<R>, Error> {
        let pieces = self.segments.get(&(table, 0)).into_iter().flatten();
        let records = pieces.map(|piece| piece.bytes / R::SIZE as u64);
        self.records((table, 0), records.fold(0, u64::saturating_add))
    }

    /// Returns a table with the length of its segments, or `None` if it has none.
    pub(super) fn whole(&self, table: u32) -> Result<Option<Vec<u8>>, Error> {
        let Some(pieces) = self.segments.get(&(table, 0)) else {
            return Ok(None);
        };
        let bytes = pieces.iter().map(|piece| piece.bytes);
        let length = bytes.fold(0, u64::saturating_add);
        self.bytes(table, length).map(Some)
    }

    /// Calls `each` with the first `length` records of a table, some at a time.
    fn gather(
        &self,
        (table, lane): (u32, u32),
        size: usize,
        length: u64,
        mut each: impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        limits::check(table, length)?;
        let mut zeros = Zeros::of_records(size, limits::is_sparse(table));
        let mut done = 0;
        for segment in self.segments.get(&(table, lane)).into_iter().flatten() {
            if segment.first >= length {
                break;
            }
            if segment.first != done {
                return Err(Error::damaged(format!(
                    "table {table} has a gap before record {}",
                    segment.first
                )));
            }
            let records = (segment.bytes / size as u64).min(length - done);
            let place = (segment.offset, records * size as u64);
            pieces::read(self.source, place, size, &mut zeros, &mut each)?;
            done += records;
        }
        Ok(())
    }
}

/// Rejects an entry that lies outside the file.
fn check(entry: &SegmentValue, file_bytes: u64) -> Result<(), Error> {
    let end = entry.offset.checked_add(entry.bytes);
    if entry.offset < HEADER_BYTES || end.is_none_or(|end| end > file_bytes) {
        return Err(Error::damaged(format!(
            "a segment of table {} lies outside the file",
            entry.table
        )));
    }
    Ok(())
}

/// Rejects segments that overlap. Otherwise a small file could pass for a large one.
fn refuse_overlaps(entries: &[SegmentValue]) -> Result<(), Error> {
    let mut places: Vec<(u64, u64)> = entries
        .iter()
        .map(|entry| (entry.offset, entry.offset + entry.bytes))
        .collect();
    places.sort_unstable();
    if places.windows(2).any(|pair| pair[0].1 > pair[1].0) {
        return Err(Error::damaged("two segments overlap"));
    }
    Ok(())
}
