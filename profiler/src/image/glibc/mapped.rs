//! Chunks that are mappings of their own.

use super::super::error::Why;
use super::super::{Image, word_at};
use super::arena::{Region, Settings};
use super::{Block, FLAGS, HEADER, IS_MAPPED, PAGE, SMALLEST};
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
    let mappings = image.mappings.iter();
    for mapping in mappings.filter(|mapping| mapping.is_anonymous()) {
        let mut at = mapping.range.start.next_multiple_of(PAGE);
        while at.saturating_add(HEADER) <= mapping.range.end {
            let heap = reserved.partition_point(|range| range.end <= at);
            if let Some(heap) = reserved.get(heap).filter(|heap| heap.start <= at) {
                at = heap.end.next_multiple_of(PAGE);
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
