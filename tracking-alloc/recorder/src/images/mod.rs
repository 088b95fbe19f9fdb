//! Loaded images, from `/proc/self/maps` by raw reads: never `dl_iterate_phdr`, whose lock the
//! target may hold.
//!
//! Reached under the write lock. Modules are append-only; an image unloaded and another loaded at
//! its addresses are two modules. Nobody tells us of either, so images that can go away are looked
//! at again: those on a new stack when it is interned, and those in use with events whose stacks
//! lead through such code, at most every millisecond or so. Then all keys of stacks change, so that
//! no stack of the old code is taken for one of the new.

pub(crate) mod elf;
mod maps;

use crate::sys;
use elf::{Head, Identity, Source};
use maps::{Line, List};
use std::cell::Cell;
use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};

pub(crate) const MOST_MODULES: usize = 1024;
const MOST_RANGES: usize = 4096;
/// Number of reads for unknown addresses without a wait; further reads happen only now and then.
const UNHINDERED_READS: u64 = 32;
/// About 10 to 100 ms, depending on the machine's counter.
const TICKS_BETWEEN_READS: u64 = 100_000_000;
/// About 1 to 20 ms, as above.
const TICKS_BETWEEN_CHECKS: u64 = 2_000_000;

/// The wait after a look-up of a mapping, as a multiple of its duration.
const LOOKUP_PAUSE: u64 = 16;

/// `true` if code is in use that can be unloaded.
static CAN_GO: AtomicBool = AtomicBool::new(false);
/// When images in use are looked at again, in ticks.
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
    /// Address minus ELF virtual address.
    bias: u64,
    /// Lowest executable address.
    start: u64,
    /// Address of its first byte, 0 = not known.
    head: u64,
    /// Of what lies there, 0 = not known.
    fingerprint: u64,
    pub(crate) generation: u32,
    path_hash: u64,
    loaded: bool,
    /// Stays as long as the process: the executable, the C library.
    lasting: bool,
    /// Stacks lead through it.
    used: bool,
}

/// The known code of the process. All-zero bytes mean that none is known yet.
pub(crate) struct Modules {
    ranges: [CodeRange; MOST_RANGES],
    ranges_len: usize,
    /// The image of the last address, which usually contains the next one too.
    last_range: Cell<usize>,
    images: [Image; MOST_MODULES],
    images_len: usize,
    paths: [[u8; 512]; MOST_MODULES],
    /// Asked-for reads, done or not.
    reads: u64,
    /// When the last one was done, in ticks.
    last_read: u64,
    /// The list was read since [`take_news`](Self::take_news) was last asked.
    has_news: bool,
    /// Stacks were cut where no known code is.
    has_cuts: bool,
    /// Nothing is read any more (sandboxes).
    closed: bool,
    /// Mappings asked for, when the last was looked for, and how long none is then, in ticks.
    lookups: u64,
    last_lookup: u64,
    lookup_pause: u64,
    /// Scratch: a line of the list, the beginning of an image, the list.
    line: Line,
    head: Head,
    buffer: [u8; 64 << 10],
}

/// The mapping that the lines behind it belong to; what it begins with is in the scratch.
#[derive(Default)]
struct First {
    inode: u64,
    start: u64,
    /// 0 = not known.
    fingerprint: u64,
}

impl First {
    fn read(line: &Line, head: &mut Head) -> First {
        let mapped = sys::read_own_memory(line.start, head);
        if !mapped {
            // The kernel does not show us our own memory: the file has the same headers, if it is
            // the same.
            head.fill(0);
            let path = CStr::from_bytes_until_nul(&line.path).unwrap_or_default();
            if let Some(file) = Source::file(path)
                && file.inode() == Some(line.inode)
            {
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

/// The module of an address in no image: its offset is the address.
const NOWHERE: u32 = 0;

impl Modules {
    /// Makes zeroed memory ready: module 0 is "nowhere".
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

    /// The number of the image whose code an address lies in.
    pub(crate) fn image_at(&self, address: u64) -> Option<usize> {
        self.range_of(address).map(|range| range.module as usize)
    }

    /// A known image.
    fn known(&self, number: usize) -> Option<&Image> {
        self.images.get(..self.images_len)?.get(number)
    }

    /// Address minus ELF virtual address of an image.
    pub(crate) fn bias(&self, number: usize) -> Option<u64> {
        Some(self.known(number)?.bias)
    }

    /// Returns the number of images ever seen. A change means that code was loaded.
    pub(crate) fn images_seen(&self) -> usize {
        self.images_len
    }

    /// An image, and the path it was loaded from: NUL-terminated.
    pub(crate) fn image(&self, number: usize) -> Option<(Image, [u8; 512])> {
        Some((*self.known(number)?, *self.paths.get(number)?))
    }

    /// Reads nothing from here on.
    pub(crate) fn close(&mut self) {
        self.closed = true;
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Module and offset of a return address.
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

    /// Returns `true` if other code may come to lie at any of these addresses.
    pub(crate) fn can_go(&self, addresses: &[u64]) -> bool {
        addresses.iter().any(|address| {
            let image = self.image_at(address.wrapping_sub(1));
            !image.is_some_and(|number| self.images[number].lasting)
        })
    }

    /// A stack was cut where no known code is: code that is loaded there is looked for from now on.
    pub(crate) fn note_cut(&mut self) {
        self.has_cuts = true;
        CAN_GO.store(true, Relaxed);
    }

    /// Returns `true` if the code that these addresses lie in is what it was. Code on a stack is
    /// there, so the answer holds.
    pub(crate) fn is_unchanged(&mut self, addresses: &[u64]) -> bool {
        let mut last = None;
        addresses.iter().all(|address| {
            let Some(number) = self.image_at(address.wrapping_sub(1)) else {
                return true;
            };
            last.replace(number) == Some(number) || self.is_same(number)
        })
    }

    /// Returns `true` if all code in use is what it was.
    pub(crate) fn is_all_unchanged(&mut self) -> bool {
        let is_same = (1..self.images_len).all(|number| {
            let in_use = |image: &Image| image.used && image.loaded;
            !self.known(number).is_some_and(in_use) || self.is_same(number)
        });
        is_same && !self.has_replaced_nameless()
    }

    /// Code that no headers tell from other code (generated code, or none at all) is looked for in
    /// the list of mappings, now and then. `true`: other code is there.
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
        in_use_now < in_use_before || self.has_cuts && self.images_len > images
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

    /// Reads the list of mappings again for an address in no known code, unless that was done a
    /// moment ago for many such addresses already. Returns `true` if it was read.
    pub(crate) fn read_again(&mut self) -> bool {
        let now = sys::ticks();
        self.reads += 1;
        if self.closed
            || self.reads > UNHINDERED_READS
                && now.wrapping_sub(self.last_read) < TICKS_BETWEEN_READS
        {
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

    /// Where the mapping of an address lies that can be read and written: `None` too when nothing
    /// is to be read any more, or when many were asked for and most of the time would go into
    /// answers.
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

    /// Returns `true` if images may have been seen since this was last asked.
    pub(crate) fn take_news(&mut self) -> bool {
        std::mem::take(&mut self.has_news)
    }

    /// Takes the present line into account.
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
            address = elf::address_of_offset(&self.head, line.offset);
        }
        // Images whose headers cannot be read are laid out as in the file, if they are images at
        // all.
        let bias = line.start.wrapping_sub(address.unwrap_or(line.offset));
        let path_hash = line.path_hash();
        let same = |image: &Image| {
            image.inode == line.inode
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
                    .filter(|image| image.start == line.start)
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
                    ..Image::default()
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

    /// Where an image can be read: its file, if that is still the one that was loaded, else its
    /// mapping.
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
        // An executable that was deleted while it runs is still there under the second name.
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

    /// The build-id, or size and modification time.
    pub(crate) fn identity(&mut self, number: usize) -> Identity {
        let Some(&image) = self.known(number) else {
            return Identity::NONE;
        };
        // What is mapped is what runs, whatever became of the file.
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

/// Returns `true` if code is in use that can be unloaded, and was not looked at for a while.
#[inline]
pub(crate) fn is_check_due() -> bool {
    CAN_GO.load(Relaxed) && sys::ticks() >= NEXT_CHECK.load(Relaxed)
}

/// Code in use is looked at now.
pub(crate) fn checked() {
    NEXT_CHECK.store(sys::ticks().wrapping_add(TICKS_BETWEEN_CHECKS), Relaxed);
}
