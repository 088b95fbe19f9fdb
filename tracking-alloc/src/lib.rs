//! A global allocator wrapper that records exactly which call sites own the heap.
//!
//! Add one dependency and one line:
//!
//! ```no_run
//! #[global_allocator]
//! static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();
//! # fn main() {}
//! ```
//!
//! and run the program under `heapglass run -- target/release/app`, or with `HEAPGLASS_OUT=app.hg`
//! in its environment. While nothing records, an allocator call costs one load more.
//!
//! # What it is for
//!
//! Observing and recording, never analysing: the recording is a file of counters that `heapglass`
//! reads, also while the program runs and after it was killed. Exact: every event is counted with
//! its stack.
//!
//! # What it never does
//!
//! It starts no thread, keeps no descriptor, adds no header to blocks, never allocates through the
//! allocator it wraps, never panics in a hook. If recording must give up (a full disk, a limit),
//! the program runs on and the recording says why.
//!
//! A recording is finished when the program returns or calls `exit`, when the [`Recorder`] that
//! started it is dropped, and when the library that this crate is part of is unloaded. Forked
//! children do not record, unless they start a recording of their own.
//!
//! Two limits: a thread that is cancelled asynchronously (`PTHREAD_CANCEL_ASYNCHRONOUS`) in the
//! middle of an event may leave a lock held; deferred cancellation, the default, is safe. A signal
//! handler that forks in the middle of an event of the same thread has that one event finished in
//! the child too.
//!
//! # The environment
//!
//! | variable | meaning |
//! |---|---|
//! | `HEAPGLASS_OUT` | record to this path from the first allocation; `%p` process id, `%e` program, `%t` start time (seconds) |
//! | `HEAPGLASS_MODE` | `exact` (the default): every event with its stack; `count`: every event, without stacks |
//! | `HEAPGLASS_MAX_BYTES` | largest recording, bytes; sites beyond it count as "(table full)". Default 1 GiB |
//! | `HEAPGLASS_OWN` | the crates that are your own, with commas between, kept in the recording for who reads it; `cargo heapglass` sets it |
//! | `HEAPGLASS_PREALLOC` | `1` reserves 64 MiB at the start and makes no file call later (sandboxes, setuid); then no RSS and no thread name is read |
//!
//! Ignored in programs with raised privileges (`AT_SECURE`). An old recording at the path is
//! replaced; one whose process is not proved dead (it runs, perhaps in another container, or it is
//! this very process) stays, and the path gets a suffix: `NAME-PID.hg`.
//!
//! # Stacks
//!
//! Walked by frame pointers when code built with the program's flags keeps them (`-C
//! force-frame-pointers=yes`, which `cargo heapglass` adds), else by the rules of `.eh_frame`
//! (x86-64 only; about twice as expensive: an event costs 56, 61 and 96 ns at 10, 30 and 100 frames
//! in place of 23, 30 and 44), else not at all. The recording names the unwinder.
//!
//! # In tests
//!
//! [`measure`] counts what a closure does in its thread, exactly and without a recording:
//!
//! ```
//! # #[global_allocator] static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();
//! let (numbers, delta) = tracking_alloc::measure(|| Vec::<u32>::with_capacity(100));
//! assert_eq!((delta.total_blocks, delta.live_bytes), (1, 400));
//! # drop(numbers);
//! ```
//!
//! [`assert_allocs!`] fails when a block allocates more than allowed, and says all figures: of its
//! thread, of several [`Threads`], or of the process.
//!
//! # Features
//!
//! | feature | what it adds |
//! |---|---|
//! | `assert-sites` | a limit of [`assert_allocs!`] that is broken says which functions allocated most |
//! | `serde` | `Profiled`: a decode by field and type; `Budget`: one that fails it; `footprint`: what a live value retains |
//! | `deepsize` | `footprint_estimate`: what that crate says of a value, beside what was found |
//! | `bumpalo`, `bump-scope` | [`arena::Tracked`] for their arenas; includes `serde` |
//! | `derive` | `#[derive(ArenaDeserialize)]`: deserializing into an arena of theirs or of your own |
//! | `allocator-api2` | `Tracked` as an allocator of collections |
//!
//! # Platforms
//!
//! Linux with glibc or musl on x86-64 and aarch64 records. A WebAssembly module (`wasm32` without
//! threads) records in memory, without stacks: its module `wasm` hands out the bytes. Elsewhere the
//! crate builds and counts ([`measure`], [`stats`], phases do nothing). Only Linux has `Recorder`
//! and `footprint`.

#![warn(clippy::match_bool)]

/// The README's code compiles.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;

mod alloc;
pub mod arena;
mod assertion;
mod count;
mod counters;
mod current_scope;
mod error;
mod events;
mod figures;
mod guards;
#[cfg(any(recording, captures, feature = "serde"))]
mod hash;
mod leaked;
mod measure;
mod phase;
mod probe;
#[cfg(feature = "serde")]
mod profiled;
mod state;
mod thread;
mod threads;

#[cfg(all(recording, any(feature = "serde", feature = "deepsize")))]
mod footprint;
#[cfg(recording)]
mod hook;
#[cfg(recording)]
mod life;
#[cfg(any(in_memory, test))]
mod memory;
#[cfg(recording)]
mod module;
#[cfg(recording)]
mod record;
#[cfg(recording)]
mod recorder;
#[cfg(recording)]
mod scope_records;
#[cfg(recording)]
mod shadow;
#[cfg(recording)]
mod stack;
#[cfg(recording)]
mod start;
#[cfg(recording)]
mod sys;
#[cfg(recording)]
mod tables;
#[cfg(in_memory)]
pub mod wasm;

#[cfg(not(any(recording, in_memory)))]
#[path = "scope_records/unrecorded.rs"]
mod scope_records;

pub use alloc::TrackingAlloc;
#[cfg(feature = "derive")]
pub use arena::{ArenaDeserialize, ArenaSeed};
pub use error::Error;
pub use figures::{Delta, Stats};
#[cfg(all(recording, any(feature = "serde", feature = "deepsize")))]
pub use footprint::Footprint;
#[cfg(all(recording, feature = "serde"))]
pub use footprint::footprint;
#[cfg(all(recording, feature = "deepsize"))]
pub use footprint::footprint_estimate;
pub use phase::{Phase, PhaseFuture, phase, phase_async};
#[cfg(feature = "serde")]
pub use profiled::{Budget, Profiled, ProfiledSeed};
#[cfg(recording)]
pub use recorder::{Recorder, mark};
pub use threads::Threads;
#[cfg(in_memory)]
use wasm::scope_records;

/// What `assert_allocs!` expands to, and what `heapglass` advises. Not for use by hand: it changes
/// without notice.
#[doc(hidden)]
pub mod __private {
    pub use crate::assertion::{Counted, Measured, assert_limits, measure};
    pub use crate::error::DEPENDENCY;
}

/// Runs `f` and counts what this thread allocated and freed in it: exact, also when nothing
/// records. Calls nest.
///
/// Other threads are not counted: measure inside them. A panic in `f` passes through.
///
/// # Panics
/// When `TrackingAlloc` is not the global allocator, with the two lines to add: never a silent
/// zero.
pub fn measure<R>(f: impl FnOnce() -> R) -> (R, Delta) {
    probe::assert_installed("measure");
    measure::measured(f)
}

/// The process's figures: since the first call of this function, or since a recording in progress
/// began, whichever was earlier. They go on over the beginning and the end of a recording.
///
/// Frees of blocks that are older than that are counted too, except while a recording is in
/// progress that began before the first call. Exact when no other thread is inside the allocator;
/// else each thread may be one event ahead, and the peak is known to within the recording's bound.
///
/// # Panics
/// When `TrackingAlloc` is not the global allocator, with the two lines to add: never a silent
/// zero.
pub fn stats() -> Stats {
    probe::assert_installed("stats");
    #[cfg(in_memory)]
    if let Some(stats) = wasm::hook::recorded_stats() {
        return stats;
    }
    count::begin();
    #[cfg(recording)]
    if let Some(stats) = hook::recorded_stats() {
        return stats;
    }
    count::PROCESS.figures()
}
