//! Free chunks that look used: those in fast bins, and those in the caches of threads.

use super::super::error::Why;
use super::super::maps;
use super::super::{Image, word_at};
use super::arena::Arena;
use super::{Chunk, HEADER, SMALLEST, Window};
use std::collections::HashSet;

/// The size of the chunk of a cache (`tcache_perthread_struct`), and the bytes of each of its
/// counts: since 2.30, and before.
const LAYOUTS: [(u64, usize); 2] = [(0x290, 2), (0x250, 1)];
const BINS: usize = 64;
/// The largest chunk in a cache.
const MOST_CACHED: u64 = SMALLEST + 16 * (BINS as u64 - 1);
/// Chunks in a cache whose lists are not those of its counts: the thread was inside malloc.
const IN_FLIGHT: u64 = 1;
/// Bits that every address of a program has as zeros.
const NO_ADDRESS: u32 = 48;
/// Bytes before a thread pointer that are searched for the pointer to a cache, beyond those of
/// known variables.
const NEAR: u64 = 4096;
const MOST_NEAR: u64 = 1 << 20;

/// The chunks that are free or malloc's own, among those that look used.
#[derive(Debug, Default)]
pub(super) struct Lists {
    free: Vec<u64>,
    pub(super) free_chunks: u64,
    pub(super) caches: usize,
}

impl Lists {
    /// Returns `true` for a chunk, by its number, that is not the program's.
    pub(super) fn is_free(&self, number: usize) -> bool {
        let word = self.free.get(number / 64);
        word.is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    /// Notes that a chunk is not the program's. Returns `false` if it was noted before.
    fn set_free(&mut self, number: usize) -> bool {
        let is_new = !self.is_free(number);
        if let Some(word) = self.free.get_mut(number / 64) {
            *word |= 1 << (number % 64);
        }
        is_new
    }
}

/// The form in which the links of lists are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Links {
    /// With the address of the link, shifted by 12 bits: since 2.32.
    Mangled,
    Plain,
}

impl Links {
    fn decode(self, at: u64, word: u64) -> u64 {
        match self {
            Links::Mangled => word ^ (at >> 12),
            Links::Plain => word,
        }
    }
}

struct Finder<'a> {
    image: &'a Image,
    used: &'a [Chunk],
}

/// Finds the chunks in fast bins and caches. `used` are all that look used, by address.
pub(super) fn find(image: &Image, arenas: &[Arena], used: &[Chunk]) -> Result<Lists, Why> {
    let finder = Finder { image, used };
    let mut lists = Lists {
        free: vec![0; used.len().div_ceil(64)],
        ..Lists::default()
    };
    let owned = pointers_of_threads(image);
    let mut caches = Vec::new();
    let mut links = Links::Mangled;
    for kind in [Links::Mangled, Links::Plain] {
        caches = finder.caches(kind, &owned);
        links = kind;
        if caches.iter().any(|cache| !cache.entries.is_empty()) {
            break;
        }
    }
    if caches.is_empty() {
        return Err(Why::Contradiction(
            "no cache of a thread was found: this version of glibc is not known (2.26 to 2.41 are)"
                .to_owned(),
        ));
    }
    lists.caches = caches.len();
    for cache in &caches {
        lists.set_free(cache.number);
        for &number in &cache.entries {
            if !lists.set_free(number) {
                let at = used[number].address;
                let what = format!("the free chunk at {at:#x} is in two caches");
                return Err(Why::Contradiction(what));
            }
            lists.free_chunks += 1;
        }
    }
    for arena in arenas {
        finder.fast_bins(arena, links, &mut lists)?;
    }
    if let Some(key) = finder.key(&caches).filter(|_| links == Links::Mangled) {
        finder.by_key(key, &mut lists)?;
    }
    Ok(lists)
}

/// The cache of a thread, with the numbers of its chunk and of the chunks in it.
struct Cache {
    number: usize,
    entries: Vec<usize>,
}

impl Finder<'_> {
    /// Returns the number of the used chunk at an address.
    fn number(&self, address: u64) -> Option<usize> {
        let by = |chunk: &Chunk| chunk.address;
        self.used.binary_search_by_key(&address, by).ok()
    }

    /// Returns the caches of threads. One without chunks looks like any block of zeros, so a thread
    /// must point to it.
    fn caches(&self, links: Links, owned: &HashSet<u64>) -> Vec<Cache> {
        let numbers = self.used.iter().enumerate();
        let caches = numbers.filter_map(|(number, chunk)| {
            let width = LAYOUTS.iter().find(|(size, _)| *size == chunk.size)?.1;
            let entries = self.entries(chunk, width, links)?;
            let is_cache = !entries.is_empty() || owned.contains(&(chunk.address + HEADER));
            is_cache.then_some(Cache { number, entries })
        });
        caches.collect()
    }

    /// Returns the chunks in the lists of a cache. Returns `None` if it is no cache: a list leads
    /// elsewhere, or has another length than its count.
    fn entries(&self, cache: &Chunk, width: usize, links: Links) -> Option<Vec<usize>> {
        let mut bytes = vec![0; (cache.size - HEADER) as usize];
        let is_read = self.image.memory.read(cache.address + HEADER, &mut bytes);
        is_read.ok()?;
        let mut entries = Vec::new();
        let mut in_flight = 0;
        for bin in 0..BINS {
            let count = match width {
                1 => u64::from(bytes[bin]),
                _ => word_at(&bytes, 2 * bin) & 0xffff,
            };
            let mut at = word_at(&bytes, BINS * width + 8 * bin);
            let size = SMALLEST + 16 * bin as u64;
            let mut length = 0;
            while at != 0 {
                let number = self.number(at.checked_sub(HEADER)?)?;
                if self.used[number].size != size || length > count {
                    return None;
                }
                entries.push(number);
                length += 1;
                at = links.decode(at, self.image.word(at)?);
            }
            in_flight += length.abs_diff(count);
        }
        (in_flight <= IN_FLIGHT).then_some(entries)
    }

    fn fast_bins(&self, arena: &Arena, links: Links, lists: &mut Lists) -> Result<(), Why> {
        for (bin, &first) in arena.fast_bins.iter().enumerate() {
            let size = SMALLEST + 16 * bin as u64;
            let mut at = first;
            while at != 0 {
                let number = self.number(at);
                let number = number.filter(|&number| self.used[number].size == size);
                // A list that comes to a chunk twice never ends.
                let number = number.filter(|&number| lists.set_free(number));
                if number.is_none() {
                    return Err(Why::Contradiction(format!(
                        "fast bin {bin} of the arena at {:#x} leads to {at:#x}, which is no free chunk of {size} bytes",
                        arena.address
                    )));
                }
                lists.free_chunks += 1;
                let link = at + HEADER;
                let word = self.image.word(link);
                let word = word.ok_or(Why::Missing(link..link + 8))?;
                at = links.decode(link, word);
            }
        }
        Ok(())
    }

    /// Returns the random word that cached chunks have in second place (since 2.34).
    fn key(&self, caches: &[Cache]) -> Option<u64> {
        let entries = caches.iter().flat_map(|cache| &cache.entries);
        let mut words = entries.map(|&number| self.image.word(self.used[number].address + 24));
        let key = words.next()??;
        let is_common = key >> NO_ADDRESS != 0 && words.all(|word| word == Some(key));
        is_common.then_some(key)
    }

    /// Notes all chunks that have the key, which malloc removes from a chunk that it gives out.
    /// They are on their way, or in a cache that was not found.
    fn by_key(&self, key: u64, lists: &mut Lists) -> Result<(), Why> {
        let mut window = Window::new(&*self.image.memory);
        for (number, chunk) in self.used.iter().enumerate() {
            if chunk.size > MOST_CACHED || lists.is_free(number) {
                continue;
            }
            let end = self.used[(number + 64).min(self.used.len() - 1)].address;
            if window.word(chunk.address + 24, end)? == key {
                lists.set_free(number);
                lists.free_chunks += 1;
            }
        }
        Ok(())
    }
}

/// Returns the words of the thread-local variables of all threads.
fn pointers_of_threads(image: &Image) -> HashSet<u64> {
    let read = |address: u64, buffer: &mut [u8]| image.memory.read(address, buffer);
    let variables = maps::images(&image.mappings, &read).tls_bytes;
    let near = variables.saturating_add(NEAR).min(MOST_NEAR);
    let mut words = HashSet::new();
    for thread in &image.threads {
        let end = thread.thread_pointer;
        let Some(mapping) = image.mapping(end) else {
            continue;
        };
        let start = end.saturating_sub(near).max(mapping.range.start);
        let mut bytes = vec![0; (end - start) as usize];
        if image.memory.read(start, &mut bytes).is_ok() {
            let (chunks, _) = bytes.as_chunks::<8>();
            words.extend(chunks.iter().map(|word| u64::from_le_bytes(*word)));
        }
    }
    words
}
