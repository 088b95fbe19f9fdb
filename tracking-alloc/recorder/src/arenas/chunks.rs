//! The chunks of an arena, as the arena reports them.

/// The chunks that an arena holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chunks {
    /// Number of chunks.
    pub count: u64,
    /// Usable bytes of all chunks.
    pub bytes: u64,
    /// Bytes of all chunks, including the arena's own headers: the bytes requested from its
    /// allocator.
    pub bytes_with_metadata: u64,
    /// Unused bytes in all chunks, including those before and after the current one.
    pub unused_tail_bytes: u64,
    /// Unused bytes in the current chunk.
    pub free_bytes: u64,
    /// The lowest cursor in the current chunk. The highest lies
    /// [`present_bytes`](Chunks::present_bytes) above it.
    pub present_start: usize,
    /// Usable bytes of the current chunk.
    pub present_bytes: usize,
}
