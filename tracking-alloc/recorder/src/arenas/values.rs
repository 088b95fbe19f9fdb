//! Values whose drop an arena never runs: by type and scope, and the blocks they point to by site.
//!
//! Which of those blocks a value owns cannot be known here: what is recorded is that they began
//! where a word of the value pointed. Never reads beyond the value, never remembers addresses.

use super::slot::Slot;
use super::writing::in_recording;
use crate::session::{ArenaValue, scope_number};
use crate::{current_scope, state};
use std::sync::atomic::Ordering::*;

/// Words of one value that are looked at.
const MOST_WORDS: usize = 512;

/// Notes a value of `bytes` bytes at `place`.
#[cold]
#[inline(never)]
pub(super) fn note_undropped(
    slot: &'static Slot,
    type_name: &'static str,
    place: usize,
    bytes: usize,
) {
    // A forked child looks nothing up: its parent's threads may hold the locks.
    if state::get() & state::RECORD == 0 {
        return;
    }
    let added = ArenaValue {
        arena: slot.arena.load(Relaxed),
        scope: scope_number(current_scope::current()),
        type_name,
        site: 0,
        bytes: bytes as u64,
    };
    in_recording(slot, |session| session.write.lock().add_arena_value(added));
    for_each_block(place, bytes, |block| {
        let added = ArenaValue {
            site: block.site,
            bytes: block.bytes as u64,
            ..added
        };
        in_recording(slot, |session| session.write.lock().add_arena_value(added));
    });
}

/// The blocks that begin where a word of a value points, each once.
fn for_each_block(place: usize, bytes: usize, mut each: impl FnMut(crate::shadow::Block)) {
    // An iterator points to its block twice: words that were found before are few.
    let (mut seen, mut next) = ([0; 8], 0);
    // SAFETY: the value was just written and is borrowed by nobody else.
    let words = unsafe { crate::sys::words(place, bytes) };
    for word in words.take(MOST_WORDS) {
        if word == 0 || seen.contains(&word) {
            continue;
        }
        if let Some(block) = crate::shadow::block_from(word) {
            seen[next % seen.len()] = word;
            next += 1;
            each(block);
        }
    }
}
