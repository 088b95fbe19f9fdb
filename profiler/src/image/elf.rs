//! Program headers of ELF files for 64-bit little-endian machines, in memory or on disk.

use super::{number_at, word_at};
use std::io;

pub(super) const ELF_BYTES: usize = 64;
pub(super) const HEADER_BYTES: usize = 56;
/// Kinds of program headers.
pub(super) const LOAD: u32 = 1;
pub(super) const NOTE: u32 = 4;
pub(super) const TLS: u32 = 7;
pub(super) const EH_FRAME_HEADER: u32 = 0x6474_e550;
const WRITABLE: u32 = 2;
const PAGE: u64 = 4096;
/// Program headers that are read of one loaded file, and how far from its start they may be.
const MOST_HEADERS: u16 = 64;
const MOST_DISTANCE: u64 = 1 << 20;

/// Reads bytes from an address or an offset on.
pub(super) type Read<'a> = &'a dyn Fn(u64, &mut [u8]) -> io::Result<()>;

/// A program header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ProgramHeader {
    pub(super) kind: u32,
    pub(super) is_writable: bool,
    pub(super) offset: u64,
    pub(super) address: u64,
    pub(super) bytes_in_file: u64,
    pub(super) bytes: u64,
    pub(super) alignment: u64,
}

impl ProgramHeader {
    fn parse(bytes: &[u8]) -> ProgramHeader {
        ProgramHeader {
            kind: number_at(bytes, 0),
            is_writable: number_at(bytes, 4) & WRITABLE != 0,
            offset: word_at(bytes, 8),
            address: word_at(bytes, 16),
            bytes_in_file: word_at(bytes, 32),
            bytes: word_at(bytes, 40),
            alignment: word_at(bytes, 48),
        }
    }
}

/// Returns the program headers in some bytes.
pub(super) fn parsed(bytes: &[u8]) -> Vec<ProgramHeader> {
    let headers = bytes.chunks_exact(HEADER_BYTES);
    headers.map(ProgramHeader::parse).collect()
}

/// Reads the program headers of the file that begins at an address or an offset. `None` if it is no
/// such file.
pub(super) fn program_headers(base: u64, read: Read<'_>) -> Option<Vec<ProgramHeader>> {
    let mut elf = [0; ELF_BYTES];
    read(base, &mut elf).ok()?;
    let half = |at: usize| u16::from_le_bytes([elf[at], elf[at + 1]]);
    let (place, count) = (word_at(&elf, 32), half(56));
    let is_known = elf.starts_with(b"\x7fELF\x02\x01") && half(54) as usize == HEADER_BYTES;
    if !is_known || count > MOST_HEADERS || place > MOST_DISTANCE {
        return None;
    }
    let mut headers = vec![0; HEADER_BYTES * usize::from(count)];
    read(base.checked_add(place)?, &mut headers).ok()?;
    Some(parsed(&headers))
}

/// Returns the address that a file gives to the page it begins with; `None` if nothing is loaded.
pub(super) fn first_page(headers: &[ProgramHeader]) -> Option<u64> {
    let loaded = headers.iter().filter(|header| header.kind == LOAD);
    Some(loaded.map(|header| header.address).min()? & !(PAGE - 1))
}
