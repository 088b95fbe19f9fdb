//! The layout of a heapglass recording: one definition for the allocator that writes it and the
//! profiler that reads it.
//!
//! A recording is a file of tables that the recorded program updates *in place* through a shared
//! mapping. So nothing needs flushing, and nothing is lost if the program is killed. Its size
//! depends on the number of sites, not of events.
//!
//! # The file
//!
//! All words are little-endian. The file consists of
//!
//! | bytes | what |
//! |---|---|
//! | 0 .. 4096 | [`Header`]: identity, state, lengths of the tables, the peak, losses |
//! | 4096 .. 4096 + 64 KiB | the directory: [`Segment`] entries, as many as [`Header::directory_len`] says |
//! | .. 1 MiB | the first segments of the tables below, each named by the directory |
//! | 1 MiB .. | further segments, multiples of 64 KiB, named by the directory |
//!
//! A **table** is the chain of its segments in order of [`Segment::first`]; no record crosses a
//! segment. Readers follow the directory only. A full directory continues in a segment of table
//! [`table::DIRECTORY`].
//!
//! | table | record | bytes | published by |
//! |---|---|---|---|
//! | [`STRINGS`](table::STRINGS) | `u32` length, bytes, padded to 4; a reference is the offset in the table, 0 = none | - | [`Header::strings_len`] |
//! | [`MODULES`](table::MODULES) | [`Module`] | 48 | [`Header::modules_len`] |
//! | [`FRAMES`](table::FRAMES) | [`Frame`] | 16 | [`Header::frames_len`] |
//! | [`STACKS`](table::STACKS) | [`Stack`], parents before children | 8 | [`Header::stacks_len`] |
//! | [`SCOPES`](table::SCOPES) | [`Scope`], parents before children | 64 | [`Header::scopes_len`] |
//! | [`SITES`](table::SITES) | [`Site`] | 16 | [`Header::sites_len`] |
//! | [`LANES`](table::LANES) | [`Lane`], 257 of them, then 256 in each further segment | 256 | [`Lane::kind`] |
//! | [`FIXED_ROWS`](table::FIXED_ROWS) | three [`Row`]s a lane: all its events, "(table full)", "(unattributed)" | 128 | [`Lane::kind`] |
//! | [`ROWS`](table::ROWS) of a lane | [`Row`] | 128 | [`Lane::rows_len`] |
//! | [`SIZES`](table::SIZES) of a lane | [`Sizes`] | 64 | [`Lane::sizes_len`] |
//! | [`CHECKPOINTS`](table::CHECKPOINTS) of a lane | [`Checkpoints`] | 136 | [`Lane::checkpoints_len`] |
//! | [`SAMPLES`](table::SAMPLES) of a lane | [`Samples`] | 144 | [`Lane::samples_len`] |
//! | [`CHECKPOINT_MOMENTS`](table::CHECKPOINT_MOMENTS) | [`CHECKPOINT_SLOTS`] of [`CheckpointMoment`] | 48 | [`CheckpointMoment::sequence`] |
//! | [`THREADS`](table::THREADS) | [`ThreadName`] | 120 | [`Header::threads_len`] |
//! | [`TIMELINE`](table::TIMELINE) | two halves of 1,024 [`Point`]s; [`Header::timeline_half`] is current | 48 | [`Header::timeline_len`] |
//! | [`MARKS`](table::MARKS) | [`Mark`] | 136 | [`Header::marks_len`] |
//! | [`MARK_ROWS`](table::MARK_ROWS) | [`MarkRow`] | 24 | [`Header::mark_rows_len`] |
//! | [`VISITS`](table::VISITS) of a lane | [`Visits`] | 16 | [`Lane::visits_len`] |
//! | [`FOOTPRINTS`](table::FOOTPRINTS) | [`Footprint`] | 64 | [`Header::footprints_len`] |
//! | [`FOOTPRINT_NODES`](table::FOOTPRINT_NODES) | [`FootprintNode`] | 80 | [`Header::footprint_nodes_len`] |
//! | [`ARENAS`](table::ARENAS) | [`Arena`] | 192 | [`Header::arenas_len`] |
//! | [`ARENA_ROWS`](table::ARENA_ROWS) | [`ArenaRow`] | 64 | [`Header::arena_rows_len`] |
//! | [`ARENA_CHUNKS`](table::ARENA_CHUNKS) | [`ArenaChunk`] | 48 | [`Header::arena_chunks_len`] |
//! | [`ARENA_VALUES`](table::ARENA_VALUES) | [`ArenaValues`] | 32 | [`Header::arena_values_len`] |
//! | [`FAILED_REQUESTS`](table::FAILED_REQUESTS) | [`FailedRequest`] | 32 | [`Header::failed_requests_len`] |
//! | [`SYMBOLS`](table::SYMBOLS) | JSON, added by `heapglass pack` | - | its segments |
//! | [`SNAPSHOTS`](table::SNAPSHOTS) | JSON, added by an attached reader | - | its segments |
//! | [`GENERATED_NAMES`](table::GENERATED_NAMES) | lines of a map of perf, added by `heapglass run` | - | its segments |
//! | [`MERGED`](table::MERGED) | [`MergedPart`] | 128 | its segments |
//!
//! A recording in memory ([`arch::WASM32`]) is written as a whole at the end, and so is a merged
//! one: the same directory, directly followed by its tables ([`Encoder`]).
//!
//! # What the counters mean
//!
//! `total_*` counts every allocation, and every realloc with its full new size. `freed_*` counts
//! every free, and every realloc with its old size. A net value (`total - freed`) may be negative
//! in one lane that frees blocks of another; only the sum over lanes is exact. One event per lane
//! may be half applied while it is in progress.
//!
//! In mode [`SAMPLE`](mode::SAMPLE), only some events are recorded, each with a weight, so the
//! figures of rows are estimates. A row then has a [`Samples`] record, which tells how far the
//! estimates may be off. [`Header::sampled_total_bytes`] is exact.
//!
//! # The peak
//!
//! [`Header::clock`] holds the epoch of the last maximum and the number of the last checkpoint
//! ([`Clock`]). A row that changes in a newer epoch first saves its net
//! values. So a row with the header's epoch held `saved_*` at the peak, and a row with an older
//! epoch has not changed since the peak. If the sum of net values has risen to or above the last
//! maximum and not fallen since, the peak is now.
//!
//! # Merged recordings
//!
//! A recording in the state [`MERGED`](state::MERGED) is the sum of others: of one build, one mode
//! and one way to walk stacks. It has one lane, whose rows are sums. A row's saved values are the
//! sums of what each recording's row held at that recording's own peak. Times of single
//! recordings (timeline, marks, checkpoints, the history of arenas) are not in it, nor are
//! footprints, snapshots and resident sets.
//!
//! # Checkpoints
//!
//! A checkpoint is a moment at which the recording keeps the live bytes and blocks of every row
//! ([`CheckpointMoment`]). Checkpoints are numbered from 1. A row that changes when the number in
//! the clock is newer than its own first saves its net values for every checkpoint in between
//! ([`Checkpoints`]). There are [`CHECKPOINT_SLOTS`] slots. When all are taken, half of the
//! checkpoints of one kind are dropped ([`checkpoint_kind`]), those that are closest together. The
//! ends of a phase that is entered more than [`MOST_ENTRIES_OF_A_MOMENT`] times are no checkpoints.
//!
//! # Versions
//!
//! [`VERSION`] is the version of the layout. Readers accept only this version and reject all
//! others, so no record ever has two meanings. The size of each record is checked at compile time,
//! and `tests/golden` keeps a recording of this version.
#![forbid(unsafe_code)]
#![warn(clippy::match_bool)]

mod checksum;
mod clock;
mod counter;
mod encode;
mod layout;
#[cfg(feature = "read")]
mod pack;
mod pattern;
#[cfg(feature = "read")]
mod read;
mod registers;
mod sampled;
pub mod shadow;
mod size;
mod size_class;
mod tables;
mod words;
mod writer;

pub use checksum::Checksum;
pub use clock::{Clock, ClockCell};
pub use counter::{COUNTERS, Counter, Sums};
pub use encode::{EncodedStrings, Encoder};
pub use layout::*;
#[cfg(feature = "read")]
pub use pack::{with_generated_names, with_snapshots, with_symbols};
pub use pattern::{PathPiece, literal_path, path_pieces};
#[cfg(feature = "read")]
pub use read::{Error, LaneColumns, ReadAt, Recording, file_checksum, read_bytes};
pub use registers::CopyRegisters;
pub use sampled::Sampled;
pub use size::parse_size;
pub use size_class::{SIZE_CLASSES, class_bounds, size_class};
pub use tables::TableRecord;
pub use words::{Record, Word};
pub use writer::{Host, ProcessEntry, ProcessStat, Writer, is_own_proc};
