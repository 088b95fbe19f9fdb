//! The header and the checksum: whether a file is a recording at all, and whole.

use super::error::{Error, Kind};
use super::pieces;
use super::source::{ReadAt, open_regular};
use crate::checksum::Checksum;
use crate::layout::*;
use crate::words::Record;
use std::path::Path;

/// Reads and checks the header; with it the length of the recording: of a finished one as its
/// header says, else the file's.
pub(super) fn read_header(source: &dyn ReadAt) -> Result<(HeaderValue, u64), Error> {
    if source.byte_len()? == 0 {
        return Err(Error(Kind::Empty));
    }
    let mut bytes = vec![0; HEADER_BYTES as usize];
    let found = source.fill_at(&mut bytes, 0)? as u64;
    let mut header = HeaderValue::parse(&bytes);
    if header.magic != MAGIC {
        return Err(Error(Kind::Foreign));
    }
    // Magic, version and the header's size are where they are in every version.
    if found < 16 {
        return Err(Error::truncated(HEADER_BYTES, found));
    }
    if !(OLDEST_VERSION..=VERSION).contains(&header.version) {
        let found = header.version;
        return Err(Error(Kind::Version { found }));
    }
    if header.version < 3 {
        // Other words were there.
        (header.failed_requests_len, header.failed_requests) = (0, 0);
        header.walk_disagreements = 0;
        (header.most_resident, header.last_resident) = ([0; 5], [0; 5]);
    }
    // NOTE: asked after the header was read, since a live file grows before its header says so.
    let file_bytes = source.byte_len()?;
    if found < HEADER_BYTES || header.file_bytes > file_bytes {
        let needed = header.file_bytes.max(HEADER_BYTES);
        return Err(Error::truncated(needed, file_bytes));
    }
    if u64::from(header.header_bytes) != HEADER_BYTES {
        return Err(Error::damaged(format!(
            "its header claims {} bytes",
            header.header_bytes
        )));
    }
    if ![state::RUNNING, state::FINISHED].contains(&header.state) {
        return Err(Error::damaged(format!(
            "its state is {}, which means nothing",
            header.state
        )));
    }
    let is_sealed = header.state == state::FINISHED && header.file_bytes != 0;
    let bytes = if is_sealed {
        header.file_bytes
    } else {
        file_bytes
    };
    Ok((header, bytes))
}

/// Compares a finished recording with its checksum, which covers the bytes that its header names.
/// Bytes behind them are no part of it: a file system that ran full may leave some.
pub(super) fn verify(source: &dyn ReadAt, header: &HeaderValue) -> Result<(), Error> {
    if file_checksum(&source, header.file_bytes)? != header.checksum {
        return Err(Error::damaged("its checksum does not match its contents"));
    }
    Ok(())
}

/// The checksum of a whole recording, its checksum word taken as zero.
///
/// # Errors
/// When the source cannot be read, or more of it is empty than any recording leaves.
pub fn file_checksum<S: ReadAt + ?Sized>(source: &S, file_bytes: u64) -> Result<u64, Error> {
    let mut checksum = Checksum::default();
    let mut first = true;
    pieces::read_all(&source, file_bytes, |piece| {
        let end = CHECKSUM_OFFSET + 8;
        if std::mem::take(&mut first)
            && let (Some(before), Some(after)) = (piece.get(..CHECKSUM_OFFSET), piece.get(end..))
        {
            checksum.add_bytes(&[before, &[0; 8], after].concat());
        } else {
            checksum.add_bytes(piece);
        }
        Ok(())
    })?;
    Ok(checksum.finish())
}

/// All bytes of the recording at `path`: as many as its header names, of one that is still written
/// all there are.
///
/// # Errors
/// When the file cannot be read, is no recording, or more of it is empty than any recording leaves.
pub fn read_bytes(path: &Path) -> Result<Vec<u8>, Error> {
    let source = open_regular(path)?;
    let (_, bytes) = read_header(&source)?;
    let mut out = Vec::new();
    pieces::read_all(&source, bytes, |piece| {
        pieces::reserve(&mut out, piece.len())?;
        out.extend_from_slice(piece);
        Ok(())
    })?;
    Ok(out)
}
