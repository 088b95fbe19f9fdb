//! The figures of a footprint.

/// The figures of a value as a whole. The recording contains its parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Footprint {
    /// The size of the value itself in bytes, without its blocks. It is 0 if it is unknown because
    /// the value is behind two references.
    pub inline_bytes: u64,
    /// Heap blocks that the value owns, each counted once.
    pub blocks: u64,
    /// Requested bytes of those blocks, which dropping the value frees.
    pub block_bytes: u64,
    /// Usable bytes of those blocks, as reported by the inner allocator, or 0 if it does not
    /// report them. Only the system's allocator does.
    pub usable_bytes: u64,
    /// Bytes of those blocks in which values were seen. The rest is unused capacity and data that
    /// containers keep for themselves.
    pub used_bytes: u64,
    /// References to blocks that are also reached from another place in the value, or that it only
    /// borrows.
    pub shared_blocks: u64,
    /// Requested bytes of those blocks, counted once per reference.
    pub shared_bytes: u64,
    /// Values with pointers to live blocks that `Serialize` did not show: fields that are not
    /// serialized, or values that are serialized as something else. If this is above 0, the other
    /// figures are a lower bound.
    pub hidden_values: u64,
}
