//! Bytes that a recording claims to have, read in bounded pieces.
//!
//! A file may claim terabytes without having them on disk: unwritten parts read as zeros. So
//! nothing is reserved for a claim, memory grows as bytes arrive, and a file with more zeros than a
//! writer leaves is rejected. The contents decide, not the blocks on disk: compressing file systems
//! have fewer blocks, and a sparse copy has holes in place of zeros.

use super::error::{Error, Kind};
use super::source::ReadAt;

/// Bytes read at once.
const PIECE_BYTES: usize = 1 << 20;

/// The unit of the search for zeros.
const PAGE_BYTES: usize = 4096;
const ZEROS: [u8; PAGE_BYTES] = [0; PAGE_BYTES];

/// Consecutive zeros allowed in a table of records. No published record is all zero, except the
/// first in some tables.
const MOST_ZEROS_OF_RECORDS: usize = 64 << 10;

/// Consecutive zeros allowed in a table of bytes. The rest of a segment is skipped if the next
/// string is longer.
const MOST_ZEROS_OF_BYTES: usize = 256 << 10;

/// Empty pieces allowed in a whole recording: `HEAPGLASS_PREALLOC=1` reserves 64.
const MOST_EMPTY_PIECES: usize = 80;

fn is_zero(bytes: &[u8]) -> bool {
    // NOTE: comparing slices is fast in unoptimized builds too.
    bytes
        .chunks(PAGE_BYTES)
        .all(|page| ZEROS.get(..page.len()) == Some(page))
}

/// The run of zeros at the end of the part of a table that has been read.
#[derive(Default)]
pub(super) struct Zeros {
    run: usize,
    most: Option<usize>,
}

impl Zeros {
    /// Creates the counter for records of `size` bytes. With `sparse`, zeros are normal.
    pub(super) fn of_records(size: usize, sparse: bool) -> Zeros {
        let most = match size {
            1 => MOST_ZEROS_OF_BYTES,
            _ => MOST_ZEROS_OF_RECORDS,
        };
        Zeros {
            run: 0,
            most: (!sparse).then_some(most),
        }
    }

    fn add(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let Some(most) = self.most else {
            return Ok(());
        };
        for page in bytes.chunks(PAGE_BYTES) {
            self.run = if is_zero(page) {
                self.run + page.len()
            } else {
                0
            };
            if self.run > most {
                return Err(Error::damaged(
                    "published records were never written: there are only zeros",
                ));
            }
        }
        Ok(())
    }
}

/// Calls `each` with the `bytes` bytes from `offset`, in pieces of whole records of `size` bytes.
pub(super) fn read(
    source: &dyn ReadAt,
    (offset, bytes): (u64, u64),
    size: usize,
    zeros: &mut Zeros,
    mut each: impl FnMut(&[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    let whole = PIECE_BYTES / size * size;
    let mut buffer = Vec::new();
    let mut done = 0;
    while done < bytes {
        let length = (bytes - done).min(whole as u64) as usize;
        reserve(&mut buffer, length)?;
        buffer.resize(length, 0);
        if source.fill_at(&mut buffer, offset + done)? < length {
            return Err(Error::damaged("a table runs past the end of the file"));
        }
        zeros.add(&buffer)?;
        each(&buffer)?;
        done += length as u64;
    }
    Ok(())
}

/// Makes room for `more` elements. Returns an error if there is not enough memory.
pub(super) fn reserve<T>(to: &mut Vec<T>, more: usize) -> Result<(), Error> {
    to.try_reserve(more).map_err(|_| Error(Kind::NoMemory))
}

/// Calls `each` with the first `bytes` bytes of a source, a piece at a time. A mostly empty file is
/// rejected after the maximum number of empty pieces.
pub(super) fn read_all(
    source: &dyn ReadAt,
    bytes: u64,
    mut each: impl FnMut(&[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut buffer = vec![0; PIECE_BYTES];
    let (mut offset, mut empty) = (0, 0);
    while offset < bytes {
        let length = (bytes - offset).min(PIECE_BYTES as u64) as usize;
        let piece = buffer.get_mut(..length).unwrap_or_default();
        let found = source.fill_at(piece, offset)?;
        if found < length {
            return Err(Error::truncated(bytes, offset + found as u64));
        }
        offset += length as u64;
        if length == PIECE_BYTES && is_zero(piece) {
            empty += 1;
            if empty > MOST_EMPTY_PIECES {
                return Err(Error::damaged("most of the file was never written"));
            }
        }
        each(piece)?;
    }
    Ok(())
}
