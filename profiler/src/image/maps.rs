//! The mappings of a process, from `/proc/PID/smaps`, and the segments of its executable and
//! libraries.

use super::elf::{self, ProgramHeader, Read};
use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

/// Mappings that are read of one process. Linux allows 65,530 unless it is told otherwise.
const MOST_MAPPINGS: usize = 1 << 20;
const PAGE: u64 = 4096;

/// A mapping.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mapping {
    pub(crate) range: Range<u64>,
    pub(crate) is_writable: bool,
    pub(crate) is_private: bool,
    pub(crate) offset: u64,
    /// 0 for anonymous memory.
    pub(crate) inode: u64,
    /// The file, `[stack]`, or nothing.
    pub(crate) name: String,
    /// `MADV_DONTDUMP`, which the recorder sets for its own memory.
    pub(crate) is_recorders: bool,
}

impl Mapping {
    /// Returns `true` for memory that the program can write and that belongs to no file.
    pub(crate) fn is_anonymous(&self) -> bool {
        self.is_writable && self.is_private && self.inode == 0
    }

    /// Returns the path of the file, also if the file was deleted.
    pub(super) fn path(&self) -> &str {
        self.name.trim_end_matches(" (deleted)")
    }
}

/// Parses the text of `/proc/PID/smaps` or `/proc/PID/maps`. Skips lines that it does not know.
pub(crate) fn parse(text: &str) -> Vec<Mapping> {
    let mut mappings: Vec<Mapping> = Vec::new();
    for line in text.lines() {
        if let Some(flags) = line.strip_prefix("VmFlags:") {
            if let Some(last) = mappings.last_mut() {
                last.is_recorders = flags.split_ascii_whitespace().any(|flag| flag == "dd");
            }
        } else if let Some(mapping) = mapping(line) {
            if mappings.len() >= MOST_MAPPINGS {
                break;
            }
            mappings.push(mapping);
        }
    }
    mappings
}

/// Parses a line like `7f00-7f10 rw-p 00000000 08:01 1234   /lib/x.so`.
fn mapping(line: &str) -> Option<Mapping> {
    let (range, rest) = line.split_once(' ')?;
    let (start, end) = range.split_once('-')?;
    let hex = |text: &str| u64::from_str_radix(text, 16).ok();
    let range = hex(start)?..hex(end)?;
    let mut fields = rest.splitn(5, ' ');
    let rights = fields.next()?.as_bytes();
    let offset = hex(fields.next()?)?;
    let _device = fields.next()?;
    let inode = fields.next()?.parse().ok()?;
    let name = fields.next().unwrap_or("").trim_start();
    (range.start < range.end).then(|| Mapping {
        range,
        is_writable: rights.get(1) == Some(&b'w'),
        is_private: rights.get(3) == Some(&b'p'),
        offset,
        inode,
        name: name.to_owned(),
        is_recorders: false,
    })
}

/// The parts of images that their headers in memory describe.
#[derive(Debug, Default)]
pub(crate) struct Images {
    /// The writable segments, each with the name of its file.
    pub(crate) segments: Vec<(Range<u64>, String)>,
    /// The files of the images, each with the address that it was loaded at, less the address that
    /// the file gives.
    pub(crate) files: Vec<(String, u64)>,
    /// The most bytes that the thread-local variables of all images take, with their padding.
    pub(crate) tls_bytes: u64,
}

/// Returns the address of the first page of each mapped file, by its name without the remark that
/// it was deleted.
pub(super) fn bases(mappings: &[Mapping]) -> HashMap<&str, u64> {
    let named = mappings.iter().filter(|mapping| !mapping.name.is_empty());
    let first = named.filter(|mapping| mapping.offset == 0);
    let mut bases = HashMap::new();
    for mapping in first {
        bases.entry(mapping.path()).or_insert(mapping.range.start);
    }
    bases
}

/// Returns the mapping that an address lies in. `mappings` are in the order of their addresses.
pub(super) fn at(mappings: &[Mapping], address: u64) -> Option<&Mapping> {
    let after = mappings.partition_point(|mapping| mapping.range.end <= address);
    let mapping = mappings.get(after)?;
    mapping.range.contains(&address).then_some(mapping)
}

/// Reads the program headers of the images from memory: a file may be gone, memory is not.
pub(crate) fn images(mappings: &[Mapping], read: Read<'_>) -> Images {
    let mut images = Images::default();
    let first = mappings.iter();
    let first = first.filter(|mapping| mapping.inode != 0 && mapping.offset == 0);
    for mapping in first.filter(|mapping| mapping.is_private) {
        if let Some(headers) = elf::program_headers(mapping.range.start, read) {
            add_segments(&mut images, mappings, mapping, &headers);
        }
    }
    images
}

fn add_segments(
    images: &mut Images,
    all: &[Mapping],
    mapping: &Mapping,
    headers: &[ProgramHeader],
) {
    let Some(first) = elf::first_page(headers) else {
        return;
    };
    let bias = mapping.range.start.wrapping_sub(first);
    let path = mapping.path();
    images.files.push((path.to_owned(), bias));
    let name = Path::new(path).file_name().unwrap_or_default();
    let name = name.to_string_lossy();
    let of_kind = |kind: u32| headers.iter().filter(move |header| header.kind == kind);
    for header in of_kind(elf::LOAD).filter(|header| header.is_writable) {
        let start = bias.wrapping_add(header.address);
        let end = start.saturating_add(header.bytes);
        // A program may have mapped the file as data too. Then its segments are elsewhere.
        let is_there = all.iter().any(|of| {
            let at = start.wrapping_sub(of.range.start).wrapping_add(of.offset);
            of.inode == mapping.inode && of.range.contains(&start) && at == header.offset
        });
        if is_there {
            images
                .segments
                .push((start..end, name.clone().into_owned()));
        }
    }
    for header in of_kind(elf::TLS) {
        let alignment = header.alignment.clamp(1, PAGE);
        let bytes = header.bytes.min(1 << 30).next_multiple_of(alignment) + alignment;
        images.tls_bytes = images.tls_bytes.saturating_add(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_smaps_are_mappings_and_the_recorders_own_memory_is_known() {
        let text = "\
55d0c000-55d10000 rw-p 00002000 08:01 77                         /opt/my app (deleted)
Size:                 16 kB
VmFlags: rd wr mr mw me ac sd
7f0000000000-7f0000400000 rw-p 00000000 00:00 0
Size:               4096 kB
VmFlags: rd wr mr mw me ac dd sd
nonsense
7ffd0000-7ffd1000 rw-p 00000000 00:00 0                          [stack]
9-1 rw-p 0 0 0
";
        let mappings = parse(text);
        assert_eq!(mappings.len(), 3);
        assert_eq!(mappings[0].name, "/opt/my app (deleted)");
        assert_eq!((mappings[0].inode, mappings[0].offset), (77, 0x2000));
        assert_eq!(mappings[1].range, 0x7f00_0000_0000..0x7f00_0040_0000);
        assert!(mappings[1].is_recorders && mappings[1].is_anonymous());
        assert!(!mappings[0].is_recorders && !mappings[2].is_recorders);
        assert_eq!(mappings[2].name, "[stack]");
    }

    #[test]
    fn headers_of_a_hostile_image_are_no_segments_of_ours() {
        let mapping = Mapping {
            range: 0x1000..0x2000,
            inode: 1,
            is_private: true,
            ..Mapping::default()
        };
        for fill in [0, 1, 7, 0xff] {
            let read = |_: u64, buffer: &mut [u8]| {
                buffer.fill(fill);
                if buffer.len() == elf::ELF_BYTES {
                    buffer[..6].copy_from_slice(b"\x7fELF\x02\x01");
                    buffer[32..40].copy_from_slice(&64_u64.to_le_bytes());
                    buffer[54..58].copy_from_slice(&[56, 0, 64, 0]);
                }
                Ok(())
            };
            let images = images(std::slice::from_ref(&mapping), &read);
            assert!(images.segments.len() <= 64);
        }
    }
}
