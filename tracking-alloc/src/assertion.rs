//! `assert_allocs!`: a limit on what a block of code allocates.
//!
//! A failing limit must report every figure: the reader of a CI log cannot run the test again
//! there.

#[cfg(not(captures))]
#[path = "assertion/no_sites.rs"]
mod sites;
#[cfg(captures)]
mod sites;

use crate::Stats;
use crate::threads::Threads;
use sites::Capture;

/// Panics if a block of code allocates more than allowed; returns the value of the block.
///
/// The figures are exact. They do not depend on the number of threads that `cargo test` runs,
/// because other threads are not counted. Limits are `u64`:
///
/// | limit | figure |
/// |---|---|
/// | `blocks` | blocks allocated, including reallocs |
/// | `bytes` | bytes allocated; a realloc counts its full new size |
/// | `peak` | most bytes live at once |
/// | `live` | bytes still live at the end of the block |
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
/// With a [`Threads`](crate::Threads) handle as the first argument, the thread of the block and all
/// closures that run in [`Threads::enter`](crate::Threads::enter) in the meantime are counted
/// together. All figures are exact. The peak of threads that run at the same time depends on how
/// they overlap.
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
/// With `process` as the first argument, all threads of the process are counted, as in
/// [`stats`](crate::stats). That includes the threads of other tests, so put such a test into its
/// own program, or run it with `cargo nextest` or `--test-threads=1`. While a recording is paused,
/// new blocks may be missing. There is no `peak` limit, because the process keeps one peak for the
/// whole run.
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
/// # Sites in the message
///
/// With the feature `assert-sites` (Unix), the message names the functions of your program that
/// allocated most, with what they called in other crates and their callers inside the block. Stacks
/// are captured without allocating and symbolized after the block, so the figures stay the same.
/// Each allocation in the block takes about 10 microseconds longer.
///
/// # Panics
/// If the block exceeds a limit, with all figures and the command that records the test; if
/// `TrackingAlloc` is not the global allocator; if a recording takes samples; or if the `Threads`
/// handle counts another block at the same time.
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
        // Evaluated before the block, so that allocations of the limit expressions are not counted.
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

/// The threads whose events [`assert_allocs!`] counts.
#[expect(missing_debug_implementations, reason = "named by a macro alone")]
pub enum Counted<'a> {
    /// This thread.
    Thread,
    /// The threads that entered a handle.
    Threads(&'a Threads),
    /// All threads.
    Process,
}

/// The measurement of a block.
#[expect(missing_debug_implementations, reason = "handed on by a macro alone")]
pub struct Measured {
    /// Its figures.
    pub figures: Stats,
    knows_peak: bool,
    capture: Capture,
}

/// Runs and counts the block of [`assert_allocs!`].
#[track_caller]
pub fn measure<R>(counted: Counted<'_>, block: impl FnOnce() -> R) -> (R, Measured) {
    heapglass_recorder::assert_exact("assert_allocs");
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
            let (value, _) = heapglass_recorder::measured(block);
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

/// Compares the limits of [`assert_allocs!`]. `limited` and `most` have the same length.
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

/// A limit with its figure, and the largest value that it allows.
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

/// Returns the command that records the current test.
fn command(package: Option<&str>) -> String {
    let package = package
        .map(|name| format!(" -p {name}"))
        .unwrap_or_default();
    let thread = std::thread::current();
    // The harness names a thread after its test, unless it runs all tests in one thread.
    match thread.name().filter(|name| *name != "main") {
        Some(test) => format!("cargo heapglass test{package} -- --exact {test}"),
        None => format!("cargo heapglass test{package}"),
    }
}
