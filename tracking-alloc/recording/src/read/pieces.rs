//! Bytes that a recording claims to have, read in bounded pieces.
//!
//! A file may claim terabytes and have none of them on disk: what was never written reads as zeros.
//! So nothing is reserved for a claim, memory grows as bytes arrive, and what holds more zeros than
//! a writer leaves is refused. The contents decide, not the blocks on disk: file systems that
//! compress have fewer, a sparse copy has holes where zeros were.

use super::error::{Error, Kind};
use super::source::ReadAt;

/// Bytes read at once.
const PIECE_BYTES: usize = 1 << 20;

/// What zeros are looked for in.
const PAGE_BYTES: usize = 4096;
const ZEROS: [u8; PAGE_BYTES] = [0; PAGE_BYTES];

/// Zeros in a row that a table of records may have: no record that was published is all zero, but
/// the first of some.
const MOST_ZEROS_OF_RECORDS: usize = 64 << 10;

/// The same of a table of bytes: what is left of a segment is skipped when the next string is
/// longer.
const MOST_ZEROS_OF_BYTES: usize = 256 << 10;

/// Pieces of nothing that a whole recording may have: `HEAPGLASS_PREALLOC=1` reserves 64.
const MOST_EMPTY_PIECES: usize = 80;

fn is_zero(bytes: &[u8]) -> bool {
    // NOTE: compared as slices, which is fast in unoptimized builds too.
    bytes
        .chunks(PAGE_BYTES)
        .all(|page| ZEROS.get(..page.len()) == Some(page))
}

/// Zeros at the end of what was read of a table so far.
#[derive(Default)]
pub(super) struct Zeros {
    run: usize,
    most: Option<usize>,
}

impl Zeros {
    /// Of records of `size` bytes. `sparse` = zeros are as good as anything.
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
                    "it claims records that were never written, only zeros",
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

/// Makes room for `more` elements; too little memory is an error value.
pub(super) fn reserve<T>(to: &mut Vec<T>, more: usize) -> Result<(), Error> {
    to.try_reserve(more).map_err(|_| Error(Kind::NoMemory))
}

/// Calls `each` with the first `bytes` bytes of a source, a piece at a time. A file that is mostly
/// nothing is refused after so many empty pieces.
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
                return Err(Error::damaged("most of it was never written, only claimed"));
            }
        }
        each(piece)?;
    }
    Ok(())
}
