//! The figures of a tracked arena. The recording and `heapglass report --json` use the same names.

/// The contents and history of a tracked arena. All figures are exact.
///
/// This always holds: `allocated_bytes = used_bytes + padding_bytes + abandoned_bytes +
/// bypassed_bytes + unused_tail_bytes`.
///
/// `allocated_bytes` is the number of usable bytes in the arena's chunks, as bumpalo defines it.
/// Pieces use `used_bytes` of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArenaStats {
    /// Chunks that the arena holds.
    pub chunks: u64,
    /// Usable bytes of its chunks: bumpalo's `allocated_bytes()`, bump-scope's
    /// `stats().capacity()`.
    pub allocated_bytes: u64,
    /// Bytes of its chunks, including the crate's own headers: bumpalo's
    /// `allocated_bytes_including_metadata()`, bump-scope's `stats().size()`.
    pub allocated_bytes_including_metadata: u64,
    /// Unused bytes in the current chunk: bumpalo's `chunk_capacity()`.
    pub chunk_capacity: u64,
    /// The limit on chunk bytes, if there is one.
    pub limit: Option<u64>,
    /// Bytes used by pieces that were allocated through the handle and not released or abandoned.
    pub used_bytes: u64,
    /// Number of those pieces.
    pub used_blocks: u64,
    /// Bytes lost to alignment.
    pub padding_bytes: u64,
    /// Bytes given up inside the arena: the old places of pieces that moved to grow, and released
    /// pieces that the arena could not take back.
    pub abandoned_bytes: u64,
    /// Bytes used without the handle: by collections on the bare arena, or before the handle was
    /// created.
    pub bypassed_bytes: u64,
    /// Bytes not used, including those in chunks that are no longer used.
    pub unused_tail_bytes: u64,
    /// Number of resets.
    pub resets: u64,
    /// Largest `allocated_bytes`.
    pub most_allocated_bytes: u64,
    /// Most bytes occupied at once (all except the unused tail). With this capacity the arena
    /// would have needed one chunk.
    pub most_occupied_bytes: u64,
    /// Most chunks held at once.
    pub most_chunks: u64,
    /// Number of chunks ever taken.
    pub total_chunks: u64,
    /// Usable bytes of all chunks ever taken.
    pub total_allocated_bytes: u64,
    /// Bytes ever allocated; a growth counts its full new size.
    pub total_used_bytes: u64,
    /// Number of allocations.
    pub total_used_blocks: u64,
    /// Growths, in place or not.
    pub grows: u64,
    /// Growths in place.
    pub grows_in_place: u64,
    /// Bytes copied by growths that were not in place.
    pub copied_bytes: u64,
    /// Requests that the arena refused, because of its limit or missing memory.
    pub limit_reached: u64,
}

impl ArenaStats {
    /// Returns all bytes except the unused tail: used, padding, abandoned and bypassed.
    pub fn occupied_bytes(&self) -> u64 {
        self.allocated_bytes - self.unused_tail_bytes
    }
}
