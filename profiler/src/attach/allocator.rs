//! The allocator of an attached program, if its size classes are known.

use crate::allocator::Allocator;
use crate::image::maps::Mapping;
use crate::snapshot::{Heap, Memory};

/// Blocks that are looked at.
const LOOKED_AT: usize = 64;

/// Returns the allocator with a name, if the blocks of a heap are those of it.
///
/// `System` is the `malloc` of the process. It may be glibc's, that of another libc, or that of an
/// allocator that replaces it. So the size words in front of some blocks must be those of glibc.
/// If they are not, the allocator is the one whose shared library is loaded.
pub(super) fn of_heap(
    name: &str,
    heap: &Heap,
    memory: &dyn Memory,
    mappings: &[Mapping],
) -> Option<Allocator> {
    // The preloaded library names no allocator that is preloaded behind it.
    let allocator = if name.is_empty() {
        Allocator::Glibc
    } else {
        Allocator::of_name(name)?
    };
    if allocator != Allocator::Glibc {
        return Some(allocator);
    }
    let step = (heap.len() / LOOKED_AT).max(1);
    let blocks = (0..heap.len()).step_by(step);
    let known = blocks.filter_map(|block| {
        let usable = allocator.usable_bytes(heap.size(block))?;
        let before = heap.range(block).start.checked_sub(8)?;
        let mut word = [0; 8];
        memory.read(before, &mut word).ok()?;
        // The lowest bits are flags. A chunk may keep what is too small to be one itself.
        let chunk = u64::from_le_bytes(word) & !7;
        let has = chunk.saturating_sub(8);
        Some(has == usable || has == usable + 16)
    });
    let known: Vec<bool> = known.collect();
    let of_glibc = known.iter().filter(|is_known| **is_known).count();
    // Blocks with an alignment of their own may be larger.
    if of_glibc > 8 * (known.len() - of_glibc) {
        return Some(allocator);
    }
    let files = mappings.iter().filter(|mapping| mapping.inode != 0);
    let files = files.filter_map(|mapping| mapping.name.rsplit('/').next());
    let mut loaded = files.filter_map(Allocator::of_library);
    let first = loaded.next()?;
    loaded.all(|other| other == first).then_some(first)
}
