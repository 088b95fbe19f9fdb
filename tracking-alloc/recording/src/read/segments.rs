//! The directory: which pieces of the file belong to which table. Everything else follows it, nothing else knows offsets.

use super::error::Error;
use super::source::ReadAt;
use crate::layout::*;
use crate::words::Record;
use std::collections::BTreeMap;

/// Segments by (table, lane), in order of their first record.
pub(super) struct Directory {
    segments: BTreeMap<(u32, u32), Vec<SegmentValue>>,
}

/// Where the directory begins: right behind the header.
const DIRECTORY_OFFSET: u64 = HEADER_BYTES;

impl Directory {
    /// Reads `length` entries. The directory names its own continuation: an entry of table `DIRECTORY`, read in turn.
    pub(super) fn read<S: ReadAt + ?Sized>(
        source: &S,
        file_bytes: u64,
        length: u32,
    ) -> Result<Directory, Error> {
        // No segment is shorter than 64 bytes, and no two share any: a longer directory is made up.
        if u64::from(length) > file_bytes / 64 {
            return Err(Error::damaged(
                "its directory claims more segments than the file has room for",
            ));
        }
        let mut left = u64::from(length);
        let mut place = Some((DIRECTORY_OFFSET, DIRECTORY_BYTES));
        let mut entries: Vec<SegmentValue> = Vec::new();
        let mut pieces = 0u64;
        while let Some((offset, bytes)) = place.take() {
            pieces += 1;
            if pieces > file_bytes / SEGMENT_BYTES + 1 {
                return Err(Error::damaged("its directory runs in a circle"));
            }
            let count = (bytes / SegmentValue::SIZE as u64).min(left);
            let mut buffer = vec![0; count as usize * SegmentValue::SIZE];
            if source.fill_at(&mut buffer, offset)? < buffer.len() {
                return Err(Error::damaged(
                    "its directory runs past the end of the file",
                ));
            }
            left -= count;
            for entry in buffer
                .chunks_exact(SegmentValue::SIZE)
                .map(SegmentValue::parse)
            {
                check(&entry, file_bytes)?;
                if entry.table == table::DIRECTORY {
                    place = Some((entry.offset, entry.bytes));
                } else {
                    entries.push(entry);
                }
            }
        }
        if left > 0 {
            return Err(Error::damaged(
                "its directory is shorter than its header says",
            ));
        }
        refuse_overlaps(&entries)?;
        let mut segments: BTreeMap<(u32, u32), Vec<SegmentValue>> = BTreeMap::new();
        for entry in entries {
            segments
                .entry((entry.table, entry.lane))
                .or_default()
                .push(entry);
        }
        segments
            .values_mut()
            .for_each(|pieces| pieces.sort_by_key(|entry| entry.first));
        Ok(Directory { segments })
    }

    /// The first `length` bytes of a table. Fewer, when its segments hold fewer.
    pub(super) fn bytes<S: ReadAt + ?Sized>(
        &self,
        source: &S,
        table: u32,
        lane: u32,
        length: u64,
    ) -> Result<Vec<u8>, Error> {
        self.gather(source, table, lane, 1, length)
    }

    /// The first `length` records of a table. Fewer, when its segments hold fewer.
    pub(super) fn records<S: ReadAt + ?Sized, R: Record>(
        &self,
        source: &S,
        table: u32,
        lane: u32,
        length: u64,
    ) -> Result<Vec<R>, Error> {
        let bytes = self.gather(source, table, lane, R::SIZE as u64, length)?;
        Ok(bytes.chunks_exact(R::SIZE).map(R::parse).collect())
    }

    /// A table as long as its segments are, or `None` without any.
    pub(super) fn whole<S: ReadAt + ?Sized>(
        &self,
        source: &S,
        table: u32,
    ) -> Result<Option<Vec<u8>>, Error> {
        let Some(pieces) = self.segments.get(&(table, 0)) else {
            return Ok(None);
        };
        let length = pieces.iter().map(|piece| piece.bytes).sum();
        self.bytes(source, table, 0, length).map(Some)
    }

    fn gather<S: ReadAt + ?Sized>(
        &self,
        source: &S,
        table: u32,
        lane: u32,
        record: u64,
        length: u64,
    ) -> Result<Vec<u8>, Error> {
        let mut out = Vec::new();
        for piece in self.segments.get(&(table, lane)).into_iter().flatten() {
            if piece.first >= length {
                break;
            }
            if piece.first != out.len() as u64 / record {
                return Err(Error::damaged(format!(
                    "table {table} has a gap before record {}",
                    piece.first
                )));
            }
            let records = (piece.bytes / record).min(length - piece.first);
            let start = out.len();
            out.resize(start + (records * record) as usize, 0);
            if source.fill_at(&mut out[start..], piece.offset)? < (records * record) as usize {
                return Err(Error::damaged(format!(
                    "table {table} runs past the end of the file"
                )));
            }
        }
        Ok(out)
    }
}

/// Refuses an entry that lies outside the file.
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

/// Refuses segments that share bytes: else a small file could claim to be a large one.
fn refuse_overlaps(entries: &[SegmentValue]) -> Result<(), Error> {
    let mut places: Vec<(u64, u64)> = entries
        .iter()
        .map(|entry| (entry.offset, entry.offset + entry.bytes))
        .collect();
    places.sort_unstable();
    if places.windows(2).any(|pair| pair[0].1 > pair[1].0) {
        return Err(Error::damaged("two of its segments overlap"));
    }
    Ok(())
}
