//! A global allocator wrapper that records exactly which call sites own the heap.
//!
//! Add one dependency and two lines:
//!
//! ```no_run
//! #[global_allocator]
//! static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();
//! # fn main() {}
//! ```
//!
//! and run the program under `heapglass run -- target/release/app`, or with `HEAPGLASS_OUT=app.hg`
//! in its environment. While nothing records, each allocator call costs one additional load.
//!
//! # Purpose
//!
//! This crate observes and records; it does not analyse. A recording is a file of counters that
//! `heapglass` reads, while the program runs or after it ended or was killed. Recording is exact:
//! every event is counted with its stack.
//!
//! # Guarantees
//!
//! The crate starts no thread, keeps no descriptor open, adds no header to blocks, never allocates
//! through the allocator that it wraps, and never panics in a hook. If recording must stop (a full
//! disk, a limit), the program continues and the recording contains the reason.
//!
//! A recording is finished when the program returns or calls `exit`, when the [`Recorder`] that
//! started it is dropped, or when the library that contains this crate is unloaded. Forked children
//! do not record unless they start their own recording.
//!
//! There are two limits. A thread that is cancelled asynchronously (`PTHREAD_CANCEL_ASYNCHRONOUS`)
//! during an event may leave a lock held; deferred cancellation, the default, is safe. If a signal
//! handler forks during an event of the same thread, the child finishes that event too.
//!
//! # The environment
//!
//! | variable | meaning |
//! |---|---|
//! | `HEAPGLASS_OUT` | record to this path from the first allocation; `%p` is the process ID, `%e` the program, `%t` the start time (seconds) |
//! | `HEAPGLASS_MODE` | `exact` (the default): every event with its stack; `count`: every event, without stacks; `sample`: one block for each 512 KiB allocated on average, which stands for the others |
//! | `HEAPGLASS_SAMPLE_BYTES` | the mean number of bytes from one sample to the next, such as `64KiB` |
//! | `HEAPGLASS_SAMPLE_COUNTS` | `1`: blocks and frees are counted exactly too while samples are taken |
//! | `HEAPGLASS_MAX_BYTES` | maximum size of the recording: bytes, or a size such as `64MiB`; sites that do not fit count as "(table full)". Default 1 GiB |
//! | `HEAPGLASS_OWN` | your own crates, separated by commas; reports read the list from the recording. `cargo heapglass` sets it |
//! | `HEAPGLASS_PAUSED` | `1`: the recording begins paused, until [`Recorder::resume`] or `heapglass resume` |
//! | `HEAPGLASS_TOGGLE_SIGNAL` | a signal that pauses the recording and resumes it: `USR1`, `USR2`, `HUP`, `ALRM`, `VTALRM`, `PROF` or `WINCH` |
//! | `HEAPGLASS_ALLOCATOR` | the allocator of [`Chosen`]: `glibc`, `jemalloc` or `mimalloc` |
//! | `HEAPGLASS_PREALLOC` | `1` reserves 64 MiB at the start and makes no file calls later (for sandboxes and setuid); resident set and thread names are then not read |
//!
//! Programs with raised privileges (`AT_SECURE`) ignore these variables. If something is at the
//! path already, it stays, and the new recording gets a suffix: `NAME-PID.hg`.
//!
//! # Stacks
//!
//! The recorder walks stacks by frame pointers if the program is built with them (`-C
//! force-frame-pointers=yes`, which `cargo heapglass` adds). Otherwise it uses the rules of
//! `.eh_frame`. Decoding JSON then costs 18 ns per event instead of 12; the guide's
//! page on cost has the figures of other work. If neither is available, it records no stacks. The
//! recording names the unwinder.
//!
//! # In tests
//!
//! [`measure`] counts the allocations of a closure in its own thread, exactly and without a
//! recording:
//!
//! ```
//! # #[global_allocator] static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();
//! let (numbers, delta) = tracking_alloc::measure(|| Vec::<u32>::with_capacity(100));
//! assert_eq!((delta.total_blocks, delta.live_bytes), (1, 400));
//! # drop(numbers);
//! ```
//!
//! [`assert_allocs!`] fails if a block of code allocates more than allowed, and reports all
//! figures: those of its thread, of several [`Threads`], or of the process.
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `assert-sites` | a failing [`assert_allocs!`] names the functions that allocated most |
//! | `serde` | `Profiled` records a deserialization by field and type; `Budget` fails one that allocates too much; `footprint` measures what a live value retains |
//! | `deepsize` | `footprint_estimate` records the estimate of the crate deepsize for a value |
//! | `bumpalo`, `bump-scope` | [`arena::Tracked`] for their arenas; includes `serde` |
//! | `derive` | `#[derive(ArenaDeserialize)]` deserializes into one of these arenas or your own |
//! | `pprof` | [`pprof()`](fn@pprof) returns a live profile of this process, for its own router |
//! | `flamegraph` | [`pprof::flamegraph`] returns the same as an SVG; contains inferno (CDDL-1.0) |
//! | `tower` | [`PhaseLayer`] makes a phase of each route |
//! | `tracing` | [`SpanPhases`] makes a phase of each span |
//! | `allocator-api2` | `Tracked` as an allocator of collections |
//! | `jemalloc`, `mimalloc` | [`Chosen`] can be this allocator |
//!
//! # Platforms
//!
//! Recording works on Linux with glibc or musl, on x86-64 and aarch64. A WebAssembly module
//! (`wasm32` without threads) records in memory, without stacks; the module `wasm` returns the
//! bytes. On other platforms the crate builds, [`measure`] and [`stats`] work, and phases and marks
//! do nothing. There, [`Recorder`] and [`snapshot`] return an error that says so
//! ([`Error::is_unsupported`], [`NoSnapshot::Unsupported`]), and `footprint` returns `None`, so a
//! program that records on a server compiles everywhere.

#![warn(clippy::match_bool)]

/// The README's code compiles.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;

mod alloc;
mod assertion;
mod chosen;
mod phase;
mod preloaded;
mod recorder;
#[cfg(feature = "tower")]
mod route;
#[cfg(feature = "tracing")]
mod spans;
mod threads;

pub use alloc::TrackingAlloc;
pub use chosen::Chosen;
#[cfg(feature = "pprof")]
pub use heapglass_pprof::{self as pprof, pprof};
pub use heapglass_recorder::{Delta, Error, NoSnapshot, Stats};
pub use phase::{Phase, PhaseEntered, PhaseFuture, PhaseHandle, phase, phase_async};
pub use recorder::{Recorder, RecorderOptions, mark, snapshot};
#[cfg(feature = "tower")]
pub use route::{PhaseLayer, PhaseService};
#[cfg(feature = "tracing")]
pub use spans::SpanPhases;
pub use threads::Threads;
pub use tracking_alloc_arena as arena;
#[cfg(feature = "derive")]
pub use tracking_alloc_arena::{ArenaDeserialize, ArenaSeed};
#[cfg(any(feature = "serde", feature = "deepsize"))]
pub use tracking_alloc_serde::Footprint;
#[cfg(feature = "serde")]
pub use tracking_alloc_serde::footprint;
#[cfg(feature = "deepsize")]
pub use tracking_alloc_serde::footprint_estimate;
#[cfg(feature = "serde")]
pub use tracking_alloc_serde::{Budget, Profiled, ProfiledSeed};

#[cfg(in_memory)]
pub mod wasm;

/// The items that `assert_allocs!` expands to, and the dependency line that `heapglass` prints. Do
/// not use them directly: they change without notice.
#[doc(hidden)]
pub mod __private {
    pub use crate::assertion::{Counted, Measured, assert_limits, measure};
    pub use heapglass_recorder::DEPENDENCY;
}

/// Runs `f` and counts the allocations and frees of this thread in it. The figures are exact, with
/// or without a recording. Calls nest.
///
/// Other threads are not counted; call `measure` inside them. A panic in `f` passes through.
///
/// # Panics
/// When `TrackingAlloc` is not the global allocator, with the two lines to add: never a silent
/// zero. And while a recording takes samples (`HEAPGLASS_MODE=sample`): see `heapglass set`, which
/// is refused once a program has measured.
pub fn measure<R>(f: impl FnOnce() -> R) -> (R, Delta) {
    heapglass_recorder::assert_exact("measure");
    heapglass_recorder::measured(f)
}

/// Returns the figures of the process since the first call of this function or since the current
/// recording began, whichever was earlier. Counting continues when a recording begins or ends.
///
/// Frees of older blocks are counted too, unless the current recording began before the first call.
/// The figures are exact if no other thread is inside the allocator. Otherwise each thread may be
/// one event ahead, and the peak is known within the recording's error bound.
///
/// While a recording takes samples, `total_bytes` is exact, and all other figures are estimates.
///
/// # Panics
/// When `TrackingAlloc` is not the global allocator, with the two lines to add: never a silent
/// zero.
pub fn stats() -> Stats {
    heapglass_recorder::assert_observing("stats");
    heapglass_recorder::stats()
}
