//! The account of arenas: what happens inside chunks that an allocator sees as single blocks.
//!
//! The source of these events is a handle of an arena, which counts in [`ArenaCounters`] and keeps
//! them in a [`RecordedArena`]. The recorder knows no arena, only its counters.
//!
//! ```text
//!   handle ──▶ slot (private memory: counters, also by scope)      plain stores, at each call
//!                 └──▶ Arena, ArenaRow, ArenaChunk (the recording)  differences, under the write lock, at updates
//! ```
//! The recording is updated at each chunk, reset, drop, refusal and request for figures, and after
//! every 64 KiB allocated (every doubling before that). The end of the recording updates every slot
//! in use. So a finished recording is exact, leaked arenas included. The recording of a process that
//! was killed misses at most 64 KiB of allocated bytes of each live arena. Instances with the same
//! name share records: many of them take no more space in the recording than one.

mod chunks;
mod counters;
mod stats;

#[cfg(recording)]
mod handle;
#[cfg(recording)]
mod scope_counters;
#[cfg(recording)]
mod slot;
#[cfg(not(recording))]
mod unrecorded;
#[cfg(recording)]
mod values;
#[cfg(recording)]
mod writing;

#[cfg(recording)]
pub use handle::RecordedArena;
#[cfg(not(recording))]
pub use unrecorded::RecordedArena;
#[cfg(recording)]
pub(crate) use writing::{forget, settle};

pub use chunks::Chunks;
pub use counters::{ArenaCounters, Counter};
pub use stats::ArenaStats;

/// The reason for an update of the recording.
#[derive(Clone, Copy, Debug)]
pub enum ArenaEvent {
    /// A chunk was taken: bytes in use before, and the address of the piece it was taken for (0 =
    /// not known).
    Chunk {
        /// Bytes.
        used: u64,
        /// Address.
        piece: usize,
    },
    /// A reset: bytes in use before.
    Reset {
        /// Bytes.
        used: u64,
    },
    /// None of these.
    Update,
}
