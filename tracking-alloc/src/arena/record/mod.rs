//! A tracked arena's way into the recording.
//!
//! ```text
//!   handle ──▶ slot (private memory: counters, also by scope)      plain stores, at each call
//!                 └──▶ Arena, ArenaRow, ArenaChunk (the recording)  differences, under the write lock, at updates
//! ```
//! It is updated at each chunk, reset, drop, refusal and question for figures, and after every 64
//! KiB allocated (every doubling before that); ending the recording updates every slot in use. So a
//! recording that ended is exact, leaked arenas included; that of a process that was killed is at
//! most 64 KiB of allocated bytes behind in each live arena. Instances of one name share records:
//! many of them cost no more of the recording than one.

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
pub(super) use handle::Recorded;
#[cfg(not(recording))]
pub(super) use unrecorded::Recorded;
#[cfg(recording)]
pub(crate) use writing::{forget, settle};

/// The reason for an update of the recording.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    not(recording),
    expect(dead_code, reason = "only whole platforms record")
)]
pub(super) enum Event {
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
