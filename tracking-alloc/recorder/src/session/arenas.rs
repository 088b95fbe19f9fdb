//! The tables of arenas: arenas by name, their rows by scope, their history, and values that are
//! never dropped.

use super::Writer;
use super::scope_table::scope_number;
use crate::hash::fnv1a;
use std::sync::atomic::Ordering::*;
use tracking_alloc_recording::{
    self as recording, Arena, ArenaChunkValue, ArenaRow, ArenaRowValue, ArenaValues,
    ArenaValuesValue, table,
};

/// Maximum number of names, minus one. Arenas with further names are instances of [`OTHER`].
pub(crate) const MOST_ARENAS: usize = 1024;
const OTHER: &[u8] = b"(other)";
const MOST_ROWS: u64 = 1 << 20;
/// Maximum number of value rows. Values that do not fit are counted as lost.
const MOST_VALUES: u64 = 4096;
/// Maximum number of events in one arena's history. After that, only new maxima are kept, so that
/// the history stays bounded.
const MOST_HISTORY: u64 = 4096;

/// An arena by name. All-zero bytes mean none.
pub(super) struct KnownArena {
    record: *const Arena,
    history: u64,
    /// The maximum of chunk bytes in the history.
    most_allocated_bytes: u64,
}

/// A value in an arena whose drop never runs, or a block that it points to.
#[derive(Clone, Copy)]
pub(crate) struct ArenaValue {
    pub(crate) arena: u32,
    pub(crate) scope: u32,
    pub(crate) type_name: &'static str,
    /// 0 for values, otherwise the site of the blocks.
    pub(crate) site: u32,
    pub(crate) bytes: u64,
}

impl Writer {
    /// Returns the number of the arena `name`, or of the arena for names that do not fit.
    pub(crate) fn arena(&mut self, name: &[u8], krate: &'static [u8]) -> Option<u32> {
        self.arena_named(name, krate, MOST_ARENAS - 1)
            .or_else(|| self.arena_named(OTHER, b"several", MOST_ARENAS))
    }

    /// Returns the record of an arena.
    pub(crate) fn arena_record(&mut self, arena: u32) -> Option<&'static Arena> {
        // SAFETY: null or a record, which is mapped while the recording is current.
        unsafe { self.arenas.get(arena as usize)?.record.as_ref() }
    }

    fn arena_named(&mut self, name: &[u8], krate: &'static [u8], most: usize) -> Option<u32> {
        let key = |name: u32, krate: u32| u64::from(name) << 32 | u64::from(krate);
        if let (Some(name), Some(krate)) = (self.known_string(name), self.known_string(krate))
            && let Some(known) = self.find(table::ARENAS, key(name, krate))
        {
            return Some(known);
        }
        if self.len(table::ARENAS) >= most as u64 {
            return None;
        }
        let (name, krate) = (self.string(name), self.string(krate));
        let arena = recording::ArenaValue {
            name,
            krate,
            ..recording::ArenaValue::default()
        };
        // Arenas without names cannot be distinguished.
        let key = (name != 0 && krate != 0).then(|| key(name, krate))?;
        let (number, record) = self.add_keyed(key, arena)?;
        self.arenas.get_mut(number as usize)?.record = record;
        Some(number)
    }

    /// Returns the row of an arena in a scope, or `None` if there is no room.
    pub(crate) fn arena_row(&mut self, arena: u32, scope: u32) -> Option<&'static ArenaRow> {
        let scope = scope_number(scope);
        let key = u64::from(arena) << 32 | u64::from(scope);
        let row = ArenaRowValue {
            arena,
            scope,
            ..ArenaRowValue::default()
        };
        self.intern_placed(key, row, MOST_ROWS, |_| true)
    }

    /// Adds an event to an arena's history.
    pub(crate) fn add_arena_moment(&mut self, of: ArenaChunkValue) {
        let Some(known) = self.arenas.get_mut(of.arena as usize) else {
            return;
        };
        let is_new_most = of.allocated_bytes > known.most_allocated_bytes;
        known.most_allocated_bytes = known.most_allocated_bytes.max(of.allocated_bytes);
        if known.history >= MOST_HISTORY && !is_new_most {
            return;
        }
        known.history += 1;
        if self.add(of).is_none() {
            self.store.header().lost_records.fetch_add(1, Relaxed);
        }
    }

    /// Adds a value, or a block that it points to.
    pub(crate) fn add_arena_value(&mut self, added: ArenaValue) {
        let Some(row) = self.values_row(added) else {
            self.store.header().lost_records.fetch_add(1, Relaxed);
            return;
        };
        row.count.fetch_add(1, Relaxed);
        row.bytes.fetch_add(added.bytes, Relaxed);
    }

    fn values_row(&mut self, added: ArenaValue) -> Option<&'static ArenaValues> {
        let type_name = self.string(added.type_name.as_bytes());
        let numbers = [added.arena, added.scope, type_name, added.site];
        let key = fnv1a(0, numbers.into_iter().flat_map(u32::to_le_bytes));
        let row = ArenaValuesValue {
            arena: added.arena,
            scope: added.scope,
            type_name,
            site: added.site,
            ..ArenaValuesValue::default()
        };
        self.intern_placed(key, row, MOST_VALUES, |known| {
            let words = [&known.arena, &known.scope, &known.type_name, &known.site];
            words.map(|word| word.load(Relaxed)) == numbers
        })
    }
}
