//! The record type of each table, and the header word with its length, for the writer and the
//! reader.

use crate::layout::*;
use crate::words::Record;
use std::sync::atomic::Ordering::Release;

/// A record of a table whose length is a word of the header.
pub trait TableRecord: Record {
    /// The number of the table in the directory.
    const TABLE: u32;
    /// Returns the number of published records.
    fn published(header: &HeaderValue) -> u64;
    /// Publishes the first `len` records.
    fn publish(header: &Header, len: u64);
}

macro_rules! table_records {
    ($($record:ident in $table:ident, $len:ident;)*) => {$(
        impl TableRecord for $record {
            const TABLE: u32 = table::$table;
            fn published(header: &HeaderValue) -> u64 {
                header.$len.into()
            }
            fn publish(header: &Header, len: u64) {
                header.$len.store(len as _, Release);
            }
        }
    )*};
}
table_records! {
    ModuleValue in MODULES, modules_len;
    FrameValue in FRAMES, frames_len;
    StackValue in STACKS, stacks_len;
    ScopeValue in SCOPES, scopes_len;
    SiteValue in SITES, sites_len;
    ThreadNameValue in THREADS, threads_len;
    MarkValue in MARKS, marks_len;
    MarkRowValue in MARK_ROWS, mark_rows_len;
    FootprintValue in FOOTPRINTS, footprints_len;
    FootprintNodeValue in FOOTPRINT_NODES, footprint_nodes_len;
    ArenaValue in ARENAS, arenas_len;
    ArenaRowValue in ARENA_ROWS, arena_rows_len;
    ArenaChunkValue in ARENA_CHUNKS, arena_chunks_len;
    ArenaValuesValue in ARENA_VALUES, arena_values_len;
    FailedRequestValue in FAILED_REQUESTS, failed_requests_len;
}
