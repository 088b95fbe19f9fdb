//! Writes core files of waiting programs, without the help of a debugger or the kernel.

use crate::image::maps;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

const PIECE: usize = 1 << 20;
const PAGE: u64 = 4096;

/// Writes the memory of a process that waits as a core: writable mappings as a whole, and the first
/// page of each file, as the kernel does. There are no registers.
pub(super) fn write(process: u32, path: &Path) -> io::Result<()> {
    let text = std::fs::read_to_string(format!("/proc/{process}/maps"))?;
    let mappings = maps::parse(&text);
    let mut loads = Vec::new();
    let mut entries: Vec<u8> = Vec::new();
    let mut names: Vec<u8> = Vec::new();
    let mut files = 0_u64;
    for mapping in mappings.iter().filter(|of| of.is_private) {
        let bytes = mapping.range.end - mapping.range.start;
        let in_file = match mapping {
            of if of.is_writable => bytes,
            of if of.inode != 0 && of.offset == 0 => PAGE,
            _ => 0,
        };
        let flags = if mapping.is_writable { 6_u32 } else { 4 };
        // The kernel's own memory cannot be read.
        if !mapping.name.starts_with("[v") {
            loads.push((mapping.range.clone(), in_file, flags));
        }
        if mapping.inode != 0 {
            files += 1;
            let words = [
                mapping.range.start,
                mapping.range.end,
                mapping.offset / PAGE,
            ];
            entries.extend(words.iter().flat_map(|word| word.to_le_bytes()));
            names.extend(mapping.name.as_bytes());
            names.push(0);
        }
    }
    let mut table = [files.to_le_bytes(), PAGE.to_le_bytes()].concat();
    table.extend(entries);
    table.extend(names);
    let mut notes = note(0x4649_4c45, &table);
    notes.extend(note(6, &std::fs::read(format!("/proc/{process}/auxv"))?));
    let memory = File::open(format!("/proc/{process}/mem"))?;
    write_parts(path, &notes, &loads, &|at, buffer| {
        memory.read_exact_at(buffer, at)
    })
}

/// A range of memory, its bytes in the file, and its flags.
type Load = (std::ops::Range<u64>, u64, u32);

fn write_parts(
    path: &Path,
    notes: &[u8],
    loads: &[Load],
    read: &dyn Fn(u64, &mut [u8]) -> io::Result<()>,
) -> io::Result<()> {
    let mut headers = header(loads.len() as u16 + 1);
    let notes_at = 64 + 56 * (loads.len() as u64 + 1);
    let notes_bytes = notes.len() as u64;
    headers.extend(segment(4, 0, notes_at, 0..notes_bytes, notes_bytes));
    let mut place = (notes_at + notes_bytes).next_multiple_of(PAGE);
    let core = File::create(path)?;
    for (range, in_file, flags) in loads {
        headers.extend(segment(1, *flags, place, range.clone(), *in_file));
        let mut buffer = vec![0; PIECE];
        for at in (0..*in_file).step_by(PIECE) {
            let length = (*in_file - at).min(PIECE as u64) as usize;
            read(range.start + at, &mut buffer[..length])?;
            if buffer[..length].iter().any(|byte| *byte != 0) {
                core.write_all_at(&buffer[..length], place + at)?;
            }
        }
        place += in_file.next_multiple_of(PAGE);
    }
    core.write_all_at(&headers, 0)?;
    core.write_all_at(notes, notes_at)?;
    core.set_len(place)
}

fn header(segments: u16) -> Vec<u8> {
    let mut header = vec![0; 64];
    header[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    header[16..20].copy_from_slice(&[4, 0, 62, 0]);
    header[32..40].copy_from_slice(&64_u64.to_le_bytes());
    header[54] = 56;
    header[56..58].copy_from_slice(&segments.to_le_bytes());
    header
}

fn segment(kind: u32, flags: u32, at: u64, range: std::ops::Range<u64>, in_file: u64) -> Vec<u8> {
    let words = [at, range.start, 0, in_file, range.end - range.start, PAGE];
    let mut bytes = [kind.to_le_bytes(), flags.to_le_bytes()].concat();
    bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    bytes
}

fn note(kind: u32, contents: &[u8]) -> Vec<u8> {
    let words = [5, contents.len() as u32, kind];
    let mut bytes = words.map(u32::to_le_bytes).concat();
    bytes.extend(b"CORE\0\0\0\0");
    bytes.extend(contents);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}
