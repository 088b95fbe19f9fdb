//! The events that sources report. Each is ignored, counted or recorded.

#[cfg(not(recording))]
use crate::accounting::{Event, Realloc};
#[cfg(recording)]
use crate::start::Origin;
use crate::state;

/// The allocator that made a block, as far as the recorder needs to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InnerAllocator {
    /// The `malloc` of libc, which can tell the usable size of a block.
    System,
    /// Another allocator.
    Other,
}

/// A kind of source of events.
pub trait Source {
    /// Returns the allocator of this source's blocks. It is called at the first event of a process.
    fn inner() -> InnerAllocator;

    /// Returns the name of that allocator, or an empty text if it is not known. It is called at the
    /// first event of a process.
    fn inner_name() -> &'static str {
        ""
    }

    /// Returns the callers of this source. It is called when a recording starts.
    fn callers() -> Callers {
        Callers::BuiltAlike
    }

    /// Returns `true` if the environment may start a recording, and `None` if that is not known
    /// yet. It is called at each event until it is known.
    fn may_record() -> Option<bool> {
        Some(true)
    }
}

/// The code that calls a source, as far as it matters for walks of its stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Callers {
    /// Mostly code built with the flags of this crate. A self-test of this crate's own code tells
    /// if it keeps frame pointers.
    BuiltAlike,
    /// Any code of the process, built by anyone. Stacks are walked by the rules of `.eh_frame`.
    Any,
}

struct UnknownSource;

impl Source for UnknownSource {
    fn inner() -> InnerAllocator {
        InnerAllocator::Other
    }
}

/// Handles the first event of a process, at which the environment may request a recording.
#[cfg(recording)]
#[cold]
#[inline(never)]
fn first<S: Source>(block: *mut u8, bytes: usize) {
    if let Some(may_record) = S::may_record() {
        let origin = Origin {
            is_system: S::inner() == InnerAllocator::System,
            has_any_callers: S::callers() == Callers::Any,
            inner_name: S::inner_name(),
        };
        crate::start::at_first_allocation(block, bytes, may_record.then_some(origin));
    }
}

/// Starts the recording that the environment asks for, unless an earlier event did. A source calls
/// this when the environment is there but no event may have happened.
#[cfg(recording)]
pub fn start_from_environment<S: Source>() {
    if state::is_unexamined() {
        first::<S>(std::ptr::null_mut(), 0);
    }
}

/// Reports that code was unloaded or is about to be loaded. Without this call, the recorder notices
/// it a little later, and if a program does it often, not every time.
#[cfg(recording)]
pub fn code_changes() {
    crate::session::expect_changes();
}

/// Returns `true` if an allocation of `bytes` that is about to be made needs no report: nothing
/// records, or the recording samples and the block is no sample. Then do not report it.
///
/// These three functions are for sources that call the allocator themselves. They are called before
/// the allocator, so that in the common case nothing is left to do after it.
#[inline(always)]
pub fn passes_allocation(bytes: usize) -> bool {
    #[cfg(recording)]
    return state::unless_off().is_none_or(|word| crate::samples::allocation_passes(word, bytes));
    #[cfg(not(recording))]
    {
        let _ = bytes;
        state::is_off()
    }
}

/// Returns `true` if a free that is about to be made needs no report. See [`passes_allocation`] and
/// [`freed`].
#[inline(always)]
pub fn passes_free(block: *mut u8, bytes: Option<usize>) -> bool {
    #[cfg(recording)]
    return state::unless_off()
        .is_none_or(|word| crate::samples::free_passes(word, block.addr(), bytes.unwrap_or(0)));
    #[cfg(not(recording))]
    {
        let _ = (block, bytes);
        state::is_off()
    }
}

/// Returns `true` if a reallocation to `bytes` that is about to be made needs no report. See
/// [`passes_allocation`] and [`reallocating`].
#[inline(always)]
pub fn passes_reallocation(block: *mut u8, old_bytes: Option<usize>, bytes: usize) -> bool {
    #[cfg(recording)]
    return state::unless_off().is_none_or(|word| {
        crate::samples::realloc_passes(word, block.addr(), old_bytes.unwrap_or(0), bytes)
    });
    #[cfg(not(recording))]
    {
        let _ = (block, old_bytes, bytes);
        state::is_off()
    }
}

/// A block that is being reallocated: made by [`reallocating`], used by [`reallocated`].
#[derive(Debug)]
#[must_use = "`reallocated` must be called, whether the reallocation succeeded or not"]
pub struct Reallocating {
    #[cfg(recording)]
    taken: crate::hook::TakenBlock,
    #[cfg(not(recording))]
    bytes: usize,
    block: *mut u8,
}

/// Reports that a block of `bytes` was allocated, or, if `block` is null, that a request for
/// `bytes` failed. Call it after the allocator returned, and before any other code knows the block.
///
/// While nothing records, a report changes nothing but costs a call. [`passes_allocation`] and its
/// relatives tell beforehand, in one load, that no report is needed.
#[inline(always)]
pub fn allocated(block: *mut u8, bytes: usize) {
    allocated_by::<UnknownSource>(block, bytes);
}

/// Does the same as [`allocated`] for a source that knows its allocator.
#[inline(always)]
pub fn allocated_by<S: Source>(block: *mut u8, bytes: usize) {
    #[cfg(recording)]
    if block.is_null() {
        crate::hook::request_failed(bytes);
    } else {
        crate::hook::allocated(block, bytes, first::<S>);
    }
    #[cfg(not(recording))]
    if !block.is_null() {
        unrecorded(Event::Alloc(block as usize, bytes));
    }
}

/// Reports that a block is about to be freed. Call it before the allocator is called, because
/// another thread may get the address directly afterwards. See also [`passes_free`].
///
/// `bytes` is the requested size. A source that does not know it passes `None`, and the recorder
/// takes the size from the recording. If the recording does not know the block either, the block
/// counts as 0 bytes in the figures of [`counting`](crate::counting).
#[inline(always)]
pub fn freed(block: *mut u8, bytes: Option<usize>) {
    #[cfg(recording)]
    match bytes {
        Some(bytes) => crate::hook::freed(block, bytes),
        None => crate::hook::freed_unsized(block),
    }
    #[cfg(not(recording))]
    unrecorded(Event::Free(block as usize, bytes.unwrap_or(0)));
}

/// Reports that a block is about to be reallocated. `bytes` is the requested size, or `None` if the
/// source does not know it; see [`freed`].
#[inline(always)]
pub fn reallocating(block: *mut u8, bytes: Option<usize>) -> Reallocating {
    Reallocating {
        #[cfg(recording)]
        taken: crate::hook::reallocating(block, bytes),
        #[cfg(not(recording))]
        bytes: bytes.unwrap_or(0),
        block,
    }
}

/// Does the same as [`reallocating`] for a block of a program's own pool. Other code may run before
/// [`reallocated`] is called.
#[inline(always)]
pub fn reallocating_in_pool(block: *mut u8) -> Reallocating {
    Reallocating {
        #[cfg(recording)]
        taken: crate::hook::reallocating_in_pool(block),
        #[cfg(not(recording))]
        bytes: 0,
        block,
    }
}

/// Reports the result of a reallocation to `bytes`. `block` is the new address of the block, which
/// may be the old one, or null if the request failed and the block stays as it was.
#[inline(always)]
pub fn reallocated(old: Reallocating, block: *mut u8, bytes: usize) {
    #[cfg(recording)]
    {
        let (taken, from) = (old.taken, old.block);
        if state::samples() || taken.sample.is_some() {
            crate::hook::reallocated_among_samples(taken, from, block, bytes);
        } else {
            crate::hook::reallocated(taken.owner, from, taken.bytes, block, bytes);
        }
    }
    #[cfg(not(recording))]
    if !state::is_off() && !block.is_null() {
        unrecorded(Event::Realloc(Realloc {
            old: old.block as usize,
            old_bytes: old.bytes,
            new: block as usize,
            bytes,
        }));
    }
}

/// Counts an event on platforms without recordings in files: for `measured()`, for `stats()`, and
/// for the recorder of a WebAssembly module.
#[cfg(not(recording))]
fn unrecorded(event: Event) {
    #[cfg(in_memory)]
    if state::get() & state::RECORD != 0 && !crate::wasm::hook::count(event) {
        return;
    }
    crate::counting::event(event);
}
