//! Chunks that are mappings of their own.

use super::super::error::Why;
use super::super::{Image, word_at};
use super::arena::{Region, Settings};
use super::{Block, FLAGS, HEADER, IS_MAPPED, PAGE, SMALLEST};
use crate::snapshot::Page;
use std::ops::Range;

/// Pages that are looked at: 256 GiB.
const MOST_PAGES: u64 = 1 << 26;

/// Returns the mapped blocks in the order of their addresses: those at the starts of pages in
/// private memory. They must be as many as malloc counts.
pub(super) fn find(
    image: &Image,
    regions: &[Region],
    settings: &Settings,
) -> Result<Vec<Block>, Why> {
    let mut found = Vec::new();
    let mut bytes = 0_u64;
    let mut left = MOST_PAGES;
    if settings.mapped_chunks == 0 {
        return Ok(found);
    }
    let mut reserved: Vec<&Range<u64>> = regions.iter().map(|region| &region.reserved).collect();
    reserved.sort_unstable_by_key(|range| range.start);
    let mut touched = Touched::new(image);
    let mappings = image.mappings.iter();
    for mapping in mappings.filter(|mapping| mapping.is_anonymous()) {
        let mut at = mapping.range.start.next_multiple_of(PAGE);
        while at.saturating_add(HEADER) <= mapping.range.end {
            let heap = reserved.partition_point(|range| range.end <= at);
            if let Some(heap) = reserved.get(heap).filter(|heap| heap.start <= at) {
                at = heap.end.next_multiple_of(PAGE);
                continue;
            }
            if touched.is_known_untouched(at, mapping.range.end) {
                at += PAGE;
                continue;
            }
            let mut header = [0; 16];
            left = left.saturating_sub(1);
            if left == 0 || image.memory.read(at, &mut header).is_err() {
                // The rest of the mapping is not there.
                break;
            }
            let size = size_of(&header).filter(|size| *size <= mapping.range.end - at);
            if let Some(size) = size {
                found.push(block(image, at, size));
                bytes = bytes.saturating_add(size);
            }
            at = at.saturating_add(size.unwrap_or(PAGE));
        }
    }
    let is_all =
        found.len() as u64 == u64::from(settings.mapped_chunks) && bytes == settings.mapped_bytes;
    if !is_all {
        return Err(Why::Contradiction(format!(
            "{} mapped chunks with {bytes} bytes were found, and malloc counts {} with {}",
            found.len(),
            settings.mapped_chunks,
            settings.mapped_bytes
        )));
    }
    Ok(found)
}

/// Pages that are asked for at a time.
const PAGES: u64 = 4096;

/// The pages of a process that it has touched. Those that it has not must not be read: each would
/// become resident in the copy.
struct Touched<'a> {
    image: &'a Image,
    start: u64,
    pages: Vec<Page>,
}

impl Touched<'_> {
    fn new(image: &Image) -> Touched<'_> {
        Touched {
            image,
            start: 0,
            pages: Vec::new(),
        }
    }

    /// Returns `true` if the page at an address was never touched. `end` is the end of its mapping.
    fn is_known_untouched(&mut self, at: u64, end: u64) -> bool {
        let page = |start: u64| at.checked_sub(start).map(|into| (into / PAGE) as usize);
        let known = page(self.start).and_then(|page| self.pages.get(page));
        if let Some(known) = known {
            return *known == Page::Untouched;
        }
        let count = ((end - at) / PAGE).min(PAGES) as usize;
        self.start = at;
        self.pages.clear();
        let memory = &self.image.memory;
        let is_known = memory.page_bytes() == PAGE
            && memory.pages(at, count, &mut self.pages).is_some()
            && self.pages.len() == count;
        if !is_known {
            // Without an answer, all are looked at.
            self.pages.clear();
            self.pages.resize(count, Page::Resident);
        }
        self.pages.first() == Some(&Page::Untouched)
    }
}

/// Returns the size of a mapped chunk by the first bytes of its page, if there is one.
fn size_of(header: &[u8; 16]) -> Option<u64> {
    let (before, size) = (word_at(header, 0), word_at(header, 8));
    let bytes = size & !FLAGS;
    let is_mapped = size & FLAGS == IS_MAPPED && bytes >= PAGE && bytes.is_multiple_of(PAGE);
    (is_mapped && before == 0).then_some(bytes)
}

/// Returns the block of a mapped chunk. If an alignment was asked for, a second header with the
/// distance to the first one is in front of the block.
fn block(image: &Image, at: u64, size: u64) -> Block {
    let mut alignment = 2 * HEADER;
    while alignment < size {
        let block = (at + HEADER).next_multiple_of(alignment);
        let before = block - HEADER - at;
        // What is in front must be large enough for a chunk.
        let block = if before < SMALLEST {
            block + alignment
        } else {
            block
        };
        let before = block - HEADER - at;
        if before + HEADER >= size {
            break;
        }
        let rest = size - before;
        let is_header = image.word(block - HEADER) == Some(before)
            && image.word(block - 8) == Some(rest | IS_MAPPED);
        if is_header {
            return Block {
                address: block,
                usable_bytes: rest - HEADER,
            };
        }
        alignment *= 2;
    }
    Block {
        address: at + HEADER,
        usable_bytes: size - HEADER,
    }
}
