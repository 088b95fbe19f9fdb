//! Loaded images, from `/proc/self/maps` by raw reads: never `dl_iterate_phdr`, whose lock the target may hold.
//!
//! Under the write lock. Modules are append-only; an image unloaded and another loaded at its addresses are two modules.

use crate::session::Writer;
use crate::sys::{self, File};
use std::sync::atomic::Ordering::*;
use tracking_alloc_recording::{Module, module_id};

pub(crate) const MOST_MODULES: usize = 1024;
const MOST_RANGES: usize = 4096;
/// So many reads for unknown addresses are done at once; further ones only now and then.
const UNHINDERED_READS: u64 = 32;
/// About 10 to 100 ms, depending on the machine's counter.
const TICKS_BETWEEN_READS: u64 = 100_000_000;

/// An executable range of an image.
#[derive(Clone, Copy)]
struct CodeRange {
    start: u64,
    end: u64,
    module: u32,
}

#[derive(Clone, Copy)]
struct Image {
    inode: u64,
    /// Address minus ELF virtual address.
    bias: u64,
    start: u64,
    end: u64,
    generation: u32,
    path_hash: u64,
    loaded: bool,
}

/// What is known of the process's code. All-zero bytes are "nothing yet".
pub(crate) struct Modules {
    ranges: [CodeRange; MOST_RANGES],
    ranges_len: usize,
    images: [Image; MOST_MODULES],
    images_len: usize,
    /// How many images are in the recording already.
    recorded: usize,
    paths: [[u8; 512]; MOST_MODULES],
    /// Asked-for reads, done or not.
    reads: u64,
    /// When the last one was done, in ticks.
    last_read: u64,
    buffer: [u8; 64 << 10],
}

/// The module of an address in no image: its offset is the address.
const NOWHERE: u32 = 0;

impl Modules {
    /// # Safety
    /// `at` must be zeroed memory that nobody else reaches.
    pub(crate) unsafe fn prepare(at: *mut Modules) {
        // SAFETY: zeroed memory is a value of every field; module 0 stays "nowhere".
        unsafe { (*at).images_len = 1 };
    }

    /// Whether an address lies in executable code of a known image.
    pub(crate) fn is_code(&self, address: u64) -> bool {
        self.range_of(address).is_some()
    }

    fn range_of(&self, address: u64) -> Option<&CodeRange> {
        let ranges = self.ranges.get(..self.ranges_len)?;
        let next = ranges.partition_point(|range| range.start <= address);
        ranges
            .get(next.checked_sub(1)?)
            .filter(|range| address < range.end)
    }

    /// The number of the image whose code an address lies in.
    pub(crate) fn image_at(&self, address: u64) -> Option<usize> {
        self.range_of(address).map(|range| range.module as usize)
    }

    /// Bias (address minus ELF virtual address), inode and NUL-terminated path of an image.
    pub(crate) fn image(&self, number: usize) -> Option<(u64, u64, &[u8; 512])> {
        let image = self.images.get(..self.images_len)?.get(number)?;
        Some((image.bias, image.inode, self.paths.get(number)?))
    }

    /// How many images were ever seen: a change means that code was loaded.
    pub(crate) fn images_seen(&self) -> usize {
        self.images_len
    }

    /// Module and offset of a return address.
    pub(crate) fn locate(&self, address: u64) -> (u32, u64) {
        match self.range_of(address.wrapping_sub(1)) {
            Some(range) => {
                let bias = self
                    .images
                    .get(range.module as usize)
                    .map_or(0, |image| image.bias);
                (range.module, address.wrapping_sub(bias))
            }
            None => (NOWHERE, address),
        }
    }

    /// Reads the list of mappings again for an address in no known code, unless that was done a moment ago for many
    /// such addresses already. True when it was read.
    pub(crate) fn read_again(&mut self) -> bool {
        let now = sys::ticks();
        self.reads += 1;
        if self.reads > UNHINDERED_READS && now.wrapping_sub(self.last_read) < TICKS_BETWEEN_READS {
            return false;
        }
        self.last_read = now;
        self.read();
        true
    }

    fn read(&mut self) {
        let Ok(file) = File::open(c"/proc/self/maps", libc::O_RDONLY, 0) else {
            return;
        };
        self.ranges_len = 0;
        self.images[..self.images_len]
            .iter_mut()
            .for_each(|image| image.loaded = false);
        let mut filled = 0;
        while let Ok(read) = file.read(&mut self.buffer[filled..]) {
            filled += read;
            let mut start = 0;
            while let Some(length) = self.buffer[start..filled]
                .iter()
                .position(|byte| *byte == b'\n')
            {
                if let Some(line) = Line::parse(&self.buffer[start..start + length]) {
                    self.add(line);
                }
                start += length + 1;
            }
            self.buffer.copy_within(start..filled, 0);
            filled -= start;
            if read == 0 || filled == self.buffer.len() {
                break;
            }
        }
        self.ranges[..self.ranges_len].sort_unstable_by_key(|range| range.start);
    }

    /// Takes an executable mapping into account.
    fn add(&mut self, line: Line) {
        if !line.executable || self.ranges_len == MOST_RANGES {
            return;
        }
        let bias = line.start.wrapping_sub(line.segment_address());
        let path_hash = line.path_hash();
        let same = |image: &Image| {
            image.inode == line.inode && image.bias == bias && image.path_hash == path_hash
        };
        let known = self.images[1..self.images_len]
            .iter()
            .position(same)
            .map(|index| index + 1);
        let index = match known {
            Some(index) => index,
            None if self.images_len < MOST_MODULES => {
                let generation = self.images[1..self.images_len]
                    .iter()
                    .filter(|image| image.start == line.start)
                    .count();
                let index = self.images_len;
                self.images[index] = Image {
                    inode: line.inode,
                    bias,
                    start: line.start,
                    end: line.end,
                    generation: generation as u32,
                    path_hash,
                    loaded: true,
                };
                self.paths[index] = line.path;
                self.images_len += 1;
                index
            }
            None => return,
        };
        let image = &mut self.images[index];
        image.loaded = true;
        image.start = image.start.min(line.start);
        image.end = image.end.max(line.end);
        self.ranges[self.ranges_len] = CodeRange {
            start: line.start,
            end: line.end,
            module: index as u32,
        };
        self.ranges_len += 1;
    }
}

impl Writer {
    /// Adds images seen since the last time to the recording.
    pub(crate) fn record_modules(&mut self) {
        if self.images.recorded == 0 {
            let nowhere = self.modules.push::<Module>(&mut self.store);
            if nowhere.is_none() {
                return;
            }
            self.images.recorded = 1;
            self.store.header().modules_len.store(1, Release);
        }
        while self.images.recorded < self.images.images_len {
            let index = self.images.recorded;
            let (image, path) = (self.images.images[index], self.images.paths[index]);
            let length = path
                .iter()
                .position(|byte| *byte == 0)
                .unwrap_or(path.len());
            let reference = self.string(&path[..length]);
            let Some((_, place)) = self.modules.push::<Module>(&mut self.store) else {
                return;
            };
            // SAFETY: a zeroed record just handed out, mapped until the process ends.
            let module = unsafe { place.as_ref() };
            module.path.store(reference, Relaxed);
            module.generation.store(image.generation, Relaxed);
            module.bias.store(image.bias, Relaxed);
            module.start.store(image.start, Relaxed);
            module.end.store(image.end, Relaxed);
            module.inode.store(image.inode, Relaxed);
            let identity = elf::identity(&path);
            module.id_kind.store(identity.kind, Relaxed);
            module.id_bytes.store(identity.len as u32, Relaxed);
            for (word, bytes) in module.id.iter().zip(identity.bytes.chunks_exact(8)) {
                word.store(bytes.try_into().map_or(0, u64::from_le_bytes), Relaxed);
            }
            if identity.kind == module_id::NONE {
                self.store.header().unread_modules.fetch_add(1, Relaxed);
            }
            self.images.recorded += 1;
            self.store
                .header()
                .modules_len
                .store(self.images.recorded as u32, Release);
        }
    }
}

/// A line of `/proc/self/maps`.
struct Line {
    start: u64,
    end: u64,
    executable: bool,
    offset: u64,
    inode: u64,
    /// NUL-terminated; a longer path is cut.
    path: [u8; 512],
}

impl Line {
    fn parse(line: &[u8]) -> Option<Line> {
        let mut fields = line.splitn(6, |byte| *byte == b' ');
        let mut addresses = fields.next()?.split(|byte| *byte == b'-');
        let (start, end) = (hex(addresses.next()?)?, hex(addresses.next()?)?);
        let executable = fields.next()?.get(2) == Some(&b'x');
        let offset = hex(fields.next()?)?;
        let _device = fields.next()?;
        let inode = fields.next()?.iter().try_fold(0u64, |value, byte| {
            byte.is_ascii_digit()
                .then(|| value.wrapping_mul(10).wrapping_add(u64::from(byte - b'0')))
        })?;
        let rest = fields.next().unwrap_or_default();
        let text = rest
            .iter()
            .position(|byte| *byte != b' ')
            .map_or(&[][..], |first| &rest[first..]);
        let mut path = [0; 512];
        let length = text.len().min(path.len() - 1);
        path[..length].copy_from_slice(&text[..length]);
        Some(Line {
            start,
            end,
            executable,
            offset,
            inode,
            path,
        })
    }

    /// FNV-1a over the path: names and inodes together tell images apart.
    fn path_hash(&self) -> u64 {
        self.path
            .iter()
            .take_while(|byte| **byte != 0)
            .fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
                (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
            })
    }

    /// The ELF virtual address of the start of this mapping, from the file's program headers; its file offset when the
    /// file cannot be read (true of images whose segments are laid out as in the file).
    fn segment_address(&self) -> u64 {
        elf::address_of_offset(&self.path, self.offset).unwrap_or(self.offset)
    }
}

fn hex(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |value, byte| {
        Some(value << 4 | u64::from(char::from(*byte).to_digit(16)?))
    })
}

/// The few words of an ELF file that place and name it, read from the file by raw calls.
pub(crate) mod elf {
    use super::{File, module_id};
    use std::ffi::CStr;

    pub(super) struct Identity {
        pub(super) kind: u32,
        pub(super) len: usize,
        pub(super) bytes: [u8; 32],
    }

    pub(crate) const PT_LOAD: u32 = 1;
    const PT_NOTE: u32 = 4;
    const PF_X: u32 = 1;
    pub(crate) const PT_GNU_EH_FRAME: u32 = 0x6474_e550;
    const NT_GNU_BUILD_ID: u32 = 3;
    const MOST_HEADERS: u16 = 64;

    pub(crate) fn open(path: &[u8; 512]) -> Option<File> {
        let path = CStr::from_bytes_until_nul(path).ok()?;
        if path.to_bytes().first() != Some(&b'/') {
            return None;
        }
        // An executable that was replaced while it runs is still there under this name.
        let file = if path.to_bytes().ends_with(b" (deleted)") {
            File::open(c"/proc/self/exe", libc::O_RDONLY | libc::O_NONBLOCK, 0)
        } else {
            File::open(path, libc::O_RDONLY | libc::O_NONBLOCK, 0)
        };
        file.ok()
    }

    pub(crate) fn word<const N: usize>(bytes: &[u8], offset: usize) -> Option<[u8; N]> {
        bytes.get(offset..offset.checked_add(N)?)?.try_into().ok()
    }

    /// A program header.
    pub(crate) struct Segment {
        pub(crate) kind: u32,
        pub(crate) executable: bool,
        pub(crate) offset: u64,
        pub(crate) address: u64,
        pub(crate) file_bytes: u64,
    }

    /// Calls `each` with every program header until it answers.
    pub(crate) fn segments<R>(
        file: &File,
        mut each: impl FnMut(Segment) -> Option<R>,
    ) -> Option<R> {
        let mut header = [0u8; 64];
        if file.read_at(&mut header, 0).ok()? < header.len() || header[..6] != *b"\x7fELF\x02\x01" {
            return None;
        }
        let table = u64::from_le_bytes(word(&header, 32)?);
        let (bytes, count) = (
            u16::from_le_bytes(word(&header, 54)?),
            u16::from_le_bytes(word(&header, 56)?),
        );
        for index in 0..count.min(MOST_HEADERS) {
            let mut entry = [0u8; 56];
            if file
                .read_at(&mut entry, table + u64::from(index) * u64::from(bytes))
                .ok()?
                < entry.len()
            {
                return None;
            }
            let segment = Segment {
                kind: u32::from_le_bytes(word(&entry, 0)?),
                executable: u32::from_le_bytes(word(&entry, 4)?) & PF_X != 0,
                offset: u64::from_le_bytes(word(&entry, 8)?),
                address: u64::from_le_bytes(word(&entry, 16)?),
                file_bytes: u64::from_le_bytes(word(&entry, 32)?),
            };
            if let Some(answer) = each(segment) {
                return Some(answer);
            }
        }
        None
    }

    /// The virtual address that a page-aligned file offset is mapped at as code. Neighbouring segments may share the
    /// page in the file, not in memory: only the executable one counts.
    pub(super) fn address_of_offset(path: &[u8; 512], offset: u64) -> Option<u64> {
        let file = open(path)?;
        segments(&file, |segment| {
            let page = segment.offset & !0xfff;
            let end = segment.offset.saturating_add(segment.file_bytes);
            let inside =
                segment.kind == PT_LOAD && segment.executable && page <= offset && offset < end;
            inside.then(|| {
                segment
                    .address
                    .wrapping_sub(segment.offset)
                    .wrapping_add(offset)
            })
        })
    }

    /// The build-id, or size and modification time.
    pub(super) fn identity(path: &[u8; 512]) -> Identity {
        let none = Identity {
            kind: module_id::NONE,
            len: 0,
            bytes: [0; 32],
        };
        let Some(file) = open(path) else { return none };
        if let Some(identity) = segments(&file, |segment| {
            if segment.kind == PT_NOTE {
                build_id(&file, &segment)
            } else {
                None
            }
        }) {
            return identity;
        }
        let Ok(status) = file.status() else {
            return none;
        };
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&(status.st_size as u64).to_le_bytes());
        let modified = (status.st_mtime as u64)
            .wrapping_mul(1_000_000_000)
            .wrapping_add(status.st_mtime_nsec as u64);
        bytes[8..16].copy_from_slice(&modified.to_le_bytes());
        Identity {
            kind: module_id::FILE,
            len: 16,
            bytes,
        }
    }

    fn build_id(file: &File, segment: &Segment) -> Option<Identity> {
        let mut notes = [0u8; 1024];
        let length = (segment.file_bytes as usize).min(notes.len());
        let read = file.read_at(&mut notes[..length], segment.offset).ok()?;
        let mut rest = &notes[..read];
        while rest.len() >= 12 {
            let (name, value) = (
                u32::from_le_bytes(word(rest, 0)?) as usize,
                u32::from_le_bytes(word(rest, 4)?) as usize,
            );
            let kind = u32::from_le_bytes(word(rest, 8)?);
            let start = 12 + name.next_multiple_of(4);
            let id = rest.get(start..start.checked_add(value)?)?;
            if kind == NT_GNU_BUILD_ID
                && rest.get(12..16) == Some(b"GNU\0")
                && (1..=32).contains(&value)
            {
                let mut bytes = [0; 32];
                bytes[..value].copy_from_slice(id);
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
}
