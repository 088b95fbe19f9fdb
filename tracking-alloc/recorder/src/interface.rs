//! The events that sources report. Each is ignored, counted or recorded.

#[cfg(not(recording))]
use crate::accounting::{Event, Realloc};
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
    let is_system = S::inner() == InnerAllocator::System;
    crate::start::at_first_allocation(block, bytes, is_system);
}

/// A block that is being reallocated: made by [`reallocating`], used by [`reallocated`].
#[derive(Debug)]
#[must_use = "`reallocated` must be called, whether the reallocation succeeded or not"]
pub struct Reallocating {
    #[cfg(recording)]
    owner: Option<crate::shadow::Owner>,
    block: *mut u8,
    bytes: usize,
}

/// Reports that a block of `bytes` was allocated, or, if `block` is null, that a request for
/// `bytes` failed. Call it after the allocator returned, and before any other code knows the block.
#[inline(always)]
pub fn allocated(block: *mut u8, bytes: usize) {
    allocated_by::<UnknownSource>(block, bytes);
}

/// Does the same as [`allocated`] for a source that knows its allocator.
#[inline(always)]
pub fn allocated_by<S: Source>(block: *mut u8, bytes: usize) {
    if state::is_off() {
        return;
    }
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
/// another thread may get the address directly afterwards.
///
/// `bytes` is the requested size. A source that does not know it passes `None`, and the recorder
/// takes the size from the recording. If the recording does not know the block either, the block
/// counts as 0 bytes in the figures of [`counting`](crate::counting).
#[inline(always)]
pub fn freed(block: *mut u8, bytes: Option<usize>) {
    if state::is_off() {
        return;
    }
    let bytes = bytes.unwrap_or_else(|| recorded_bytes(block));
    #[cfg(recording)]
    crate::hook::freed(block, bytes);
    #[cfg(not(recording))]
    unrecorded(Event::Free(block as usize, bytes));
}

/// Reports that a block is about to be reallocated. `bytes` is the requested size, or `None` if the
/// source does not know it; see [`freed`].
#[inline(always)]
pub fn reallocating(block: *mut u8, bytes: Option<usize>) -> Reallocating {
    let bytes = bytes.unwrap_or_else(|| recorded_bytes(block));
    Reallocating {
        bytes,
        #[cfg(recording)]
        owner: crate::hook::reallocating(block, bytes),
        block,
    }
}

/// Reports the result of a reallocation to `bytes`. `block` is the new address of the block, which
/// may be the old one, or null if the request failed and the block stays as it was.
#[inline(always)]
pub fn reallocated(old: Reallocating, block: *mut u8, bytes: usize) {
    #[cfg(recording)]
    if !state::is_off() || old.owner.is_some() {
        crate::hook::reallocated(old.owner, old.block, old.bytes, block, bytes);
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

/// Returns the requested size of a block that the recording knows, or 0 for other blocks.
#[cold]
#[inline(never)]
fn recorded_bytes(_block: *mut u8) -> usize {
    #[cfg(recording)]
    if state::is_recording() {
        return crate::shadow::bytes_of(_block as usize).unwrap_or(0);
    }
    0
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
