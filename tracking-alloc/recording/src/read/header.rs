//! The header and the checksum, which show that a file is a complete recording.

use super::error::{Error, Kind};
use super::pieces;
use super::source::{ReadAt, open_regular};
use crate::checksum::Checksum;
use crate::layout::*;
use crate::words::Record;
use std::path::Path;

/// Reads and checks the header. Also returns the length of the recording: from the header if it is
/// finished, else the length of the file.
pub(super) fn read_header(source: &dyn ReadAt) -> Result<(HeaderValue, u64), Error> {
    if source.byte_len()? == 0 {
        return Err(Error(Kind::Empty));
    }
    let mut bytes = vec![0; HEADER_BYTES as usize];
    let found = source.fill_at(&mut bytes, 0)? as u64;
    let header = HeaderValue::parse(&bytes);
    if header.magic != MAGIC {
        return Err(Error(Kind::Foreign));
    }
    // Magic, version and header size have the same place in every version.
    if found < 16 {
        return Err(Error::truncated(HEADER_BYTES, found));
    }
    if header.version != VERSION {
        let found = header.version;
        return Err(Error(Kind::Version { found }));
    }
    // NOTE: read after the header, because a live file grows before its header says so.
    let file_bytes = source.byte_len()?;
    if found < HEADER_BYTES || header.file_bytes > file_bytes {
        let needed = header.file_bytes.max(HEADER_BYTES);
        return Err(Error::truncated(needed, file_bytes));
    }
    if u64::from(header.header_bytes) != HEADER_BYTES {
        return Err(Error::damaged(format!(
            "the header has {} bytes instead of {HEADER_BYTES}",
            header.header_bytes
        )));
    }
    let known = [
        state::RUNNING,
        state::FINISHED,
        state::COPIED,
        state::MERGED,
        state::NOT_RECORDED,
    ];
    if !known.contains(&header.state) {
        return Err(Error::damaged(format!(
            "the header has the unknown state {}",
            header.state
        )));
    }
    let is_sealed = header.state != state::RUNNING && header.file_bytes != 0;
    let bytes = if is_sealed {
        header.file_bytes
    } else {
        file_bytes
    };
    Ok((header, bytes))
}

/// Compares a finished recording with its checksum, which covers the length in its header. Bytes
/// after that are not part of the recording: a full file system may leave some.
pub(super) fn verify(source: &dyn ReadAt, header: &HeaderValue) -> Result<(), Error> {
    if file_checksum(&source, header.file_bytes)? != header.checksum {
        return Err(Error::damaged("the checksum does not match the contents"));
    }
    Ok(())
}

/// Returns the checksum of a whole recording, with its checksum word and its [`Exchange`] taken as
/// zero.
///
/// [`Exchange`]: crate::Exchange
///
/// # Errors
/// Returns an error if the source cannot be read, or if more of it is empty than in any recording.
pub fn file_checksum<S: ReadAt + ?Sized>(source: &S, file_bytes: u64) -> Result<u64, Error> {
    let mut checksum = Checksum::default();
    let mut first = true;
    pieces::read_all(&source, file_bytes, |piece| {
        if std::mem::take(&mut first) {
            let mut piece = piece.to_vec();
            let left_out = [
                CHECKSUM_OFFSET..CHECKSUM_OFFSET + 8,
                EXCHANGE_OFFSET..HEADER_BYTES as usize,
            ];
            for range in left_out {
                if let Some(words) = piece.get_mut(range) {
                    words.fill(0);
                }
            }
            checksum.add_bytes(&piece);
        } else {
            checksum.add_bytes(piece);
        }
        Ok(())
    })?;
    Ok(checksum.finish())
}

/// Returns all bytes of the recording at `path`: the length in its header, or the whole file if the
/// recording is still being written.
///
/// # Errors
/// Returns an error if the file cannot be read, is not a recording, or if more of it is empty than
/// in any recording.
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
