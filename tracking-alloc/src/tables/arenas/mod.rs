//! The tables of arenas: arenas by name, their rows by scope, their history, and values that are never dropped.

mod values;

pub(crate) use values::ArenaValue;

use super::Writer;
use super::key_map::KeyMap;
use super::scopes::scope_number;
use crate::hash::{fnv1a, next_key};
use crate::record::Table;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::*;
use tracking_alloc_recording::{
    Arena, ArenaChunk, ArenaChunkValue, ArenaRow, ArenaRowValue, ArenaValues, table,
};
use values::Values;

/// Arenas that the writer knows. All-zero bytes are none, but for the tables.
pub(super) struct Arenas {
    arenas: Table,
    rows: Table,
    chunks: Table,
    /// Hash of name and crate to arena.
    by_name: KeyMap,
    /// Arena and scope to the number of their row.
    by_scope: KeyMap,
    known: [*mut Named; MOST_ARENAS],
    /// Rows by number, in pages.
    row_pages: [*mut *const ArenaRow; MOST_ROWS / ROW_PAGE],
    values: Values,
}

/// Names kept apart, less one: arenas of further ones are instances of [`OTHER`].
pub(crate) const MOST_ARENAS: usize = 1024;
const OTHER: &[u8] = b"(other)";
const MOST_ROWS: usize = 1 << 20;
const ROW_PAGE: usize = 1 << 10;
/// Events in one arena's history. After that only new maxima are kept, so it stays bounded however long it goes on.
const MOST_HISTORY: u64 = 4096;

/// An arena by name.
struct Named {
    record: *const Arena,
    /// Name and crate, as they were given.
    name: *const u8,
    name_bytes: usize,
    krate: &'static [u8],
    history: u64,
    /// Most chunk bytes in it.
    most_chunk_bytes: u64,
}

impl Arenas {
    /// Empty tables.
    pub(super) fn lay_out(&mut self) {
        let table = |id, bytes: usize| Table::new(id, 0, bytes, 4 << 10, 256 << 10);
        self.arenas = table(table::ARENAS, size_of::<Arena>());
        self.rows = table(table::ARENA_ROWS, size_of::<ArenaRow>());
        self.chunks = table(table::ARENA_CHUNKS, size_of::<ArenaChunk>());
        self.values.table = table(table::ARENA_VALUES, size_of::<ArenaValues>());
    }

    fn named(&mut self, arena: u32) -> Option<&mut Named> {
        // SAFETY: null or a named arena, reached under the write lock only, one at a time.
        unsafe { self.known.get(arena as usize)?.as_mut() }
    }
}

impl Writer {
    /// The number of the arena called `name`, or of the one for all names without room.
    pub(crate) fn arena(&mut self, name: &[u8], krate: &'static [u8]) -> Option<u32> {
        self.arena_named(name, krate)
            .or_else(|| self.arena_named(OTHER, b"several"))
    }

    /// The record of an arena.
    pub(crate) fn arena_record(&mut self, arena: u32) -> Option<&'static Arena> {
        // SAFETY: null or a record that is mapped until the process ends.
        unsafe { self.arenas.named(arena)?.record.as_ref() }
    }

    fn arena_named(&mut self, name: &[u8], krate: &'static [u8]) -> Option<u32> {
        let mut key = fnv1a(0, krate.iter().chain(name).copied());
        // The content decides; another name of the same hash moves on to the next key.
        while let Some(found) = self.arenas.by_name.find(key) {
            let named = self.arenas.named(found)?;
            // SAFETY: a name is kept for good.
            let kept = unsafe { std::slice::from_raw_parts(named.name, named.name_bytes) };
            if kept == name && named.krate == krate {
                return Some(found);
            }
            key = next_key(key);
        }
        self.add_arena(key, name, krate)
    }

    fn add_arena(&mut self, key: u64, name: &[u8], krate: &'static [u8]) -> Option<u32> {
        let most = MOST_ARENAS - usize::from(name != OTHER);
        if self.arenas.arenas.len() >= most as u64 || !self.arenas.by_name.reserve(&mut self.bump) {
            return None;
        }
        let kept = self.bump.take::<u8>(name.len().max(1))?;
        let named = self.bump.take::<Named>(1)?;
        let (name_string, krate_string) = (self.string(name), self.string(krate));
        let (index, place) = self.arenas.arenas.push::<Arena>(&mut self.store)?;
        // SAFETY: memory for the name, for one named arena, and a zeroed record were just handed out.
        let record: &'static Arena = unsafe {
            kept.copy_from_nonoverlapping(NonNull::from(name).cast(), name.len());
            named.write(Named {
                record: place.as_ptr(),
                name: kept.as_ptr(),
                name_bytes: name.len(),
                krate,
                history: 0,
                most_chunk_bytes: 0,
            });
            place.as_ref()
        };
        record.name.store(name_string, Relaxed);
        record.krate.store(krate_string, Relaxed);
        let arena = index as u32;
        self.arenas.known[index as usize] = named.as_ptr();
        self.store.header().arenas_len.store(arena + 1, Release);
        self.arenas.by_name.add(key, arena);
        Some(arena)
    }

    /// The row of an arena in a scope. `None` when there is no room.
    pub(crate) fn arena_row(&mut self, arena: u32, scope: u32) -> Option<*const ArenaRow> {
        let scope = scope_number(scope);
        let key = u64::from(arena) << 32 | u64::from(scope);
        if let Some(number) = self.arenas.by_scope.find(key) {
            return self.row_numbered(number);
        }
        let number = self.arenas.rows.len() as usize;
        if number >= MOST_ROWS || !self.arenas.by_scope.reserve(&mut self.bump) {
            return None;
        }
        let page = self.arenas.row_pages.get_mut(number / ROW_PAGE)?;
        if page.is_null() {
            *page = self.bump.take::<*const ArenaRow>(ROW_PAGE)?.as_ptr();
        }
        let page = *page;
        let row = ArenaRowValue {
            arena,
            scope,
            ..ArenaRowValue::default()
        };
        let (index, record) = self.arenas.rows.add(&mut self.store, row)?;
        // SAFETY: the page has ROW_PAGE entries.
        unsafe { *page.add(number % ROW_PAGE) = record };
        self.store
            .header()
            .arena_rows_len
            .store(u64::from(index) + 1, Release);
        self.arenas.by_scope.add(key, index);
        Some(record)
    }

    fn row_numbered(&self, number: u32) -> Option<*const ArenaRow> {
        let page = *self.arenas.row_pages.get(number as usize / ROW_PAGE)?;
        // SAFETY: pages have ROW_PAGE entries; a number in the map was given to a row in one of them.
        (!page.is_null()).then(|| unsafe { *page.add(number as usize % ROW_PAGE) })
    }

    /// Adds to an arena's history.
    pub(crate) fn add_arena_moment(&mut self, of: ArenaChunkValue) {
        let Some(named) = self.arenas.named(of.arena) else {
            return;
        };
        let is_new_most = of.chunk_bytes > named.most_chunk_bytes;
        named.most_chunk_bytes = named.most_chunk_bytes.max(of.chunk_bytes);
        if named.history >= MOST_HISTORY && !is_new_most {
            return;
        }
        named.history += 1;
        let header = self.store.header();
        let Some((index, _)) = self.arenas.chunks.add(&mut self.store, of) else {
            header.lost_records.fetch_add(1, Relaxed);
            return;
        };
        header.arena_chunks_len.store(u64::from(index) + 1, Release);
    }
}
