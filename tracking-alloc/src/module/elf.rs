//! The few words of an ELF file that place and name it, read from the file or from where it is mapped: by raw calls, so
//! that a mapping that goes away meanwhile is an error and no fault.

use crate::hash::mix;
use crate::sys::{self, File};
use std::ffi::CStr;
use tracking_alloc_recording::module_id;

pub(crate) struct Identity {
    pub(crate) kind: u32,
    pub(crate) len: usize,
    pub(crate) bytes: [u8; 32],
}

impl Identity {
    pub(super) const NONE: Identity = Identity {
        kind: module_id::NONE,
        len: 0,
        bytes: [0; 32],
    };
}

/// Of 64 bits, little-endian.
const MAGIC: &[u8] = b"\x7fELF\x02\x01";
pub(crate) const PT_LOAD: u64 = 1;
const PT_NOTE: u64 = 4;
const PF_X: u64 = 1;
pub(crate) const PT_GNU_EH_FRAME: u64 = 0x6474_e550;
const NT_GNU_BUILD_ID: u64 = 3;
const MOST_HEADERS: u64 = 64;

/// The beginning of an image: headers, and nearly always the build-id.
pub(super) type Head = [u8; 1024];

/// A number for the beginning of an image, never 0: other code, other number.
pub(super) fn fingerprint(head: &[u8]) -> Option<u64> {
    let (words, _) = head.as_chunks::<8>();
    if !head.starts_with(MAGIC) {
        return None;
    }
    let hash = words
        .iter()
        .fold(1u64, |hash, word| mix(hash, u64::from_le_bytes(*word)));
    Some(hash | 1)
}

/// Where an image is read from.
pub(crate) enum Source {
    File(File),
    /// From this process's memory, in which its first byte and its virtual address 0 lie at these addresses.
    Memory {
        head: u64,
        bias: u64,
    },
}

/// A program header.
pub(crate) struct Segment {
    pub(crate) kind: u64,
    pub(crate) executable: bool,
    pub(crate) offset: u64,
    pub(crate) address: u64,
    pub(crate) file_bytes: u64,
}

impl Source {
    /// Opens a path.
    pub(super) fn file(path: &CStr) -> Option<Source> {
        if path.to_bytes().first() != Some(&b'/') {
            return None;
        }
        File::open(path, libc::O_RDONLY | libc::O_NONBLOCK, 0)
            .ok()
            .map(Source::File)
    }

    /// Reads at an offset of the file that lies in its first mapped page.
    pub(super) fn read_head(&self, buffer: &mut [u8], offset: u64) -> Option<usize> {
        match self {
            Source::File(file) => file.read_at(buffer, offset).ok(),
            Source::Memory { head, .. } => {
                sys::read_own_memory(head.checked_add(offset)?, buffer).then_some(buffer.len())
            }
        }
    }

    /// The same for a header, whole.
    fn read_header(&self, header: &mut [u8], offset: u64) -> Option<()> {
        (self.read_head(header, offset)? == header.len()).then_some(())
    }

    /// Reads a part of a segment, whole.
    pub(crate) fn read(&self, segment: &Segment, inside: u64, buffer: &mut [u8]) -> Option<()> {
        match self {
            Source::File(file) => {
                let mut done = 0;
                while let Some(rest) = buffer.get_mut(done..).filter(|rest| !rest.is_empty()) {
                    let offset = segment.offset.checked_add(inside)?;
                    match file.read_at(rest, offset.checked_add(done as u64)?).ok()? {
                        0 => return None,
                        read => done += read,
                    }
                }
                Some(())
            }
            Source::Memory { bias, .. } => {
                let start = bias.wrapping_add(segment.address).wrapping_add(inside);
                sys::read_own_memory(start, buffer).then_some(())
            }
        }
    }

    /// Calls `each` with every program header until it answers.
    pub(crate) fn segments<R>(&self, mut each: impl FnMut(Segment) -> Option<R>) -> Option<R> {
        let mut header = [0; 64];
        self.read_header(&mut header, 0)?;
        let table = Table::of(&header)?;
        for index in 0..table.count {
            let mut entry = [0; 56];
            self.read_header(&mut entry, table.offset(index)?)?;
            if let Some(answer) = each(Segment::parse(&entry)?) {
                return Some(answer);
            }
        }
        None
    }

    /// The size of the section that lies at an offset of the file, by the section headers: files may have them, images
    /// have not.
    pub(crate) fn section_bytes(&self, offset: u64) -> Option<u64> {
        const MOST_SECTIONS: u64 = 256;
        let Source::File(_) = self else {
            return None;
        };
        let mut header = [0; 64];
        self.read_header(&mut header, 0)?;
        let table = number::<8>(&header, 40)?;
        let (bytes, count) = (number::<2>(&header, 58)?, number::<2>(&header, 60)?);
        (0..count.min(MOST_SECTIONS)).find_map(|index| {
            let mut section = [0; 64];
            self.read_header(&mut section, table.checked_add(index * bytes)?)?;
            let (start, bytes) = (number::<8>(&section, 24)?, number::<8>(&section, 32)?);
            (start == offset && bytes != 0).then_some(bytes)
        })
    }

    /// The build-id. `room` is scratch.
    pub(super) fn build_id(&self, room: &mut Head) -> Option<Identity> {
        self.segments(|segment| {
            if segment.kind != PT_NOTE {
                return None;
            }
            let length = (segment.file_bytes as usize).min(room.len());
            let notes = room.get_mut(..length)?;
            self.read(&segment, 0, notes)?;
            build_id(notes)
        })
    }

    /// Size and modification time, of a file.
    pub(super) fn size_and_time(&self) -> Option<Identity> {
        let Source::File(file) = self else {
            return None;
        };
        let status = file.status().ok()?;
        let modified = (status.st_mtime as u64)
            .wrapping_mul(1_000_000_000)
            .wrapping_add(status.st_mtime_nsec as u64);
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&(status.st_size as u64).to_le_bytes());
        bytes[8..16].copy_from_slice(&modified.to_le_bytes());
        Some(Identity {
            kind: module_id::FILE,
            len: 16,
            bytes,
        })
    }

    /// The inode, of a file.
    pub(super) fn inode(&self) -> Option<u64> {
        match self {
            Source::File(file) => Some(file.status().ok()?.st_ino),
            Source::Memory { .. } => None,
        }
    }
}

/// Where the program headers are.
struct Table {
    start: u64,
    /// Of one.
    bytes: u64,
    count: u64,
}

impl Table {
    fn of(header: &[u8]) -> Option<Table> {
        if !header.starts_with(MAGIC) {
            return None;
        }
        Some(Table {
            start: number::<8>(header, 32)?,
            bytes: number::<2>(header, 54)?,
            count: number::<2>(header, 56)?.min(MOST_HEADERS),
        })
    }

    fn offset(&self, index: u64) -> Option<u64> {
        self.start.checked_add(index * self.bytes)
    }
}

impl Segment {
    fn parse(entry: &[u8]) -> Option<Segment> {
        Some(Segment {
            kind: number::<4>(entry, 0)?,
            executable: number::<4>(entry, 4)? & PF_X != 0,
            offset: number::<8>(entry, 8)?,
            address: number::<8>(entry, 16)?,
            file_bytes: number::<8>(entry, 32)?,
        })
    }

    /// The virtual address that a page-aligned file offset is mapped at as code. Neighbouring segments may share the
    /// page in the file, not in memory: only the executable one counts.
    fn code_address(&self, offset: u64) -> Option<u64> {
        let page = self.offset & !0xfff;
        let end = self.offset.saturating_add(self.file_bytes);
        let inside = self.kind == PT_LOAD && self.executable && page <= offset && offset < end;
        inside.then(|| self.address.wrapping_sub(self.offset).wrapping_add(offset))
    }
}

/// The virtual address of a file offset that is mapped as code, by the beginning of the image; `None` when its program
/// headers do not lie in there.
pub(super) fn address_of_offset(head: &[u8], offset: u64) -> Option<u64> {
    let table = Table::of(head)?;
    (0..table.count).find_map(|index| {
        let start = usize::try_from(table.offset(index)?).ok()?;
        Segment::parse(head.get(start..start.checked_add(56)?)?)?.code_address(offset)
    })
}

/// The number in `N` bytes at an offset.
fn number<const N: usize>(bytes: &[u8], offset: usize) -> Option<u64> {
    let mut word = [0; 8];
    word.get_mut(..N)?
        .copy_from_slice(bytes.get(offset..offset.checked_add(N)?)?);
    Some(u64::from_le_bytes(word))
}

fn build_id(mut rest: &[u8]) -> Option<Identity> {
    while rest.len() >= 12 {
        let (name, value) = (
            number::<4>(rest, 0)? as usize,
            number::<4>(rest, 4)? as usize,
        );
        let kind = number::<4>(rest, 8)?;
        let start = name.checked_next_multiple_of(4)?.checked_add(12)?;
        let id = rest.get(start..start.checked_add(value)?)?;
        if kind == NT_GNU_BUILD_ID
            && rest.get(12..16) == Some(b"GNU\0")
            && (1..=32).contains(&value)
        {
            let mut bytes = [0; 32];
            bytes.get_mut(..value)?.copy_from_slice(id);
            return Some(Identity {
                kind: module_id::BUILD_ID,
                len: value,
                bytes,
            });
        }
        rest = rest.get(start + value.next_multiple_of(4)..)?;
    }
    None
}
