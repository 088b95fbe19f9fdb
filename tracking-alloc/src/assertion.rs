//! `assert_allocs!`: a limit on what a block of code allocates in its thread.
//!
//! Must say every figure when a limit is broken: whoever reads a log of CI cannot run it again there.

use crate::figures::Figures;

/// Fails when a block allocates more than allowed in its thread; its value is that of the block.
///
/// Exact, and the same however many threads `cargo test` runs: other threads are not counted. Limits are `u64`:
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
/// # Panics
/// When more was allocated, with all figures and the command that records the test; when `TrackingAlloc` is not the
/// global allocator.
#[macro_export]
macro_rules! assert_allocs {
    (@figure blocks $figures:ident) => { i128::from($figures.total_blocks) };
    (@figure bytes $figures:ident) => { i128::from($figures.total_bytes) };
    (@figure peak $figures:ident) => { i128::from($figures.peak_bytes) };
    (@figure live $figures:ident) => { i128::from($figures.live_bytes) };
    (@figure grows $figures:ident) => { i128::from($figures.grows) };
    (@figure $other:ident $figures:ident) => {
        compile_error!(concat!(
            "assert_allocs! limits blocks, bytes, peak, live and grows, not ",
            stringify!($other)
        ))
    };
    ($($limit:ident <= $most:expr),+ , $body:block $(,)?) => {{
        // Before the block: what limits allocate is not counted.
        let most: &[u64] = &[$($most),+];
        let (value, figures) = $crate::measure(|| $body);
        let measured = [$((stringify!($limit), $crate::assert_allocs!(@figure $limit figures))),+];
        $crate::__assert_limits(&measured, most, &figures, ::core::option_env!("CARGO_PKG_NAME"));
        value
    }};
}

/// What [`assert_allocs!`] expands to.
#[doc(hidden)]
#[track_caller]
pub fn __assert_limits(
    measured: &[(&str, i128)],
    most: &[u64],
    figures: &Figures,
    package: Option<&str>,
) {
    let mut limits = measured.iter().zip(most);
    if limits.all(|((_, measured), most)| *measured <= i128::from(*most)) {
        return;
    }
    fail(measured, most, figures, package);
}

#[cold]
#[track_caller]
fn fail(measured: &[(&str, i128)], most: &[u64], figures: &Figures, package: Option<&str>) -> ! {
    let limits = measured.iter().zip(most);
    let over: Vec<String> = limits
        .filter(|((_, measured), most)| *measured > i128::from(**most))
        .map(|((limit, measured), most)| format!("{limit} {measured}, at most {most}"))
        .collect();
    let Figures {
        total_blocks,
        total_bytes,
        peak_bytes,
        live_bytes,
        grows,
        ..
    } = figures;
    panic!(
        "allocated more than allowed: {}\n  measured: blocks {total_blocks}, bytes {total_bytes}, peak {peak_bytes}, \
         live {live_bytes}, grows {grows}\n  to see where: {}",
        over.join("; "),
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
