//! A file that only says where the recording is being written: header, one directory entry, one string.

use super::PathBytes;
use super::signature::{header_bytes, sign};
use crate::sys::File;
use tracking_alloc_recording::{
    DIRECTORY_BYTES, HEADER_BYTES, HeaderValue, MAGIC, Record, SEGMENT_BYTES, SegmentValue,
    VERSION, table,
};

const STRINGS: u64 = HEADER_BYTES + DIRECTORY_BYTES;

/// Where its one string lies, length first; before it is the empty one.
const TARGET: u64 = STRINGS + 4;

/// Writes the pointer to `file`; `signature` says whose it is. Plain writes at offsets: nothing is mapped, nothing
/// allocated.
pub(super) fn write(file: &File, signature: HeaderValue, live_path: &[u8]) -> Result<(), i32> {
    let header = HeaderValue {
        version: VERSION,
        header_bytes: HEADER_BYTES as u32,
        live_path: (TARGET - STRINGS) as u32,
        directory_len: 1,
        strings_len: 8 + live_path.len() as u64,
        file_bytes: STRINGS + SEGMENT_BYTES,
        ..signature
    };
    let segment = SegmentValue {
        table: table::STRINGS,
        offset: STRINGS,
        bytes: SEGMENT_BYTES,
        ..SegmentValue::default()
    };
    let mut entry = [0; SegmentValue::SIZE];
    segment.write(&mut entry);
    sign(file, &header)?;
    // Zeros up to the end first, so that a short file never claims to be a whole one.
    file.write_at(&[0], header.file_bytes - 1)?;
    file.write_at(&header_bytes(&header), 0)?;
    file.write_at(&entry, HEADER_BYTES)?;
    file.write_at(&(live_path.len() as u32).to_le_bytes(), TARGET)?;
    file.write_at(live_path, TARGET + 4)?;
    file.write_at(&MAGIC.to_le_bytes(), 0)
}

/// Reads where a pointer written by [`write`] leads; false when it is none.
pub(super) fn read_target(file: &File, path: &mut PathBytes) -> bool {
    let mut entry = [0u8; SegmentValue::SIZE];
    let mut length = [0u8; 4];
    path.clear();
    if file.read_at(&mut entry, HEADER_BYTES) != Ok(entry.len())
        || SegmentValue::parse(&entry).offset != STRINGS
        || file.read_at(&mut length, TARGET) != Ok(length.len())
    {
        return false;
    }
    let length = u32::from_le_bytes(length) as usize;
    let Some(place) = path.bytes[..PathBytes::MAX - 1].get_mut(..length) else {
        return false;
    };
    let is_path = file.read_at(place, TARGET + 4) == Ok(length) && !place.contains(&0);
    path.len = if is_path { length } else { 0 };
    path.bytes[path.len] = 0;
    path.bytes[0] == b'/'
}
