//! From an allocator call to whoever wants to know of it: nobody, a counter, or the recording.

use crate::{count, state};

/// A block in the shadow map, taken out before a realloc.
#[cfg(recording)]
pub(crate) type Owner = Option<crate::shadow::Owner>;
#[cfg(not(recording))]
pub(crate) type Owner = ();

#[inline(always)]
pub(crate) fn allocated(block: *mut u8, bytes: usize, _is_system: fn() -> bool) {
    let word = state::get();
    if word == state::OFF {
        #[cfg(recording)]
        crate::start::at_first_allocation(block, bytes, _is_system);
        return;
    }
    if !block.is_null() {
        #[cfg(recording)]
        crate::hook::allocated(block, bytes);
        #[cfg(in_memory)]
        if word & state::RECORD != 0 && !crate::wasm::hook::allocated(block, bytes) {
            return;
        }
        if word & (state::MEASURE | state::COUNT) != 0 {
            count::allocated(block as usize, bytes);
        }
    }
}

#[inline(always)]
pub(crate) fn freed(block: *mut u8, bytes: usize) {
    let word = state::get();
    if word == state::OFF {
        return;
    }
    #[cfg(recording)]
    crate::hook::freed(block, bytes);
    #[cfg(in_memory)]
    if word & state::RECORD != 0 && !crate::wasm::hook::freed(block, bytes) {
        return;
    }
    if word & (state::MEASURE | state::COUNT) != 0 {
        count::freed(block as usize, bytes);
    }
}

#[inline(always)]
pub(crate) fn reallocating(_block: *mut u8) -> Owner {
    #[cfg(recording)]
    crate::hook::reallocating(_block)
}

#[inline(always)]
pub(crate) fn reallocated(_owner: Owner, old: (*mut u8, usize), new: (*mut u8, usize)) {
    let word = state::get();
    if word == state::OFF {
        return;
    }
    #[cfg(recording)]
    crate::hook::reallocated(_owner, old.0, old.1, new.0, new.1);
    #[cfg(in_memory)]
    if word & state::RECORD != 0 && !crate::wasm::hook::reallocated(old.0, old.1, new.0, new.1) {
        return;
    }
    if word & (state::MEASURE | state::COUNT) != 0 && !new.0.is_null() {
        count::reallocated(old.0 as usize, old.1, new.0 as usize, new.1);
    }
}
