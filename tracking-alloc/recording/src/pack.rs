//! Packing: appends symbols, snapshots or names of generated code to a recording as one more table,
//! and changes nothing else.

use crate::layout::*;
use crate::read::{Error, Recording, file_checksum};
use crate::words::Record;

/// Returns the recording in `bytes` with `symbols` as its table of symbols, and with a checksum.
///
/// A recording that was still being written is packed as it was read, and becomes a
/// [copy](state::COPIED). Symbols packed before are replaced.
///
/// # Errors
/// Returns an error if `bytes` is not a readable recording.
pub fn with_symbols(bytes: Vec<u8>, symbols: &[u8]) -> Result<Vec<u8>, Error> {
    with_table(bytes, table::SYMBOLS, symbols, state::COPIED)
}

/// Returns the recording in `bytes` with `snapshots` as its table of snapshots. Snapshots that it
/// has are replaced.
///
/// A recording whose program was killed stays one: it has no checksum.
///
/// # Errors
/// Returns an error if `bytes` is not a readable recording.
pub fn with_snapshots(bytes: Vec<u8>, snapshots: &[u8]) -> Result<Vec<u8>, Error> {
    with_table(bytes, table::SNAPSHOTS, snapshots, state::RUNNING)
}

/// Returns the recording in `bytes` with `names` as its table of names of generated code. Names
/// that it has are replaced. Like [`with_snapshots`], this does not finish a recording.
///
/// # Errors
/// Returns an error if `bytes` is not a readable recording.
pub fn with_generated_names(bytes: Vec<u8>, names: &[u8]) -> Result<Vec<u8>, Error> {
    with_table(bytes, table::GENERATED_NAMES, names, state::RUNNING)
}

fn with_table(
    mut bytes: Vec<u8>,
    table: u32,
    content: &[u8],
    unfinished: u32,
) -> Result<Vec<u8>, Error> {
    let recording = Recording::read(bytes.as_slice())?;
    let mut header = recording.header;
    // Bytes after the end of a finished recording are not part of it. Of a running recording, the
    // whole file was read.
    bytes.truncate(usize::try_from(recording.file_bytes).unwrap_or(usize::MAX));
    // NOTE: `file_bytes` of a running recording may lag behind the file, so use the file's length.
    let end = bytes.len().next_multiple_of(SEGMENT_BYTES as usize);
    bytes.resize(end, 0);
    let entry = SegmentValue {
        table,
        lane: 0,
        offset: end as u64,
        bytes: content.len() as u64,
        first: 0,
    };
    bytes.extend_from_slice(content);
    bytes.resize(bytes.len().next_multiple_of(SEGMENT_BYTES as usize), 0);
    let place = entry_of(table, &bytes, &mut header)?;
    bytes[place..place + SegmentValue::SIZE].copy_from_slice(&entry.to_bytes());
    if header.state == state::RUNNING {
        header.state = unfinished;
    }
    header.file_bytes = bytes.len() as u64;
    header.checksum = 0;
    bytes[..HeaderValue::SIZE].copy_from_slice(&header.to_bytes());
    if header.state != state::RUNNING {
        let checksum = file_checksum(bytes.as_slice(), bytes.len() as u64)?;
        bytes[CHECKSUM_OFFSET..CHECKSUM_OFFSET + 8].copy_from_slice(&checksum.to_le_bytes());
    }
    Ok(bytes)
}

/// Returns the byte offset of the directory's entry for a table. Adds it to the count in the header
/// if there is none yet.
fn entry_of(table: u32, bytes: &[u8], header: &mut HeaderValue) -> Result<usize, Error> {
    let mut left = header.directory_len as usize;
    let (mut offset, mut room) = (
        HEADER_BYTES as usize,
        DIRECTORY_BYTES as usize / SegmentValue::SIZE,
    );
    loop {
        let mut next = None;
        for index in 0..room {
            let place = offset + index * SegmentValue::SIZE;
            if left == 0 {
                header.directory_len += 1;
                return Ok(place);
            }
            left -= 1;
            let entry = SegmentValue::parse(&bytes[place..place + SegmentValue::SIZE]);
            match entry.table {
                found if found == table => return Ok(place),
                table::DIRECTORY => {
                    next = Some((
                        entry.offset as usize,
                        entry.bytes as usize / SegmentValue::SIZE,
                    ))
                }
                _ => {}
            }
        }
        let Some(place) = next else {
            return Err(Error::damaged("the directory is full"));
        };
        (offset, room) = place;
    }
}
