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

pub(crate) use tracking_alloc_recording::{COUNTERS, Counter, Sums};

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

/// The number of blocks that an event stands for, and their bytes together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Amount {
    pub(crate) blocks: u64,
    pub(crate) bytes: u64,
}

impl Amount {
    /// One block.
    #[inline(always)]
    pub(crate) fn one(bytes: u64) -> Amount {
        Amount { blocks: 1, bytes }
    }
}

/// Adds an allocated block, or the new block of a realloc.
#[inline(always)]
pub(crate) fn allocated(to: impl Counters, bytes: u64) {
    all_allocated(to, Amount::one(bytes));
}

/// Adds the allocated blocks that a sample stands for.
#[inline(always)]
pub(crate) fn all_allocated(mut to: impl Counters, amount: Amount) {
    to.add(Counter::TotalBytes, amount.bytes);
    to.add(Counter::TotalBlocks, amount.blocks);
}

/// Adds a freed block, or the old block of a realloc.
#[inline(always)]
pub(crate) fn freed(to: impl Counters, bytes: u64) {
    all_freed(to, Amount::one(bytes));
}

/// Adds the freed blocks that a sample stands for.
#[inline(always)]
pub(crate) fn all_freed(mut to: impl Counters, amount: Amount) {
    to.add(Counter::FreedBytes, amount.bytes);
    to.add(Counter::FreedBlocks, amount.blocks);
}

/// Adds a temporary block: its thread freed it before any other allocation.
#[inline(always)]
pub(crate) fn was_temporary(to: impl Counters, bytes: u64) {
    all_were_temporary(to, Amount::one(bytes));
}

/// Adds the temporary blocks that a sample stands for.
#[inline(always)]
pub(crate) fn all_were_temporary(mut to: impl Counters, amount: Amount) {
    to.add(Counter::TemporaryBlocks, amount.blocks);
    to.add(Counter::TemporaryBytes, amount.bytes);
}

/// Adds the counters of a realloc other than its two blocks. The same size counts as a grow.
#[inline(always)]
pub(crate) fn resized(to: impl Counters, old: u64, new: u64, moved: bool) {
    let copied = if moved { old.min(new) } else { 0 };
    all_resized(
        to,
        new >= old,
        Amount {
            blocks: 1,
            bytes: copied,
        },
    );
}

/// Adds the reallocs that a sample stands for, with the bytes that they copied.
#[inline(always)]
pub(crate) fn all_resized(mut to: impl Counters, grew: bool, copied: Amount) {
    if grew {
        to.add(Counter::Grows, copied.blocks);
    } else {
        to.add(Counter::Shrinks, copied.blocks);
    }
    if copied.bytes != 0 {
        to.add(Counter::CopiedBytes, copied.bytes);
    }
}
