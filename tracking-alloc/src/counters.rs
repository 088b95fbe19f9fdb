//! The accounting: what an event adds to counters.
//!
//! Rows of a recording, `measure()`, `stats()` and the recorder in memory keep their counters in different ways and look
//! for the peak at different moments; what is added to which counter is said here for all of them.

/// What an allocator call did.
#[derive(Clone, Copy)]
pub(crate) enum Event {
    /// Address and bytes of a new block.
    Alloc(usize, usize),
    /// Address and bytes of one given back.
    Free(usize, usize),
    /// A realloc that succeeded.
    Realloc(Realloc),
}

#[derive(Clone, Copy)]
pub(crate) struct Realloc {
    pub(crate) old: usize,
    pub(crate) old_bytes: usize,
    pub(crate) new: usize,
    pub(crate) bytes: usize,
}

/// Counters, in the order of a row's words.
#[derive(Clone, Copy)]
pub(crate) enum Counter {
    TotalBytes,
    TotalBlocks,
    FreedBytes,
    FreedBlocks,
    Grows,
    Shrinks,
    CopiedBytes,
    TemporaryBlocks,
    TemporaryBytes,
}

/// The values of the counters that everybody has.
pub(crate) use tracking_alloc_recording::Sums;

/// How many those are.
pub(crate) const SUMS: usize = size_of::<Sums>() / size_of::<u64>();

/// Something that counts.
pub(crate) trait Counters {
    fn add(&mut self, counter: Counter, more: u64);
}

/// A block was allocated, or is the new side of a realloc.
#[inline(always)]
pub(crate) fn allocated(mut to: impl Counters, bytes: u64) {
    to.add(Counter::TotalBytes, bytes);
    to.add(Counter::TotalBlocks, 1);
}

/// A block was freed, or is the old side of a realloc.
#[inline(always)]
pub(crate) fn freed(mut to: impl Counters, bytes: u64) {
    to.add(Counter::FreedBytes, bytes);
    to.add(Counter::FreedBlocks, 1);
}

/// A freed block was the one its thread had allocated last.
#[inline(always)]
pub(crate) fn was_temporary(mut to: impl Counters, bytes: u64) {
    to.add(Counter::TemporaryBlocks, 1);
    to.add(Counter::TemporaryBytes, bytes);
}

/// What a realloc is beside its two sides. The same size counts as a grow.
#[inline(always)]
pub(crate) fn resized(mut to: impl Counters, old: u64, new: u64, moved: bool) {
    if new >= old {
        to.add(Counter::Grows, 1);
    } else {
        to.add(Counter::Shrinks, 1);
    }
    if moved {
        to.add(Counter::CopiedBytes, old.min(new));
    }
}
