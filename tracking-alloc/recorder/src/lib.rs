//! The recorder of heapglass: counts every allocator event by stack and scope, in a memory-mapped
//! file that another process reads.
//!
//! This crate observes nothing by itself. A source that sees allocations reports them here:
//! [tracking-alloc](https://docs.rs/tracking-alloc) for a Rust `GlobalAlloc`, a preloaded library
//! for `malloc` and `free`, an interpreter for its own heap. Programs add one of those. This crate
//! is for writing a new source.
//!
//! # Reporting events
//!
//! | call | when |
//! |---|---|
//! | [`allocated`] | after a block was allocated (null: after a request failed) |
//! | [`freed`] | before a block is freed |
//! | [`reallocating`], then [`reallocated`] | before and after a block is resized |
//!
//! The order matters: as soon as a block is freed, another thread may get its address.
//!
//! ```
//! use std::alloc::{Layout, alloc, dealloc};
//!
//! let layout = Layout::new::<[u64; 4]>();
//! // SAFETY: the layout is not empty, and the block is freed with the layout it has.
//! unsafe {
//!     let block = alloc(layout);
//!     heapglass_recorder::allocated(block, layout.size());
//!     // ... use the block ...
//!     heapglass_recorder::freed(block, Some(layout.size()));
//!     dealloc(block, layout);
//! }
//! ```
//!
//! While nothing records, each call is one load and one compare, inlined into the caller. The
//! functions may be called at any time in any thread: before `main`, in signal handlers, while
//! thread-local variables are destroyed, and in a forked child.
//!
//! # Controlling a recording
//! [`start()`] begins one ([`Options`]: to a file, or in memory), and [`Recording`] marks, pauses,
//! resumes and finishes it. `HEAPGLASS_OUT` in the environment starts one at the first event. On
//! platforms that cannot record, these functions exist and return that as an error.
//!
//! [`scopes`] state the current activity of a thread: a phase, or a field of the data that it
//! reads. Every event is counted in the current scope of its thread.
//!
//! # What the recorder relies on
//!
//! These statements hold for all existing sources of events. A source for which one of them does
//! not hold must change the code that relies on it:
//!
//! - **Every event is reported**, so the rows of a recording add up to the figures of the process.
//!   [`stats()`] returns the sum of the rows and of the events that no row counts, and documents it
//!   as exact. A recording that samples is the exception: a source that calls the allocator itself
//!   asks [`passes_allocation`] and its relatives first, which count what needs no report. All
//!   other sources report every event, and the recorder takes the samples.
//! - **A free without a known block** belongs to a block that was allocated before the recording,
//!   during a pause, or by another allocator. The recorder counts it as an unknown free and changes
//!   no row.
//! - **A block's birth number** is the number of allocations of its lane so far, which is
//!   `total_blocks` in the lane's row of all events. The difference of two such numbers is a
//!   lifetime.
//! - **Sizes are requested sizes**, not usable ones. If [`freed`] and [`reallocating`] do not get
//!   the size, they take it from the recording.
//!
//! # Guarantees
//!
//! A copy of the process is made only for a reader that is attached to the recording
//! ([`snapshot`]), and never where it could harm the program. The program does not see it as a
//! child.
//!
//! The recorder starts no thread and keeps no descriptor open. It never allocates through the
//! observed allocator, nor through libc's, and it never panics in an event. Its memory comes from
//! `mmap`. It holds no lock while it calls code of the program.
//!
//! # Other parts
//!
//! | module | for |
//! |---|---|
//! | [`scopes`] | phases, and fields of deserialized data |
//! | [`counting`] | figures of a thread, a group of threads, or the process, without a recording |
//! | [`arenas`] | the account of an arena's chunks |
//! | `blocks`, `footprints` | the live block at an address, and what a value retains (Linux) |
//! | [`leaked`] | memory that is never freed and comes from no allocator |
//! | `wasm` | recording in a WebAssembly module |

#![warn(clippy::match_bool)]

mod accounting;
pub mod arenas;
pub mod counting;
mod current_scope;
mod error;
pub mod hash;
mod interface;
pub mod leaked;
mod measured;
mod no_snapshot;
mod options;
mod probe;
pub mod scopes;
#[cfg(recording)]
mod state;
#[cfg(not(recording))]
#[path = "state/off.rs"]
mod state;
mod stats;
mod thread;

#[cfg(recording)]
pub mod blocks;
#[cfg(recording)]
mod containers;
#[cfg(recording)]
mod control;
#[cfg(not(recording))]
#[path = "control/off.rs"]
mod control;
#[cfg(recording)]
mod file;
#[cfg(recording)]
pub mod footprints;
#[cfg(recording)]
mod hook;
#[cfg(recording)]
mod images;
#[cfg(recording)]
mod life;
#[cfg(recording)]
mod samples;
#[cfg(recording)]
mod session;
#[cfg(recording)]
mod shadow;
#[cfg(recording)]
mod stack;
#[cfg(recording)]
mod start;
#[cfg(recording)]
mod sys;
#[cfg(any(in_memory, test))]
pub mod wasm;

pub use control::{Recording, mark, snapshot, start, start_with};
#[cfg(recording)]
pub use control::{attach, exec_unreadable, exec_unrecorded};
#[doc(hidden)]
pub use error::DEPENDENCY;
pub use error::{Error, NOT_INSTALLED};
#[cfg(all(recording, captures))]
pub use hook::PassedOver;
pub use interface::{
    Callers, InnerAllocator, Reallocating, Source, allocated, allocated_by, freed,
    passes_allocation, passes_free, passes_reallocation, reallocated, reallocating,
    reallocating_in_pool,
};
#[cfg(recording)]
pub use interface::{code_changes, start_from_environment};
pub use measured::{measured, measured_with, stats};
pub use no_snapshot::NoSnapshot;
#[cfg(recording)]
pub use options::Attached;
pub use options::{Options, Settings};
pub use probe::{assert_exact, assert_observing, is_exact, is_observing, require_observing};
pub use stats::{Delta, Stats};
#[cfg(recording)]
pub use sys::sleep;
