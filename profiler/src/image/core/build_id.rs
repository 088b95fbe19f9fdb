//! The build-id of a loaded file, in memory and on disk.

use super::{ELF_BYTES, HEADER_BYTES, NOTE, half, number};
use crate::image::word_at;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Program headers that are read of one file.
const MOST_HEADERS: u16 = 64;
/// Bytes of notes that are read.
const MOST_NOTE_BYTES: u64 = 64 << 10;
/// Longer ones are no build-ids.
const MOST_BYTES: usize = 64;
const LOAD: u32 = 1;
const BUILD_ID: u32 = 3;

/// Reads bytes from an address or an offset on.
type Read<'a> = &'a dyn Fn(u64, &mut [u8]) -> io::Result<()>;

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
    let mut elf = [0; ELF_BYTES];
    read(base, &mut elf).ok()?;
    let count = half(&elf, 56);
    let is_known = elf.starts_with(b"\x7fELF\x02\x01") && half(&elf, 54) as usize == HEADER_BYTES;
    if !is_known || count > MOST_HEADERS {
        return None;
    }
    let mut headers = vec![0; HEADER_BYTES * usize::from(count)];
    read(base.checked_add(word_at(&elf, 32))?, &mut headers).ok()?;
    let headers = || headers.chunks_exact(HEADER_BYTES);
    let loaded = headers().filter(|header| number(header, 0) == LOAD);
    let lowest = loaded.map(|header| word_at(header, 16)).min()? & !4095;
    headers()
        .filter(|header| number(header, 0) == NOTE)
        .find_map(|header| {
            let place = if is_loaded {
                base.checked_add(word_at(header, 16).checked_sub(lowest)?)?
            } else {
                word_at(header, 8)
            };
            let bytes = word_at(header, 32);
            let mut notes = vec![0; bytes.min(MOST_NOTE_BYTES) as usize];
            read(place, &mut notes).ok()?;
            in_notes(&notes)
        })
}

fn in_notes(notes: &[u8]) -> Option<Vec<u8>> {
    let mut rest = notes;
    while rest.len() >= 12 {
        let [name, length, kind] = [0, 4, 8].map(|at| number(rest, at));
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
