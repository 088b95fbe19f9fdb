//! Pages: those of large blocks that were never touched, and those that small blocks keep resident.

use super::Memory;
use super::heap::Heap;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Pages that are asked for at once.
const AT_ONCE: u64 = 1 << 15;
/// Pages that are asked for in all, 256 GiB of small ones: sizes may be wrong.
const MOST: u64 = 1 << 26;
/// Pages between blocks that are asked for with them.
const GAP: u64 = 16;

/// The state of a page of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Page {
    /// Nothing: the page was never touched, or was given back.
    Untouched,
    /// Memory.
    Resident,
    /// A place in swap space.
    Swapped,
}

/// The resident pages in which at least one block begins or ends that is smaller than a page.
///
/// A page stays resident while one block lies on it. Each page's bytes are split among the blocks
/// on it by their live bytes there, so that the shares of all sites add up to the bytes of the
/// pages. What a site would give back if its blocks were freed lies between two bounds: at least
/// the pages that it alone keeps, at most all pages that one of its blocks lies on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct PinnedPages {
    /// The pages. A page that several sites keep counts for each of them.
    pub pages: u64,
    /// The pages that no other site keeps.
    pub own_pages: u64,
    /// The share of the pages' bytes.
    pub page_bytes: u64,
    /// Live bytes on the pages.
    pub live_bytes: u64,
}

impl PinnedPages {
    /// Returns the share of the pages' bytes that holds no live block: rounding, the allocator's
    /// own data and free places.
    pub fn unused_bytes(&self) -> u64 {
        self.page_bytes.saturating_sub(self.live_bytes)
    }
}

/// The knowledge about the pages of a heap.
#[derive(Debug, Default)]
pub(super) struct Pages {
    /// The size of a page.
    pub(super) page_bytes: u64,
    /// Untouched pages inside blocks, by block.
    pub(super) untouched: Vec<(u32, u32)>,
    pub(super) pinned: PinnedPages,
    pub(super) by_site: FxHashMap<u32, PinnedPages>,
}

/// Asks for the pages of all blocks. Returns `None` if they are not known, or are too many.
///
/// This must happen before contents are read: reading a page makes it resident.
pub(super) fn pages(heap: &Heap, memory: &dyn Memory) -> Option<Pages> {
    let page_bytes = memory.page_bytes();
    if !page_bytes.is_power_of_two() || heap.is_empty() {
        return None;
    }
    let mut counter = Counter {
        heap,
        page_bytes,
        pages: Pages {
            page_bytes,
            ..Pages::default()
        },
        number: 0,
        on_page: Vec::new(),
        has_small: false,
        known: Vec::new(),
    };
    let (mut first, mut asked) = (0, 0_u64);
    while first < heap.len() {
        // Blocks that lie close together are one range.
        let mut range = counter.pages_of(first);
        let mut end = first + 1;
        while end < heap.len() {
            let next = counter.pages_of(end);
            if next.start > range.end + GAP || next.end - range.start > AT_ONCE {
                break;
            }
            range.end = next.end;
            end += 1;
        }
        asked = range.end.saturating_sub(range.start).saturating_add(asked);
        if asked > MOST {
            return None;
        }
        counter.blocks(first..end, range, memory)?;
        first = end;
    }
    counter.page_ends();
    Some(counter.pages)
}

struct Counter<'a> {
    heap: &'a Heap,
    page_bytes: u64,
    pages: Pages,
    /// The page of `on_page`.
    number: u64,
    /// The sites of the blocks on a resident page, with their live bytes there.
    on_page: Vec<(u32, u64)>,
    has_small: bool,
    known: Vec<Page>,
}

impl Counter<'_> {
    fn pages_of(&self, block: usize) -> Range<u64> {
        let range = self.heap.range(block);
        range.start / self.page_bytes..range.end.div_ceil(self.page_bytes)
    }

    /// Goes through blocks that lie in a range of pages.
    fn blocks(&mut self, blocks: Range<usize>, all: Range<u64>, memory: &dyn Memory) -> Option<()> {
        let size = self.page_bytes;
        let mut known = std::mem::take(&mut self.known);
        let mut start = all.start;
        let mut end = start;
        for block in blocks {
            let own = self.pages_of(block);
            let bytes = self.heap.range(block);
            let is_small = bytes.end - bytes.start < size;
            let mut untouched = 0_u32;
            // A block may be larger than what is asked for at once, and its size may be wrong.
            for number in own {
                if number >= end {
                    start = number;
                    end = all.end.min(number.saturating_add(AT_ONCE));
                    known.clear();
                    memory.pages(start.checked_mul(size)?, (end - start) as usize, &mut known)?;
                    known.resize((end - start) as usize, Page::Untouched);
                }
                let from = bytes.start.max(number * size);
                let to = bytes.end.min(number.saturating_add(1).saturating_mul(size));
                match known[(number - start) as usize] {
                    Page::Resident => self.add(number, self.heap.site(block), to - from, is_small),
                    Page::Untouched if to - from == size => untouched = untouched.saturating_add(1),
                    Page::Untouched | Page::Swapped => {}
                }
            }
            if untouched > 0 {
                self.pages.untouched.push((block as u32, untouched));
            }
        }
        self.known = known;
        Some(())
    }

    fn add(&mut self, number: u64, site: u32, live: u64, is_small: bool) {
        if number != self.number {
            self.page_ends();
            self.number = number;
        }
        self.has_small |= is_small;
        match self.on_page.last_mut() {
            Some(last) if last.0 == site => last.1 += live,
            _ => self.on_page.push((site, live)),
        }
    }

    /// Counts a page when all its blocks are known.
    fn page_ends(&mut self) {
        let has_small = std::mem::take(&mut self.has_small);
        if !has_small {
            return self.on_page.clear();
        }
        self.on_page.sort_unstable();
        let all: u64 = self.on_page.iter().map(|on_page| on_page.1).sum();
        let is_alone =
            self.on_page.first().map(|first| first.0) == self.on_page.last().map(|last| last.0);
        let (mut live, mut share) = (0, 0);
        for own in self.on_page.chunk_by(|one, other| one.0 == other.0) {
            let own_live: u64 = own.iter().map(|on_page| on_page.1).sum();
            live += own_live;
            // Rounded so that the shares add up to the page.
            let own_share = live * self.page_bytes / all - share;
            share += own_share;
            let site = self.pages.by_site.entry(own[0].0).or_default();
            site.pages += 1;
            site.own_pages += u64::from(is_alone);
            site.page_bytes += own_share;
            site.live_bytes += own_live;
        }
        let pinned = &mut self.pages.pinned;
        pinned.pages += 1;
        pinned.own_pages += u64::from(is_alone);
        pinned.page_bytes += self.page_bytes;
        pinned.live_bytes += all;
        self.on_page.clear();
    }
}
