//! The build-id of a loaded file, in memory and on disk.

use crate::image::elf::{self, Read};
use crate::image::number_at;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Bytes of notes that are read.
const MOST_NOTE_BYTES: u64 = 64 << 10;
/// Longer ones are no build-ids.
const MOST_BYTES: usize = 64;
const BUILD_ID: u32 = 3;

/// Returns the build-id of the file that is loaded at an address.
pub(super) fn in_memory(base: u64, read: Read<'_>) -> Option<Vec<u8>> {
    find(base, read, true)
}

/// Returns the build-id of a file.
pub(super) fn of_file(file: &File) -> Option<Vec<u8>> {
    find(
        0,
        &|offset, buffer| file.read_exact_at(buffer, offset),
        false,
    )
}

fn find(base: u64, read: Read<'_>, is_loaded: bool) -> Option<Vec<u8>> {
    let headers = elf::program_headers(base, read)?;
    let first = elf::first_page(&headers)?;
    let mut notes = headers.iter().filter(|header| header.kind == elf::NOTE);
    notes.find_map(|header| {
        let place = if is_loaded {
            base.checked_add(header.address.checked_sub(first)?)?
        } else {
            header.offset
        };
        let mut notes = vec![0; header.bytes_in_file.min(MOST_NOTE_BYTES) as usize];
        read(place, &mut notes).ok()?;
        in_notes(&notes)
    })
}

fn in_notes(notes: &[u8]) -> Option<Vec<u8>> {
    let mut rest = notes;
    while rest.len() >= 12 {
        let [name, length, kind] = [0, 4, 8].map(|at| number_at(rest, at));
        let padded = |bytes: u32| (bytes as usize).next_multiple_of(4);
        let contents = rest.get(12 + padded(name)..)?;
        if kind == BUILD_ID && rest.get(12..16) == Some(b"GNU\0") && name == 4 {
            let id = contents.get(..length as usize)?;
            return (!id.is_empty() && id.len() <= MOST_BYTES).then(|| id.to_vec());
        }
        rest = contents.get(padded(length)..)?;
    }
    None
}
