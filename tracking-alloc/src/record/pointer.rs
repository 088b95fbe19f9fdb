//! A file that only says where the recording is being written: header, one directory entry, one string.

use crate::sys::File;
use std::mem::offset_of;
use tracking_alloc_recording::{
    DIRECTORY_BYTES, HEADER_BYTES, Header, MAGIC, SEGMENT_BYTES, Segment, VERSION, state, table,
};

/// Writes the pointer to `file`. Plain writes at offsets: nothing is mapped, nothing allocated.
pub(super) fn write(file: &File, live_path: &[u8]) -> Result<(), i32> {
    let strings = HEADER_BYTES + DIRECTORY_BYTES;
    let strings_bytes = 8 + live_path.len() as u64;
    let words = [
        (
            offset_of!(Header, version),
            u64::from(VERSION) | (HEADER_BYTES << 32),
        ),
        (offset_of!(Header, state), u64::from(state::ELSEWHERE)),
        (offset_of!(Header, strings_len), strings_bytes),
        (offset_of!(Header, file_bytes), strings + SEGMENT_BYTES),
    ];
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
    file.write_at(&(live_path.len() as u32).to_le_bytes(), strings + 4)?;
    file.write_at(live_path, strings + 8)?;
    file.write_at(&MAGIC.to_le_bytes(), 0)
}
