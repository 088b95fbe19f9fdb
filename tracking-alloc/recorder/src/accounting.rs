//! The accounting: the counters that each event changes.
//!
//! Rows of a recording, `measure()`, `stats()` and the recorder in memory store their counters
//! differently and check for the peak at different moments. All of them use the accounting rules
//! defined here.

/// The effect of an allocator call.
#[derive(Clone, Copy)]
pub(crate) enum Event {
    /// Address and bytes of a new block.
    Alloc(usize, usize),
    /// Address and bytes of a freed block.
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

/// The values of the counters that all counting structures have.
pub(crate) use tracking_alloc_recording::Sums;

/// Number of those counters.
pub(crate) const SUMS: usize = size_of::<Sums>() / size_of::<u64>();

/// A set of counters.
pub(crate) trait Counters {
    fn add(&mut self, counter: Counter, more: u64);
}

/// Adds an event to counters that count whole events. With `is_temporary`, the event frees the
/// block that its thread allocated last.
#[inline(always)]
pub(crate) fn count(to: impl Counters + Copy, event: Event, is_temporary: bool) {
    match event {
        Event::Alloc(_, bytes) => allocated(to, bytes as u64),
        Event::Free(_, bytes) => {
            freed(to, bytes as u64);
            if is_temporary {
                was_temporary(to, bytes as u64);
            }
        }
        Event::Realloc(of) => {
            let (old, new) = (of.old_bytes as u64, of.bytes as u64);
            allocated(to, new);
            freed(to, old);
            resized(to, old, new, of.old != of.new);
        }
    }
}

/// Returns the block allocated last after an event, or 0 if it was freed or reallocated since. The
/// second value is `true` if the event freed it.
#[inline(always)]
pub(crate) fn last_block(last: usize, event: Event) -> (usize, bool) {
    match event {
        Event::Alloc(block, _) => (block, false),
        Event::Free(block, _) if block == last => (0, true),
        Event::Free(..) => (last, false),
        Event::Realloc(_) => (0, false),
    }
}

/// Adds an allocated block, or the new block of a realloc.
#[inline(always)]
pub(crate) fn allocated(mut to: impl Counters, bytes: u64) {
    to.add(Counter::TotalBytes, bytes);
    to.add(Counter::TotalBlocks, 1);
}

/// Adds a freed block, or the old block of a realloc.
#[inline(always)]
pub(crate) fn freed(mut to: impl Counters, bytes: u64) {
    to.add(Counter::FreedBytes, bytes);
    to.add(Counter::FreedBlocks, 1);
}

/// Adds a temporary block: its thread freed it before any other allocation.
#[inline(always)]
pub(crate) fn was_temporary(mut to: impl Counters, bytes: u64) {
    to.add(Counter::TemporaryBlocks, 1);
    to.add(Counter::TemporaryBytes, bytes);
}

/// Adds the counters of a realloc other than its two blocks. The same size counts as a grow.
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
