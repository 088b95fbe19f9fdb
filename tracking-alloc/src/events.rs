//! Dispatches allocator calls to nothing, a counter, or the recording.

#[cfg(not(recording))]
use crate::counters::{Event, Realloc};
use crate::state;

/// A block in the shadow map, taken out before a realloc.
#[cfg(recording)]
pub(crate) type Owner = Option<crate::shadow::Owner>;
#[cfg(not(recording))]
pub(crate) type Owner = ();

#[inline(always)]
pub(crate) fn allocated(block: *mut u8, bytes: usize, _first: fn(*mut u8, usize)) {
    if state::is_off() {
        return;
    }
    #[cfg(recording)]
    if block.is_null() {
        crate::hook::request_failed(bytes);
    } else {
        crate::hook::allocated(block, bytes, _first);
    }
    #[cfg(not(recording))]
    if !block.is_null() {
        unrecorded(Event::Alloc(block as usize, bytes));
    }
}

/// Handles an allocation while the environment may not have been examined yet.
pub(crate) fn first_allocated(_block: *mut u8, _bytes: usize, _is_system: bool) {
    #[cfg(recording)]
    crate::start::at_first_allocation(_block, _bytes, _is_system);
}

#[inline(always)]
pub(crate) fn freed(block: *mut u8, bytes: usize) {
    if state::is_off() {
        return;
    }
    #[cfg(recording)]
    crate::hook::freed(block, bytes);
    #[cfg(not(recording))]
    unrecorded(Event::Free(block as usize, bytes));
}

#[inline(always)]
pub(crate) fn reallocating(_block: *mut u8) -> Owner {
    #[cfg(recording)]
    crate::hook::reallocating(_block)
}

#[inline(always)]
pub(crate) fn reallocated(_owner: Owner, old: (*mut u8, usize), new: (*mut u8, usize)) {
    #[cfg(recording)]
    if !state::is_off() || _owner.is_some() {
        crate::hook::reallocated(_owner, old.0, old.1, new.0, new.1);
    }
    #[cfg(not(recording))]
    if !state::is_off() && !new.0.is_null() {
        unrecorded(Event::Realloc(Realloc {
            old: old.0 as usize,
            old_bytes: old.1,
            new: new.0 as usize,
            bytes: new.1,
        }));
    }
}

/// The dispatch on platforms without recordings in files: to `measure()`, `stats()`, and a module's
/// own recorder.
#[cfg(not(recording))]
fn unrecorded(event: Event) {
    #[cfg(in_memory)]
    if state::get() & state::RECORD != 0 && !crate::wasm::hook::count(event) {
        return;
    }
    crate::count::event(event);
}
