//! Reads core files: those of the kernel and those of `gcore`.
//!
//! `PT_LOAD` has the memory, `NT_PRSTATUS` the registers of each thread, `NT_FILE` the files that
//! were mapped, and `NT_AUXV` tells which of them is the executable. Pages of files that nobody
//! wrote to are usually absent: they are read from the files, if their build-id is that of the
//! image in memory.

mod memory;
mod notes;

use super::elf::{self, ELF_BYTES, HEADER_BYTES, ProgramHeader};
use super::error::Kind;
use super::files::{self, LoadedFile, open_regular};
use super::maps::Mapping;
use super::{Image, number_at, word_at};
use memory::{Backing, CoreMemory, Load};
use notes::{MappedFile, Notes};
use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

const SECTION_BYTES: usize = 64;
/// Segments that are read of one core. Linux allows 65,530 mappings unless it is told otherwise.
const MOST_SEGMENTS: u64 = 1 << 20;
const TYPE_CORE: u16 = 4;
const MACHINE_X86_64: u16 = 62;
/// The number of segments is in the first section header (`PN_XNUM`).
const MANY: u16 = 0xffff;

/// The first bytes of compressed files, the name of the format, and the command that unpacks it.
const COMPRESSED: &[(&[u8], &str, &str)] = &[
    (
        b"\x28\xb5\x2f\xfd",
        "zstd",
        "`zstd -d FILE -o core`, or `coredumpctl dump PID -o core`",
    ),
    (
        b"\x04\x22\x4d\x18",
        "lz4",
        "`lz4 -d FILE core`, or `coredumpctl dump PID -o core`",
    ),
    (
        b"\xfd7zXZ\0",
        "xz",
        "`xz -dc FILE > core`, or `coredumpctl dump PID -o core`",
    ),
    (b"\x1f\x8b", "gzip", "`gzip -dc FILE > core`"),
    (b"BZh", "bzip2", "`bzip2 -dc FILE > core`"),
];

/// Returns `true` if a file is a core file, or a compressed file that may be one.
pub(super) fn may_be(path: &Path) -> bool {
    let mut start = [0; 18];
    let is_read = open_regular(path).and_then(|file| file.read_exact_at(&mut start, 0));
    is_read.is_ok()
        && (compression(&start).is_some()
            || start.starts_with(b"\x7fELF") && half(&start, 16) == TYPE_CORE)
}

fn compression(start: &[u8]) -> Option<Kind> {
    let mut known = COMPRESSED.iter();
    let found = known.find(|(magic, ..)| start.starts_with(magic));
    found.map(|&(_, format, command)| Kind::Compressed { format, command })
}

pub(super) fn open(path: &Path, binary: Option<&Path>) -> Result<Image, Kind> {
    let file = open_regular(path).map_err(Kind::Read)?;
    let bytes = file.metadata().map_err(Kind::Read)?.len();
    let headers = headers(&file, bytes)?;
    let (loads, mut mappings) = segments(&headers, bytes)?;
    let mut notes = Notes::default();
    for header in headers.iter().filter(|header| header.kind == elf::NOTE) {
        let end = header.offset.saturating_add(header.bytes_in_file);
        notes.read(&file, header.offset..end)?;
    }
    name_mappings(&mut mappings, &notes.files);
    let is_heap = |load: &Load| {
        let start = |mapping: &Mapping| mapping.range.start;
        let found = mappings.binary_search_by_key(&load.range.start, start);
        found.is_ok_and(|at| mappings[at].is_anonymous())
    };
    if !loads.iter().any(is_heap) {
        return Err(Kind::Filtered);
    }
    let mut memory = CoreMemory::new(file, loads);
    let read = |address: u64, buffer: &mut [u8]| memory.read_own(address, buffer);
    let files = files::loaded(&mappings, notes.program_headers, &read);
    let mut told = Vec::new();
    let open = open_files(&files, binary, &mut told)?;
    let executable = files.first().and_then(|file| open.get(&*file.path));
    let other_allocator = executable.and_then(|file| files::allocator(file));
    memory.set_backings(backings(&open, &notes.files));
    if notes.threads.is_empty() {
        told.push("the core has no registers of threads, so their stacks are not known".to_owned());
    }
    Ok(Image {
        path: path.to_owned(),
        memory: Box::new(memory),
        mappings,
        threads: notes.threads,
        files,
        process: notes.process,
        memory_process: None,
        other_allocator,
        pause: None,
        is_copy: false,
        notes: told,
    })
}

/// Reads the program headers.
fn headers(file: &File, bytes: u64) -> Result<Vec<ProgramHeader>, Kind> {
    let mut first = [0; ELF_BYTES];
    let start = bytes.min(ELF_BYTES as u64) as usize;
    file.read_exact_at(&mut first[..start], 0)
        .map_err(Kind::Read)?;
    if let Some(kind) = compression(&first) {
        return Err(kind);
    }
    if start < ELF_BYTES || !first.starts_with(b"\x7fELF\x02\x01") || half(&first, 16) != TYPE_CORE
    {
        return Err(Kind::NotACore);
    }
    if half(&first, 18) != MACHINE_X86_64 {
        return Err(Kind::OtherMachine(half(&first, 18)));
    }
    let mut count = u64::from(half(&first, 56));
    if half(&first, 56) == MANY {
        let mut section = [0; SECTION_BYTES];
        let is_read = file.read_exact_at(&mut section, word_at(&first, 40));
        is_read.map_err(|_| Kind::Damaged("its first section header cannot be read"))?;
        count = u64::from(number_at(&section, 44));
    }
    if half(&first, 54) as usize != HEADER_BYTES || count > MOST_SEGMENTS {
        return Err(Kind::Damaged("its program headers are not those of a core"));
    }
    let place = word_at(&first, 32);
    let all = count * HEADER_BYTES as u64;
    if place.checked_add(all).is_none_or(|end| end > bytes) {
        return Err(Kind::Truncated {
            missing_bytes: place.saturating_add(all) - bytes,
            all_bytes: place.saturating_add(all),
        });
    }
    let mut headers = vec![0; all as usize];
    file.read_exact_at(&mut headers, place)
        .map_err(Kind::Read)?;
    Ok(elf::parsed(&headers))
}

/// Returns the memory that the core has, and all mappings, both in the order of their addresses.
fn segments(headers: &[ProgramHeader], bytes: u64) -> Result<(Vec<Load>, Vec<Mapping>), Kind> {
    let (mut loads, mut mappings) = (Vec::new(), Vec::new());
    let (mut missing_bytes, mut all_bytes) = (0_u64, 0_u64);
    for header in headers {
        let (offset, start, in_file) = (header.offset, header.address, header.bytes_in_file);
        if matches!(header.kind, elf::LOAD | elf::NOTE) {
            let end = offset.saturating_add(in_file);
            all_bytes = all_bytes.max(end);
            missing_bytes =
                missing_bytes.saturating_add(in_file.min(end - bytes.clamp(offset, end)));
        }
        let end = start.checked_add(header.bytes);
        let Some(end) = end.filter(|end| header.kind == elf::LOAD && start < *end) else {
            continue;
        };
        if in_file > 0 {
            loads.push(Load {
                range: start..end.min(start.saturating_add(in_file)),
                offset,
            });
        }
        mappings.push(Mapping {
            range: start..end,
            is_writable: header.is_writable,
            is_private: true,
            ..Mapping::default()
        });
    }
    if missing_bytes > 0 {
        return Err(Kind::Truncated {
            missing_bytes,
            all_bytes,
        });
    }
    loads.sort_unstable_by_key(|load| load.range.start);
    mappings.sort_by_key(|mapping| mapping.range.start);
    let mut pairs = mappings.windows(2);
    if pairs.any(|pair| pair[0].range.end > pair[1].range.start) {
        return Err(Kind::Damaged("its segments overlap"));
    }
    Ok((loads, mappings))
}

/// Gives the mappings of files their names, and adds those that are no segments of the core.
fn name_mappings(mappings: &mut Vec<Mapping>, files: &[MappedFile]) {
    let mut numbers: HashMap<&str, u64> = HashMap::new();
    let mut more = Vec::new();
    for file in files {
        let next = numbers.len() as u64 + 1;
        let inode = *numbers.entry(&file.path).or_insert(next);
        let named = Mapping {
            range: file.range.clone(),
            offset: file.offset,
            inode,
            name: file.path.clone(),
            is_private: true,
            ..Mapping::default()
        };
        let first = mappings.partition_point(|of| of.range.end <= file.range.start);
        let after = mappings.partition_point(|of| of.range.start < file.range.end);
        if first >= after {
            more.push(named);
            continue;
        }
        for mapping in &mut mappings[first..after] {
            let into = mapping.range.start.saturating_sub(file.range.start);
            mapping.offset = file.offset.saturating_add(into);
            mapping.inode = inode;
            mapping.name.clone_from(&file.path);
        }
    }
    mappings.extend(more);
    mappings.sort_by_key(|mapping| mapping.range.start);
    let mut end = 0;
    mappings.retain(|mapping| {
        let is_apart = mapping.range.start >= end;
        if is_apart {
            end = mapping.range.end;
        }
        is_apart
    });
}

/// Opens the loaded files that are of the same build, by path.
fn open_files(
    files: &[LoadedFile],
    binary: Option<&Path>,
    told: &mut Vec<String>,
) -> Result<HashMap<String, Arc<File>>, Kind> {
    let mut open: HashMap<String, Arc<File>> = HashMap::new();
    for (number, loaded) in files.iter().enumerate() {
        let binary = binary.filter(|_| number == 0);
        let path = binary.unwrap_or(Path::new(&loaded.path));
        let found = files::same_build(path, loaded);
        match (found, binary) {
            (Ok(file), _) => {
                open.insert(loaded.path.clone(), Arc::new(file));
            }
            (Err(why), Some(binary)) => {
                return Err(Kind::OtherBinary {
                    binary: binary.to_owned(),
                    why,
                });
            }
            (Err(why), None) if number == 0 => {
                told.push(format!("{}: {why}; name it with --binary", loaded.path));
            }
            // Pages of libraries that nobody wrote to hold no pointers to blocks.
            (Err(_), None) => {}
        }
    }
    Ok(open)
}

/// Returns the files from which pages that the core lacks are read.
fn backings(open: &HashMap<String, Arc<File>>, mapped: &[MappedFile]) -> Vec<Backing> {
    let backings = mapped.iter().filter_map(|mapped| {
        let path = mapped.path.trim_end_matches(" (deleted)");
        Some(Backing {
            range: mapped.range.clone(),
            offset: mapped.offset,
            file: Arc::clone(open.get(path)?),
        })
    });
    let mut backings: Vec<Backing> = backings.collect();
    backings.sort_by_key(|backing| backing.range.start);
    backings
}

fn half(bytes: &[u8], at: usize) -> u16 {
    let half = bytes.get(at..).and_then(<[u8]>::first_chunk::<2>);
    half.map_or(0, |half| u16::from_le_bytes(*half))
}
