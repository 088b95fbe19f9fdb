//! The figures a tracked arena answers with. Named as in the recording and in `heapglass report --json`.

/// What a [`Tracked`](super::Tracked) arena holds and did. All figures are exact.
///
/// Always: `chunk_bytes = handed_bytes + padding_bytes + abandoned_bytes + past_bytes + tail_bytes`.
///
/// `chunk_bytes` is what bumpalo calls `allocated_bytes()`: the usable bytes of the arena's chunks, *not* the bytes it
/// allocated; those are `handed_bytes`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArenaStats {
    /// Chunks it holds.
    pub chunks: u64,
    /// Usable bytes of those: bumpalo's `allocated_bytes()`, bump-scope's `stats().capacity()`.
    pub chunk_bytes: u64,
    /// The same with the crate's own headers: bumpalo's `allocated_bytes_including_metadata()`, bump-scope's
    /// `stats().size()`.
    pub chunk_bytes_with_metadata: u64,
    /// Bytes not used yet in the present chunk: bumpalo's `chunk_capacity()`.
    pub chunk_capacity: u64,
    /// The most chunk bytes it may hold, if there is a limit.
    pub limit: Option<u64>,
    /// Bytes allocated through the handle, and not released or abandoned.
    pub handed_bytes: u64,
    /// In how many pieces.
    pub handed_blocks: u64,
    /// Bytes lost to alignment.
    pub padding_bytes: u64,
    /// Bytes given up inside the arena: the old places of pieces that grew elsewhere, and released pieces that the
    /// arena could not take back.
    pub abandoned_bytes: u64,
    /// Bytes used without the handle: by collections that were given the bare arena, or before there was a handle.
    pub past_bytes: u64,
    /// Bytes not used, in chunks that are no longer used included.
    pub tail_bytes: u64,
    /// Times it was reset.
    pub resets: u64,
    /// Most usable chunk bytes it held.
    pub most_chunk_bytes: u64,
    /// Most bytes that were in use (all but the tail): a capacity that would have been one chunk.
    pub most_used_bytes: u64,
    /// Most chunks it held.
    pub most_chunks: u64,
    /// Chunks it ever took.
    pub total_chunks: u64,
    /// Usable bytes of those.
    pub total_chunk_bytes: u64,
    /// Bytes it ever allocated; a growth counts with its new size.
    pub total_handed_bytes: u64,
    /// How often.
    pub total_handed_blocks: u64,
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
    /// Bytes in use: allocated, padding, abandoned, and what bypassed the handle.
    pub fn used_bytes(&self) -> u64 {
        self.chunk_bytes - self.tail_bytes
    }
}
