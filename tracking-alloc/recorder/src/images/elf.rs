//! The few words of an ELF file that identify it and tell its addresses. They are read from the
//! file or from its mapping. Raw system calls do this, so that a mapping that goes away meanwhile
//! is an error and not a fault.

use crate::hash::mix;
use crate::sys::{self, File};
use libc::{Elf64_Ehdr, Elf64_Phdr, Elf64_Shdr, PF_X, PT_LOAD, PT_NOTE};
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

/// The magic number: 64 bits, little-endian.
const MAGIC: &[u8] = b"\x7fELF\x02\x01";
const NT_GNU_BUILD_ID: usize = 3;
const MOST_HEADERS: u16 = 64;

/// A header of an ELF file.
///
/// # Safety
/// The type must contain only numbers, so that any bytes are a valid value.
unsafe trait Header: Copy {}
// SAFETY: it contains only numbers.
unsafe impl Header for Elf64_Ehdr {}
// SAFETY: as above.
unsafe impl Header for Elf64_Phdr {}
// SAFETY: as above.
unsafe impl Header for Elf64_Shdr {}

/// Parses the header at an offset.
fn parse<T: Header>(bytes: &[u8], offset: u64) -> Option<T> {
    let rest = bytes.get(usize::try_from(offset).ok()?..)?;
    let header = rest.get(..size_of::<T>())?;
    // SAFETY: any bytes are a valid header, and the slice has enough of them.
    Some(unsafe { header.as_ptr().cast::<T>().read_unaligned() })
}

/// The beginning of an image: its headers and nearly always its build-id.
pub(super) type Head = [u8; 1024];

/// Returns a number that identifies the beginning of an image. It differs for other code and is
/// never 0.
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

/// The source from which an image is read.
pub(crate) enum Source {
    File(File),
    /// The memory of this process, with the addresses of the image's first byte and of its virtual
    /// address 0.
    Memory {
        head: u64,
        bias: u64,
    },
}

impl Source {
    /// Opens a file by its path.
    pub(crate) fn file(path: &CStr) -> Option<Source> {
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

    /// Reads a whole header.
    fn header<T: Header>(&self, offset: u64) -> Option<T> {
        let mut room = [0; 64];
        let bytes = room.get_mut(..size_of::<T>())?;
        let read = self.read_head(bytes, offset)?;
        parse(bytes.get(..read)?, 0)
    }

    /// Reads the whole requested part of a segment.
    pub(crate) fn read(&self, segment: &Elf64_Phdr, inside: u64, buffer: &mut [u8]) -> Option<()> {
        match self {
            Source::File(file) => {
                let mut done = 0;
                while let Some(rest) = buffer.get_mut(done..).filter(|rest| !rest.is_empty()) {
                    let offset = segment.p_offset.checked_add(inside)?;
                    match file.read_at(rest, offset.checked_add(done as u64)?).ok()? {
                        0 => return None,
                        read => done += read,
                    }
                }
                Some(())
            }
            Source::Memory { bias, .. } => {
                let start = bias.wrapping_add(segment.p_vaddr).wrapping_add(inside);
                sys::read_own_memory(start, buffer).then_some(())
            }
        }
    }

    /// Calls `each` with every program header until it returns a value.
    pub(crate) fn segments<R>(&self, each: impl FnMut(Elf64_Phdr) -> Option<R>) -> Option<R> {
        let offsets = segment_offsets(&self.header(0)?);
        offsets
            .map_while(|offset| self.header(offset))
            .find_map(each)
    }

    /// Returns the virtual address of a file offset that is mapped as code. Tools that rewrite a
    /// finished library move its program headers to the end of the file, where
    /// [`address_of_offset`] does not find them. rustup's compiler is such a library (BOLT).
    pub(super) fn address_of_offset(&self, offset: u64) -> Option<u64> {
        self.segments(|segment| code_address(segment, offset))
    }

    /// Returns the size of the section at an offset of the file. It comes from the section headers,
    /// which files may have but mapped images do not.
    pub(crate) fn section_bytes(&self, offset: u64) -> Option<u64> {
        const MOST_SECTIONS: u16 = 256;
        let Source::File(_) = self else {
            return None;
        };
        let header: Elf64_Ehdr = self.header(0)?;
        let (start, bytes) = (header.e_shoff, u64::from(header.e_shentsize));
        (0..header.e_shnum.min(MOST_SECTIONS)).find_map(|index| {
            let place = start.checked_add(u64::from(index) * bytes)?;
            let section: Elf64_Shdr = self.header(place)?;
            (section.sh_offset == offset && section.sh_size != 0).then_some(section.sh_size)
        })
    }

    /// Returns the build-id. `room` is scratch memory.
    pub(super) fn build_id(&self, room: &mut Head) -> Option<Identity> {
        self.segments(|segment| {
            if segment.p_type != PT_NOTE {
                return None;
            }
            let length = (segment.p_filesz as usize).min(room.len());
            let notes = room.get_mut(..length)?;
            self.read(&segment, 0, notes)?;
            build_id(notes)
        })
    }

    /// Returns size and modification time, for a file.
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

    /// Returns the inode, for a file.
    pub(super) fn inode(&self) -> Option<u64> {
        match self {
            Source::File(file) => Some(file.status().ok()?.st_ino),
            Source::Memory { .. } => None,
        }
    }
}

/// Returns the offsets of the program headers.
fn segment_offsets(header: &Elf64_Ehdr) -> impl Iterator<Item = u64> + use<> {
    let count = if header.e_ident.starts_with(MAGIC) {
        header.e_phnum.min(MOST_HEADERS)
    } else {
        0
    };
    let (start, bytes) = (header.e_phoff, u64::from(header.e_phentsize));
    (0..count).map_while(move |index| start.checked_add(u64::from(index) * bytes))
}

/// Returns the virtual address at which a page-aligned file offset is mapped as code. Neighboring
/// segments may share the page in the file, but not in memory, so only the executable segment
/// counts.
fn code_address(segment: Elf64_Phdr, offset: u64) -> Option<u64> {
    let page = segment.p_offset & !0xfff;
    let end = segment.p_offset.saturating_add(segment.p_filesz);
    let is_code = segment.p_type == PT_LOAD && segment.p_flags & PF_X != 0;
    let address = segment.p_vaddr.wrapping_sub(segment.p_offset);
    (is_code && page <= offset && offset < end).then(|| address.wrapping_add(offset))
}

/// Returns the virtual address of a file offset that is mapped as code, from the beginning of the
/// image. Returns `None` if the program headers lie outside of that.
pub(super) fn address_of_offset(head: &[u8], offset: u64) -> Option<u64> {
    let offsets = segment_offsets(&parse(head, 0)?);
    offsets
        .map_while(|start| parse(head, start))
        .find_map(|segment| code_address(segment, offset))
}

fn build_id(mut rest: &[u8]) -> Option<Identity> {
    while rest.len() >= 12 {
        let word = |at: usize| Some(u32::from_le_bytes(*rest.get(at..)?.first_chunk()?) as usize);
        let (name, value, kind) = (word(0)?, word(4)?, word(8)?);
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
