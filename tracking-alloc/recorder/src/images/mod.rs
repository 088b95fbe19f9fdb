//! The loaded images, read from `/proc/self/maps` by raw reads. `dl_iterate_phdr` is never called,
//! because the target may hold its lock.
//!
//! All accesses hold the write lock. Modules are append-only. If an image is unloaded and another
//! one is loaded at its addresses, they are two modules. The recorder is not notified of either. It
//! therefore checks images that can be unloaded: those on a new stack when the stack is interned,
//! and all images in use at events whose stacks lead through such code, at most about once per
//! millisecond. After a change, all keys of stacks change, so that no stack of the old code is
//! mistaken for one of the new code.

pub(crate) mod elf;
mod maps;

use crate::sys;
use elf::{Head, Identity, Source};
use maps::{Line, List};
use std::cell::Cell;
use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use tracking_alloc_recording::GENERATED_CODE;

pub(crate) const MOST_MODULES: usize = 1024;
const MOST_RANGES: usize = 4096;
/// Number of reads for unknown addresses without a wait. Further reads happen only now and then.
const UNHINDERED_READS: u64 = 32;
/// About 10 to 100 ms, depending on the machine's counter.
const TICKS_BETWEEN_READS: u64 = 100_000_000;
/// About 1 to 20 ms, depending on the machine's counter.
const TICKS_BETWEEN_CHECKS: u64 = 2_000_000;

/// The wait after a look-up of a mapping, as a multiple of its duration.
const LOOKUP_PAUSE: u64 = 16;

/// `true` if code is in use that can be unloaded.
static CAN_GO: AtomicBool = AtomicBool::new(false);
/// Number of reads without a wait that are left from the last expected change.
static EXPECTED_READS: AtomicU64 = AtomicU64::new(0);
/// More than one, because stacks may lead through generated code before a library is loaded.
const READS_FOR_A_CHANGE: u64 = 4;
/// The time at which images in use are checked again, in ticks.
static NEXT_CHECK: AtomicU64 = AtomicU64::new(0);

/// An executable range of an image.
#[derive(Clone, Copy)]
struct CodeRange {
    start: u64,
    end: u64,
    module: u32,
}

#[derive(Clone, Copy, Default)]
pub(crate) struct Image {
    inode: u64,
    /// The address minus the ELF virtual address.
    bias: u64,
    /// The lowest executable address.
    start: u64,
    /// The address of the first byte, or 0 if it is not known.
    head: u64,
    /// The fingerprint of the bytes at `head`, or 0 if it is not known.
    fingerprint: u64,
    pub(crate) generation: u32,
    path_hash: u64,
    loaded: bool,
    /// `true` if the image stays loaded as long as the process runs, such as the executable and
    /// the C library.
    lasting: bool,
    /// `true` if stacks lead through the image.
    used: bool,
    /// `true` for generated code. All of it is one image, whose offsets are addresses.
    generated: bool,
}

/// The known code of the process. All-zero bytes mean that none is known yet.
pub(crate) struct Modules {
    ranges: [CodeRange; MOST_RANGES],
    ranges_len: usize,
    /// The index of the range of the last address. It usually contains the next address too.
    last_range: Cell<usize>,
    images: [Image; MOST_MODULES],
    images_len: usize,
    paths: [[u8; 512]; MOST_MODULES],
    /// Number of requested reads, done or not.
    reads: u64,
    /// The time of the last read, in ticks.
    last_read: u64,
    /// `true` if the list was read since the last call of [`take_news`](Self::take_news).
    has_news: bool,
    /// `true` if stacks were cut at addresses in no known code.
    has_cuts: bool,
    /// `true` if nothing may be read any more (sandboxes).
    closed: bool,
    /// Number of look-ups of mappings, the time of the last one, and the pause after it, in ticks.
    lookups: u64,
    last_lookup: u64,
    lookup_pause: u64,
    /// Scratch memory: a line of the list, the beginning of an image, the list.
    line: Line,
    head: Head,
    buffer: [u8; 64 << 10],
}

/// The mapping to which the following lines belong. Its first bytes are in the scratch memory.
#[derive(Default)]
struct First {
    inode: u64,
    start: u64,
    /// 0 if it is not known.
    fingerprint: u64,
}

impl First {
    fn read(line: &Line, head: &mut Head) -> First {
        let mapped = sys::read_own_memory(line.start, head);
        if !mapped {
            // The kernel does not let us read our own memory. The file has the same headers, if it
            // is the same file.
            head.fill(0);
            if let Some(file) = line.file() {
                let _ = file.read_head(head, 0);
            }
        }
        First {
            inode: line.inode,
            start: line.start,
            fingerprint: elf::fingerprint(head).filter(|_| mapped).unwrap_or(0),
        }
    }
}

/// The module of an address in no image. Its offset is the address itself.
const NOWHERE: u32 = 0;

impl Modules {
    /// Initializes zeroed memory. Module 0 is "nowhere".
    pub(crate) fn prepare(&mut self) {
        self.images_len = 1;
    }

    /// Returns `true` if an address lies in executable code of a known image.
    pub(crate) fn is_code(&self, address: u64) -> bool {
        self.range_of(address).is_some()
    }

    fn range_of(&self, address: u64) -> Option<&CodeRange> {
        let ranges = self.ranges.get(..self.ranges_len)?;
        let last = ranges.get(self.last_range.get());
        if let Some(range) = last.filter(|range| range.start <= address && address < range.end) {
            return Some(range);
        }
        let next = ranges.partition_point(|range| range.start <= address);
        let index = next.checked_sub(1)?;
        self.last_range.set(index);
        ranges.get(index).filter(|range| address < range.end)
    }

    /// Returns the number of the image whose code contains an address.
    pub(crate) fn image_at(&self, address: u64) -> Option<usize> {
        self.range_of(address).map(|range| range.module as usize)
    }

    /// Returns a known image.
    fn known(&self, number: usize) -> Option<&Image> {
        self.images.get(..self.images_len)?.get(number)
    }

    /// Returns the address minus the ELF virtual address of an image.
    pub(crate) fn bias(&self, number: usize) -> Option<u64> {
        Some(self.known(number)?.bias)
    }

    /// Returns `true` for an image that is generated code.
    pub(crate) fn is_generated(&self, number: usize) -> bool {
        self.known(number).is_some_and(|image| image.generated)
    }

    /// Returns `true` if any known image is generated code.
    pub(crate) fn has_generated(&self) -> bool {
        let known = self.images.get(..self.images_len).unwrap_or_default();
        known.iter().any(|image| image.generated)
    }

    /// Returns up to `most` bytes of code before an address, as many as can be read.
    pub(crate) fn code_before(&mut self, address: u64, most: usize) -> Option<&[u8]> {
        let start = self.range_of(address.wrapping_sub(1))?.start;
        let len = usize::try_from(address - start).ok()?.min(most);
        let code = self.buffer.get_mut(..len).filter(|_| !self.closed)?;
        sys::read_own_memory(address - len as u64, code).then_some(code)
    }

    /// Returns the first bytes of code from an address on. They are zeros where there is none.
    pub(crate) fn code_after(&self, address: u64) -> [u8; 8] {
        let mut code = [0; 8];
        let end = self.range_of(address).map_or(0, |range| range.end);
        let len = end.saturating_sub(address).min(code.len() as u64) as usize;
        if self.closed || !sys::read_own_memory(address, &mut code[..len]) {
            code.fill(0);
        }
        code
    }

    /// Returns the number of images ever seen. If it changes, code was loaded.
    pub(crate) fn images_seen(&self) -> usize {
        self.images_len
    }

    /// Returns an image and the path from which it was loaded, NUL-terminated.
    pub(crate) fn image(&self, number: usize) -> Option<(Image, [u8; 512])> {
        Some((*self.known(number)?, *self.paths.get(number)?))
    }

    /// Stops all further reads.
    pub(crate) fn close(&mut self) {
        self.closed = true;
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Returns the module and offset of a return address.
    pub(crate) fn locate(&mut self, address: u64) -> (u32, u64) {
        let number = self.image_at(address.wrapping_sub(1));
        let found = number.and_then(|number| Some((number, self.images.get_mut(number)?)));
        let Some((number, image)) = found else {
            return (NOWHERE, address);
        };
        image.used = true;
        if !image.lasting {
            CAN_GO.store(true, Relaxed);
        }
        (number as u32, address.wrapping_sub(image.bias))
    }

    /// Returns `true` if other code may later lie at one of these addresses.
    pub(crate) fn can_go(&self, addresses: &[u64]) -> bool {
        addresses.iter().any(|address| {
            let image = self.image_at(address.wrapping_sub(1));
            !image.is_some_and(|number| self.images[number].lasting)
        })
    }

    /// Notes that a stack was cut at an address in no known code. From now on, the recorder looks
    /// for code that is loaded there.
    pub(crate) fn note_cut(&mut self) {
        self.has_cuts = true;
        CAN_GO.store(true, Relaxed);
    }

    /// Returns `true` if the code at these addresses is unchanged. Code on a stack cannot be
    /// unloaded, so the answer stays valid.
    pub(crate) fn is_unchanged(&mut self, addresses: &[u64]) -> bool {
        let mut last = None;
        addresses.iter().all(|address| {
            let Some(number) = self.image_at(address.wrapping_sub(1)) else {
                return true;
            };
            last.replace(number) == Some(number) || self.is_same(number)
        })
    }

    /// Returns `true` if all code in use is unchanged.
    pub(crate) fn is_all_unchanged(&mut self) -> bool {
        let is_same = (1..self.images_len).all(|number| {
            let in_use = |image: &Image| image.used && image.loaded;
            !self.known(number).is_some_and(in_use) || self.is_same(number)
        });
        is_same && !self.has_replaced_nameless()
    }

    /// Returns `true` if other code took the place of code without headers (generated code, or none
    /// at all). The headers cannot tell, so the list of mappings is checked now and then.
    fn has_replaced_nameless(&mut self) -> bool {
        let in_use = |image: &Image| image.used && image.loaded && !image.lasting;
        let known = self.images.get(1..self.images_len).unwrap_or_default();
        let is_nameless = |image: &Image| in_use(image) && image.fingerprint == 0;
        let now = sys::ticks();
        if self.closed
            || !self.has_cuts && !known.iter().any(is_nameless)
            || now.wrapping_sub(self.last_read) < TICKS_BETWEEN_READS
        {
            return false;
        }
        self.last_read = now;
        let (images, in_use_before) = (
            self.images_len,
            known.iter().filter(|image| in_use(image)).count(),
        );
        self.read();
        let known = self.images.get(1..images).unwrap_or_default();
        let in_use_now = known.iter().filter(|image| in_use(image)).count();
        in_use_now < in_use_before || self.images_len > images
    }

    fn is_same(&mut self, number: usize) -> bool {
        let Some(&image) = self.known(number) else {
            return true;
        };
        image.lasting
            || image.fingerprint == 0
            || self.closed
            || sys::read_own_memory(image.head, &mut self.head)
                && elf::fingerprint(&self.head) == Some(image.fingerprint)
    }

    /// Reads the list of mappings again for an address in no known code, unless this was just done
    /// for many such addresses. Returns `true` if it was read.
    pub(crate) fn read_again(&mut self) -> bool {
        let now = sys::ticks();
        self.reads += 1;
        let is_early = || now.wrapping_sub(self.last_read) < TICKS_BETWEEN_READS;
        let is_expected = || {
            let use_one = |left: u64| left.checked_sub(1);
            EXPECTED_READS
                .fetch_update(Relaxed, Relaxed, use_one)
                .is_ok()
        };
        if self.closed || self.reads > UNHINDERED_READS && is_early() && !is_expected() {
            return false;
        }
        self.last_read = now;
        self.read();
        true
    }

    /// Reads the list of mappings.
    pub(crate) fn read(&mut self) {
        let Some(mut list) = List::open() else {
            return;
        };
        self.has_news = true;
        self.ranges_len = 0;
        self.images[..self.images_len]
            .iter_mut()
            .for_each(|image| image.loaded = false);
        let mut first = First::default();
        while list.next(&mut self.buffer, &mut self.line) {
            self.add(&mut first);
        }
        self.ranges[..self.ranges_len].sort_unstable_by_key(|range| range.start);
    }

    /// Reads the list of mappings for the first time, before the program can have loaded a library
    /// by itself. The libraries with which it began are never unloaded.
    pub(crate) fn read_first(&mut self) {
        self.read();
        let images = self.images.get_mut(1..self.images_len).unwrap_or_default();
        for image in images.iter_mut().filter(|image| image.fingerprint != 0) {
            image.lasting = true;
        }
    }

    /// Returns the range of the readable and writable mapping that contains an address. Returns
    /// `None` also if nothing may be read any more, or if look-ups would take most of the time.
    pub(crate) fn mapping_of(&mut self, address: u64) -> Option<(u64, u64)> {
        let begun = sys::ticks();
        self.lookups += 1;
        let is_early = self.lookups <= UNHINDERED_READS;
        if self.closed || !is_early && begun.wrapping_sub(self.last_lookup) < self.lookup_pause {
            return None;
        }
        let mut list = List::open()?;
        let mut found = None;
        while found.is_none() && list.next(&mut self.buffer, &mut self.line) {
            let line = &self.line;
            let is_in = line.start <= address && address < line.end && line.writable;
            found = is_in.then_some((line.start, line.end));
        }
        self.last_lookup = sys::ticks();
        self.lookup_pause = LOOKUP_PAUSE * self.last_lookup.wrapping_sub(begun);
        found
    }

    /// Returns `true` if new images may have been seen since the last call.
    pub(crate) fn take_news(&mut self) -> bool {
        std::mem::take(&mut self.has_news)
    }

    /// Processes the current line.
    fn add(&mut self, first: &mut First) {
        let line = &self.line;
        if line.offset == 0 && line.may_be_image() {
            *first = First::read(line, &mut self.head);
        }
        if !line.executable || self.ranges_len == MOST_RANGES {
            return;
        }
        let (mut head, mut fingerprint, mut address) = (0, 0, None);
        if line.may_be_image() && first.inode == line.inode {
            (head, fingerprint) = (first.start, first.fingerprint);
            address = elf::address_of_offset(&self.head, line.offset).or_else(|| {
                // Of other files, none has headers elsewhere.
                elf::fingerprint(&self.head)?;
                line.file()?.address_of_offset(line.offset)
            });
        }
        // If the headers of an image cannot be read, its layout is assumed to be that of the file.
        let generated = line.is_anonymous();
        let bias = if generated {
            0
        } else {
            line.start.wrapping_sub(address.unwrap_or(line.offset))
        };
        let path_hash = if generated { 0 } else { line.path_hash() };
        let same = |image: &Image| {
            image.generated == generated
                && image.inode == line.inode
                && image.bias == bias
                && image.path_hash == path_hash
                && image.fingerprint == fingerprint
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
                    .filter(|image| image.start == line.start && !generated)
                    .count();
                let index = self.images_len;
                self.images[index] = Image {
                    inode: line.inode,
                    bias,
                    start: line.start,
                    head,
                    fingerprint,
                    generation: generation as u32,
                    path_hash,
                    generated,
                    ..Image::default()
                };
                self.paths[index] = line.path;
                if generated {
                    let name = GENERATED_CODE.as_bytes();
                    self.paths[index] = [0; 512];
                    self.paths[index][..name.len()].copy_from_slice(name);
                }
                self.images_len += 1;
                index
            }
            None => return,
        };
        let image = &mut self.images[index];
        image.loaded = true;
        image.start = image.start.min(line.start);
        let code = line.start..line.end;
        image.lasting |= sys::lasting_code()
            .iter()
            .any(|address| code.contains(address));
        self.ranges[self.ranges_len] = CodeRange {
            start: line.start,
            end: line.end,
            module: index as u32,
        };
        self.ranges_len += 1;
    }

    /// Returns the source of an image: its file, if it is still the one that was loaded, otherwise
    /// its mapping.
    pub(crate) fn open(&mut self, number: usize) -> Option<Source> {
        let image = *self.known(number).filter(|_| !self.closed)?;
        self.open_file(number, &image).or(self.mapped(&image))
    }

    fn mapped(&self, image: &Image) -> Option<Source> {
        (image.fingerprint != 0).then_some(Source::Memory {
            head: image.head,
            bias: image.bias,
        })
    }

    fn open_file(&mut self, number: usize, image: &Image) -> Option<Source> {
        let path = CStr::from_bytes_until_nul(self.paths.get(number)?).ok()?;
        // An executable that was deleted while it runs can still be opened by the second path.
        [path, c"/proc/self/exe"].into_iter().find_map(|path| {
            let source = Source::file(path)?;
            let same = if image.fingerprint == 0 {
                source.inode() == Some(image.inode)
            } else {
                self.head.fill(0);
                source.read_head(&mut self.head, 0)?;
                elf::fingerprint(&self.head) == Some(image.fingerprint)
            };
            same.then_some(source)
        })
    }

    /// Returns the build-id, or size and modification time.
    pub(crate) fn identity(&mut self, number: usize) -> Identity {
        let Some(&image) = self.known(number) else {
            return Identity::NONE;
        };
        // The mapping is the code that runs, even if the file has changed.
        if let Some(mapped) = self.mapped(&image)
            && let Some(identity) = mapped.build_id(&mut self.head)
        {
            return identity;
        }
        let Some(file) = self.open_file(number, &image) else {
            return Identity::NONE;
        };
        file.build_id(&mut self.head)
            .or_else(|| file.size_and_time())
            .unwrap_or(Identity::NONE)
    }
}

/// Returns `true` if code is in use that can be unloaded, and it was not checked for a while.
#[inline]
pub(crate) fn is_check_due() -> bool {
    CAN_GO.load(Relaxed) && sys::ticks() >= NEXT_CHECK.load(Relaxed)
}

/// Notes that code was unloaded or is about to be loaded. The code in use is checked at the next
/// event whose stack leads through code that can be unloaded, and the next unknown addresses are
/// looked up without a wait.
pub(crate) fn expect_changes() {
    EXPECTED_READS.store(READS_FOR_A_CHANGE, Relaxed);
    NEXT_CHECK.store(0, Relaxed);
}

/// Notes that code in use was checked just now.
pub(crate) fn checked() {
    NEXT_CHECK.store(sys::ticks().wrapping_add(TICKS_BETWEEN_CHECKS), Relaxed);
}
