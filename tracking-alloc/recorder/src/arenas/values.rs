//! Values whose drop an arena never runs, by type and scope, and the blocks to which they point, by
//! site.
//!
//! It is not known here which of those blocks a value owns. The recording only states that they
//! begin at an address that a word of the value contains. This code never reads beyond the value,
//! and never remembers addresses.

use super::slot::Slot;
use super::writing::in_recording;
use crate::session::{ArenaValue, scope_number};
use crate::{current_scope, state};
use std::sync::atomic::Ordering::*;

/// Maximum number of words of one value to check.
const MOST_WORDS: usize = 512;

/// Records a value of `bytes` bytes at `place`.
#[cold]
#[inline(never)]
pub(super) fn note_undropped(
    slot: &'static Slot,
    type_name: &'static str,
    place: usize,
    bytes: usize,
) {
    // A forked child looks up nothing, because its parent's threads may hold the locks.
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

/// Calls `each` for every block to whose beginning a word of the value points, once per block.
fn for_each_block(place: usize, bytes: usize, mut each: impl FnMut(crate::shadow::Block)) {
    // An iterator points to its block twice. It is enough to remember a few words.
    let (mut seen, mut next) = ([0; 8], 0);
    // SAFETY: the value was just written, and nobody else borrows it.
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
