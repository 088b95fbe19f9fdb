//! A file that only says where the recording is being written: header, one directory entry, one string.

use super::PathBytes;
use super::signature::Signature;
use crate::sys::File;
use std::mem::offset_of;
use tracking_alloc_recording::{
    DIRECTORY_BYTES, HEADER_BYTES, Header, MAGIC, Record, SEGMENT_BYTES, Segment, SegmentValue,
    VERSION, table,
};

/// Where its one string lies, length first; before it is the empty one.
const TARGET: u64 = HEADER_BYTES + DIRECTORY_BYTES + 4;

/// Writes the pointer to `file`. Plain writes at offsets: nothing is mapped, nothing allocated.
pub(super) fn write(file: &File, signature: &Signature, live_path: &[u8]) -> Result<(), i32> {
    let strings = HEADER_BYTES + DIRECTORY_BYTES;
    let strings_bytes = 8 + live_path.len() as u64;
    let words = [
        (
            offset_of!(Header, version),
            u64::from(VERSION) | (HEADER_BYTES << 32),
        ),
        (offset_of!(Header, strings_len), strings_bytes),
        (offset_of!(Header, file_bytes), strings + SEGMENT_BYTES),
    ];
    signature.write(file)?;
    // Zeros up to the end first, so that a short file never claims to be a whole one.
    file.write_at(&[0], strings + SEGMENT_BYTES - 1)?;
    for (offset, word) in words {
        file.write_at(&word.to_le_bytes(), offset as u64)?;
    }
    file.write_at(&4u32.to_le_bytes(), offset_of!(Header, live_path) as u64)?;
    file.write_at(
        &1u32.to_le_bytes(),
        offset_of!(Header, directory_len) as u64,
    )?;
    let entry = HEADER_BYTES;
    file.write_at(
        &table::STRINGS.to_le_bytes(),
        entry + offset_of!(Segment, table) as u64,
    )?;
    file.write_at(
        &strings.to_le_bytes(),
        entry + offset_of!(Segment, offset) as u64,
    )?;
    file.write_at(
        &SEGMENT_BYTES.to_le_bytes(),
        entry + offset_of!(Segment, bytes) as u64,
    )?;
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
        || SegmentValue::parse(&entry).offset + 4 != TARGET
        || file.read_at(&mut length, TARGET) != Ok(length.len())
    {
        return false;
    }
    let length = u32::from_le_bytes(length) as usize;
    let Some(place) = path.bytes[..PathBytes::MAX - 1].get_mut(..length) else {
        return false;
    };
    let read = file.read_at(place, TARGET + 4) == Ok(length);
    path.len = if read && !place.contains(&0) {
        length
    } else {
        0
    };
    path.bytes[path.len] = 0;
    path.bytes[0] == b'/'
}
