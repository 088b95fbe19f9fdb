//! `assert_allocs!`: a limit on what a block of code allocates.
//!
//! Must say every figure when a limit is broken: whoever reads a log of CI cannot run it again
//! there.

#[cfg(not(captures))]
#[path = "assertion/no_sites.rs"]
mod sites;
#[cfg(captures)]
mod sites;

use crate::figures::Stats;
use crate::probe;
use crate::threads::Threads;
use sites::Capture;

/// Fails when a block allocates more than allowed; its value is that of the block.
///
/// Exact, and the same however many threads `cargo test` runs: other threads are not counted.
/// Limits are `u64`:
///
/// | limit | figure |
/// |---|---|
/// | `blocks` | blocks allocated, reallocs included |
/// | `bytes` | bytes allocated; a realloc counts its new size |
/// | `peak` | most bytes live at once |
/// | `live` | bytes that are still there at the end of the block |
/// | `grows` | reallocs to the same or a larger size |
///
/// ```
/// # #[global_allocator] static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();
/// let squares = tracking_alloc::assert_allocs!(blocks <= 1, bytes <= 400, {
///     (0..100_u32).map(|n| n * n).collect::<Vec<u32>>()
/// });
/// assert_eq!(squares.len(), 100);
/// ```
///
/// # More than one thread
///
/// With a [`Threads`](crate::Threads) handle first, the block's own thread counts together with
/// every closure that runs in [`Threads::enter`](crate::Threads::enter) meanwhile, in whichever
/// thread. All figures are exact; the peak of threads that run at the same time depends on how they
/// overlap.
///
/// ```
/// # #[global_allocator] static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();
/// let threads = tracking_alloc::Threads::new();
/// tracking_alloc::assert_allocs!(threads, peak <= 10_000, {
///     std::thread::scope(|scope| {
///         for _ in 0..4 {
///             scope.spawn(|| threads.enter(|| vec![1; 100]));
///         }
///     });
/// });
/// ```
///
/// With `process` first, all threads of the process count, as in [`stats`](crate::stats): those of
/// other tests too, so such a test runs in a program of its own, or with `cargo nextest`, or with
/// `--test-threads=1`. While a recording is paused, new blocks may not count. There is no limit
/// `peak`: the process keeps one peak for the whole run.
///
/// ```
/// # #[global_allocator] static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();
/// tracking_alloc::assert_allocs!(process, bytes <= 100_000, {
///     std::thread::spawn(|| vec![1; 100]).join().expect("it ends")
/// });
/// ```
///
/// ```compile_fail
/// tracking_alloc::assert_allocs!(process, peak <= 100, {});
/// ```
///
/// # Where it was allocated
///
/// With the feature `assert-sites` (unix) the message names the functions that allocated most, with
/// their callers inside the block. Stacks are captured without allocating and named after the
/// block, so the figures are the same. An allocation in the block takes about 10 microseconds more.
///
/// # Panics
/// When more was allocated, with all figures and the command that records the test; when
/// `TrackingAlloc` is not the global allocator; when a `Threads` handle counts another block at the
/// same time.
#[macro_export]
macro_rules! assert_allocs {
    (@figure process peak $figures:ident) => {
        compile_error!(
            "assert_allocs! knows no peak of the process within a block: the process keeps one for the whole run. Limit \
             the peak of a `Threads` handle that the threads enter"
        )
    };
    (@figure $counted:ident blocks $figures:ident) => { i128::from($figures.total_blocks) };
    (@figure $counted:ident bytes $figures:ident) => { i128::from($figures.total_bytes) };
    (@figure $counted:ident peak $figures:ident) => { i128::from($figures.peak_bytes) };
    (@figure $counted:ident live $figures:ident) => { i128::from($figures.live_bytes) };
    (@figure $counted:ident grows $figures:ident) => { i128::from($figures.grows) };
    (@figure $counted:ident $other:ident $figures:ident) => {
        compile_error!(concat!(
            "assert_allocs! limits blocks, bytes, peak, live and grows, not ",
            stringify!($other)
        ))
    };
    (@assert $counted:ident $what:expr; $($limit:ident <= $most:expr),+ , $body:block) => {{
        // Before the block: what limits allocate is not counted.
        let most: &[u64] = &[$($most),+];
        let (value, measured) = $crate::__private::measure($what, || $body);
        let figures = &measured.figures;
        let limited = [
            $((stringify!($limit), $crate::assert_allocs!(@figure $counted $limit figures))),+
        ];
        $crate::__private::assert_limits(&measured, &limited, most, ::core::option_env!("CARGO_PKG_NAME"));
        value
    }};
    ($($limit:ident <= $most:expr),+ , $body:block $(,)?) => {
        $crate::assert_allocs!(@assert thread $crate::__private::Counted::Thread; $($limit <= $most),+, $body)
    };
    (process, $($limit:ident <= $most:expr),+ , $body:block $(,)?) => {
        $crate::assert_allocs!(@assert process $crate::__private::Counted::Process; $($limit <= $most),+, $body)
    };
    ($threads:expr, $($limit:ident <= $most:expr),+ , $body:block $(,)?) => {
        $crate::assert_allocs!(
            @assert threads $crate::__private::Counted::Threads(&$threads); $($limit <= $most),+, $body
        )
    };
}

/// Whose events [`assert_allocs!`] counts.
#[expect(missing_debug_implementations, reason = "named by a macro alone")]
pub enum Counted<'a> {
    /// Those of this thread.
    Thread,
    /// Those of the threads that entered a handle.
    Threads(&'a Threads),
    /// Those of all threads.
    Process,
}

/// What a block did.
#[expect(missing_debug_implementations, reason = "handed on by a macro alone")]
pub struct Measured {
    /// Its figures.
    pub figures: Stats,
    knows_peak: bool,
    capture: Capture,
}

/// What [`assert_allocs!`] expands to: the block, counted.
#[track_caller]
pub fn measure<R>(counted: Counted<'_>, block: impl FnOnce() -> R) -> (R, Measured) {
    probe::assert_installed("assert_allocs");
    let own;
    let threads = match counted {
        Counted::Thread => {
            own = Threads::new();
            Some(&own)
        }
        Counted::Threads(threads) => Some(threads),
        Counted::Process => None,
    };
    let capture = Capture::begin(threads);
    let (value, figures) = match threads {
        Some(threads) => threads.measure(block),
        None => {
            let before = crate::stats();
            let (value, _) = crate::measure::measured(block);
            (value, crate::stats().since(&before, (0, 0)))
        }
    };
    capture.end();
    let measured = Measured {
        figures,
        knows_peak: threads.is_some(),
        capture,
    };
    (value, measured)
}

/// What [`assert_allocs!`] expands to: the limits, compared. `limited` and `most` are of one
/// length.
#[track_caller]
pub fn assert_limits(
    measured: &Measured,
    limited: &[(&str, i128)],
    most: &[u64],
    package: Option<&str>,
) {
    let limits = limited.iter().zip(most);
    let over: Vec<_> = limits
        .filter(|((_, figure), most)| *figure > i128::from(**most))
        .collect();
    if !over.is_empty() {
        fail(measured, &over, package);
    }
}

/// A limit with its figure, and the most that it may be.
type Violation<'a> = (&'a (&'a str, i128), &'a u64);

#[cold]
#[track_caller]
fn fail(measured: &Measured, over: &[Violation<'_>], package: Option<&str>) -> ! {
    let violations: Vec<String> = over
        .iter()
        .map(|((limit, figure), most)| format!("{limit} {figure}, at most {most}"))
        .collect();
    let by_blocks = over
        .iter()
        .all(|((limit, _), _)| ["blocks", "grows"].contains(limit));
    let figures = &measured.figures;
    let peak = if measured.knows_peak {
        format!("peak {}, ", figures.peak_bytes)
    } else {
        String::new()
    };
    panic!(
        "allocated more than allowed: {}\n  measured: blocks {}, bytes {}, {peak}live {}, grows {}{}\n  to see where: {}",
        violations.join("; "),
        figures.total_blocks,
        figures.total_bytes,
        figures.live_bytes,
        figures.grows,
        measured.capture.describe(figures, by_blocks),
        command(package)
    )
}

/// The command that records the test that runs here.
fn command(package: Option<&str>) -> String {
    let package = package
        .map(|name| format!(" -p {name}"))
        .unwrap_or_default();
    let thread = std::thread::current();
    // The harness names a thread after its test, unless it runs all of them in one.
    match thread.name().filter(|name| *name != "main") {
        Some(test) => format!("cargo heapglass test{package} -- --exact {test}"),
        None => format!("cargo heapglass test{package}"),
    }
}
