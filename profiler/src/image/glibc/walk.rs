//! Walks a heap chunk by chunk.

use super::super::error::Why;
use super::arena::Region;
use super::{ALIGNMENT, Chunk, FLAGS, IS_MAPPED, PREVIOUS_IN_USE, SMALLEST, Window};
use crate::snapshot::{MOST_BLOCKS, Memory};

/// The size of the chunks behind the last chunk of a heap that is full.
const FENCE: u64 = 16;

/// Adds the chunks that are in use, in the order of their addresses. Those in fast bins and thread
/// caches are among them.
pub(super) fn walk(memory: &dyn Memory, region: &Region, used: &mut Vec<Chunk>) -> Result<(), Why> {
    let range = &region.range;
    let broken = |at: u64, what: &str| {
        Why::Contradiction(format!(
            "the chunk at {at:#x} of the heap from {:#x} to {:#x} {what}",
            range.start, range.end
        ))
    };
    let mut window = Window::new(memory);
    let mut at = range.start;
    // The chunk before, if the word of the next one tells whether it is in use.
    let mut before: Option<u64> = None;
    let mut has_fence = false;
    loop {
        if at.saturating_add(FENCE) > range.end {
            return Err(broken(at, "is behind the end"));
        }
        let header = window.word(at + 8, range.end)?;
        let size = header & !FLAGS;
        if let Some(address) = before
            && header & PREVIOUS_IN_USE != 0
        {
            used.push(Chunk {
                address,
                size: at - address,
            });
        }
        if region.top == Some(at) {
            let is_end = at.checked_add(size) == Some(range.end);
            return is_end
                .then_some(())
                .ok_or_else(|| broken(at, "is the last one and does not end there"));
        }
        if region.top.is_none() {
            if size == 0 {
                // Without a fence, the last chunk is what was too small to be freed.
                if !has_fence && used.last().map(|chunk| chunk.address) == before {
                    used.pop();
                }
                let is_end = at + FENCE == range.end;
                return is_end
                    .then_some(())
                    .ok_or_else(|| broken(at, "has no size"));
            }
            if size == FENCE {
                has_fence = true;
                before = None;
                at += FENCE;
                continue;
            }
        }
        let is_chunk =
            size >= SMALLEST && size.is_multiple_of(ALIGNMENT) && header & IS_MAPPED == 0;
        if !is_chunk || has_fence || size > range.end - at {
            return Err(broken(at, &format!("has a size of {size:#x}")));
        }
        if used.len() > MOST_BLOCKS {
            return Err(broken(at, "is one too many"));
        }
        before = Some(at);
        at += size;
    }
}
