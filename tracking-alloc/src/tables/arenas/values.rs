//! The table of values whose drop an arena never runs: by arena, scope, type and site.

use super::super::Writer;
use super::super::key_map::KeyMap;
use crate::hash::{fnv1a, next_key};
use crate::record::Table;
use std::sync::atomic::Ordering::*;
use tracking_alloc_recording::{ArenaValues, ArenaValuesValue};

/// Rows kept apart; values of further ones are counted as lost.
const MOST_ROWS: usize = 4096;

/// Rows that the writer knows. All-zero bytes are none, but for the table.
pub(super) struct Values {
    pub(super) table: Table,
    /// Hash of arena, scope, type and site to row.
    by_key: KeyMap,
    known: [ValueRow; MOST_ROWS],
}

/// A row, with the type's name as the program has it.
struct ValueRow {
    record: *const ArenaValues,
    name: *const u8,
    name_bytes: usize,
}

/// What is added to a row.
#[derive(Clone, Copy)]
pub(crate) struct ArenaValue {
    pub(crate) arena: u32,
    pub(crate) scope: u32,
    pub(crate) type_name: &'static str,
    /// 0 = values, else blocks of that site.
    pub(crate) site: u32,
    pub(crate) bytes: u64,
}

impl Writer {
    /// Adds a value, or a block that it points to.
    pub(crate) fn add_arena_value(&mut self, added: ArenaValue) {
        let Some(row) = self.values_row(added) else {
            self.store.header().lost_records.fetch_add(1, Relaxed);
            return;
        };
        // SAFETY: a record that is mapped until the process ends.
        let row = unsafe { &*row };
        row.count.fetch_add(1, Relaxed);
        row.bytes.fetch_add(added.bytes, Relaxed);
    }

    fn values_row(&mut self, added: ArenaValue) -> Option<*const ArenaValues> {
        let name = added.type_name.as_bytes();
        let numbers = [added.arena, added.scope, added.site];
        let bytes = numbers.into_iter().flat_map(u32::to_le_bytes);
        let mut key = fnv1a(0, name.iter().copied().chain(bytes));
        // The content decides; others of the same hash move on to the next key.
        while let Some(found) = self.arenas.values.by_key.find(key) {
            let known = self.arenas.values.known.get(found as usize)?;
            // SAFETY: rows in the map were made: their record is mapped until the process ends, their name is kept for
            // good.
            let (row, kept) = unsafe {
                (
                    &*known.record,
                    std::slice::from_raw_parts(known.name, known.name_bytes),
                )
            };
            let of = [&row.arena, &row.scope, &row.site].map(|word| word.load(Relaxed));
            if kept == name && of == numbers {
                return Some(known.record);
            }
            key = next_key(key);
        }
        self.add_values_row(key, added)
    }

    fn add_values_row(&mut self, key: u64, added: ArenaValue) -> Option<*const ArenaValues> {
        let values = &mut self.arenas.values;
        let number = values.table.len() as usize;
        if number >= MOST_ROWS || !values.by_key.reserve(&mut self.bump) {
            return None;
        }
        let type_name = self.string(added.type_name.as_bytes());
        let values = &mut self.arenas.values;
        let row = ArenaValuesValue {
            arena: added.arena,
            scope: added.scope,
            type_name,
            site: added.site,
            ..ArenaValuesValue::default()
        };
        let (index, record) = values.table.add(&mut self.store, row)?;
        values.known[number] = ValueRow {
            record,
            name: added.type_name.as_ptr(),
            name_bytes: added.type_name.len(),
        };
        self.store
            .header()
            .arena_values_len
            .store(u64::from(index) + 1, Release);
        values.by_key.add(key, index);
        Some(record)
    }
}
