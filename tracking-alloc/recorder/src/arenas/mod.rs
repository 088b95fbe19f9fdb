//! The account of arenas: what happens inside chunks that an allocator sees as single blocks.
//!
//! The events come from an arena's handle, which counts in [`ArenaCounters`] and keeps them in a
//! [`RecordedArena`]. The recorder knows no arenas, only their counters.
//!
//! ```text
//!   handle ──▶ slot (private memory: counters, also by scope)      plain stores, at each call
//!                 └──▶ Arena, ArenaRow, ArenaChunk (the recording)  differences, under the write lock, at updates
//! ```
//! The recording is updated at each chunk, reset, drop, refusal and request for figures, and after
//! every 64 KiB allocated (before that, whenever the allocated bytes have doubled). When the
//! recording ends, every slot in use is updated. So a finished recording is exact, including leaked
//! arenas. The recording of a killed process misses at most 64 KiB of allocated bytes of each live
//! arena. Instances with the same name share records, so many of them take no more space in the
//! recording than one.

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
    /// A chunk was taken, for the piece at this address (0 if it is not known).
    Chunk {
        /// Bytes in use before.
        used: u64,
        /// The address of the piece.
        piece: usize,
    },
    /// A reset.
    Reset {
        /// The figures before it.
        before: ArenaStats,
    },
    /// None of these events.
    Update,
}
