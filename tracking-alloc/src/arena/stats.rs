//! The figures a tracked arena answers with. Named as in the recording and in `heapglass report --json`.

/// What a [`Tracked`](super::Tracked) arena holds and did. All figures are exact.
///
/// Always: `allocated_bytes = used_bytes + padding_bytes + abandoned_bytes + bypassed_bytes +
/// unused_tail_bytes`.
///
/// `allocated_bytes` is defined as by bumpalo: the usable bytes of the arena's chunks. What pieces
/// use of those is `used_bytes`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArenaStats {
    /// Chunks it holds.
    pub chunks: u64,
    /// Usable bytes of its chunks: bumpalo's `allocated_bytes()`, bump-scope's
    /// `stats().capacity()`.
    pub allocated_bytes: u64,
    /// The same with the crate's own headers: bumpalo's `allocated_bytes_including_metadata()`,
    /// bump-scope's `stats().size()`.
    pub allocated_bytes_including_metadata: u64,
    /// Bytes not used yet in the present chunk: bumpalo's `chunk_capacity()`.
    pub chunk_capacity: u64,
    /// The most chunk bytes it may hold, if there is a limit.
    pub limit: Option<u64>,
    /// Bytes used by pieces that went through the handle and were not released or abandoned.
    pub used_bytes: u64,
    /// In how many pieces.
    pub used_blocks: u64,
    /// Bytes lost to alignment.
    pub padding_bytes: u64,
    /// Bytes given up inside the arena: the old places of pieces that grew elsewhere, and released
    /// pieces that the arena could not take back.
    pub abandoned_bytes: u64,
    /// Bytes used without the handle: by collections that were given the bare arena, or before
    /// there was a handle.
    pub bypassed_bytes: u64,
    /// Bytes not used, in chunks that are no longer used included.
    pub unused_tail_bytes: u64,
    /// Times it was reset.
    pub resets: u64,
    /// Largest `allocated_bytes`.
    pub most_allocated_bytes: u64,
    /// Most bytes that were occupied (all but the unused tail): a capacity that would have been one
    /// chunk.
    pub most_occupied_bytes: u64,
    /// Most chunks it held.
    pub most_chunks: u64,
    /// Chunks it ever took.
    pub total_chunks: u64,
    /// Usable bytes of those.
    pub total_allocated_bytes: u64,
    /// Bytes that pieces ever used; a growth counts with its new size.
    pub total_used_bytes: u64,
    /// How often.
    pub total_used_blocks: u64,
    /// Growths, in place or not.
    pub grows: u64,
    /// Of those, in place.
    pub grows_in_place: u64,
    /// Bytes copied by the others.
    pub copied_bytes: u64,
    /// Requests the arena refused: its limit, or no memory.
    pub limit_reached: u64,
}

impl ArenaStats {
    /// Returns all bytes but the unused tail: used, padding, abandoned, and bypassed.
    pub fn occupied_bytes(&self) -> u64 {
        self.allocated_bytes - self.unused_tail_bytes
    }
}
