//! 2.5: the same chunks on many threads that share one allocator.

use super::chunks::{CHUNKS, pass};
use crate::cases::said::times;
use crate::{Case, Found, Judged, Variant, Window};
use std::sync::{Arc, Barrier};
use std::time::Instant;

/// The case.
pub(super) const CASE: Case = Case {
    id: "2.5",
    system: "the same, 128 B, on 4, 8, 16 threads",
    headline: "shared allocator: its charts are pictures",
    variants: &[
        Variant::new("glibc, 4 threads", churn::<4>).under("glibc"),
        Variant::new("jemalloc, 4 threads", churn::<4>).under("jemalloc"),
        Variant::new("mimalloc, 4 threads", churn::<4>).under("mimalloc"),
        Variant::new("glibc, 8 threads", churn::<8>).under("glibc"),
        Variant::new("jemalloc, 8 threads", churn::<8>).under("jemalloc"),
        Variant::new("mimalloc, 8 threads", churn::<8>).under("mimalloc"),
        Variant::new("glibc, 16 threads", churn::<16>).under("glibc"),
        Variant::new("jemalloc, 16 threads", churn::<16>).under("jemalloc"),
        Variant::new("mimalloc, 16 threads", churn::<16>).under("mimalloc"),
    ],
    judge,
};

fn judge(found: &Found<'_>) -> Judged {
    let exact = |threads: u32| {
        ["glibc", "jemalloc", "mimalloc"].iter().all(|allocator| {
            let variant = format!("{allocator}, {threads} threads");
            found.of(&variant, "total_blocks") == found.of(&variant, "records")
                && found.of(&variant, "total_bytes") == 128.0 * found.of(&variant, "records")
        })
    };
    let holds = [4, 8, 16].into_iter().all(exact);
    let against = |threads: u32| {
        let ratio = |other: &str| {
            found.times(
                &format!("glibc, {threads} threads"),
                &format!("{other}, {threads} threads"),
            )
        };
        format!(
            "{} that of jemalloc and {} that of mimalloc",
            times(ratio("jemalloc")),
            times(ratio("mimalloc"))
        )
    };
    let recorded = |threads: u32| {
        let variant = format!("glibc, {threads} threads");
        times(found.of(&variant, "recorded_ns") / found.of(&variant, "time_ns"))
    };
    let why = format!(
        "every block of every thread is counted, {} on 16 threads (`heapglass report --by thread` has a row of each); \
         glibc's time is {} on 4 threads, {} on 16. Recorded it takes {} as long on 4 threads, {} on 8, {} on 16: if the \
         recorder's threads waited for each other, that would rise with them",
        found.of("glibc, 16 threads", "total_blocks"),
        against(4),
        against(16),
        recorded(4),
        recorded(8),
        recorded(16),
    );
    Judged::unjudged(
        holds,
        "the source's charts are pictures, without figures in its text",
        why,
    )
}

/// Number of times that the work runs to measure the cost of recording.
const RUNS: usize = 51;

/// The threads start before the window, because a start allocates blocks other than the chunks.
fn churn<const THREADS: usize>(window: &mut Window) {
    let count = window.scaled(CHUNKS);
    window.input(THREADS * count * 128, THREADS * count);
    let turn = Arc::new(Barrier::new(THREADS + 1));
    for number in 0..THREADS {
        let turn = Arc::clone(&turn);
        let mut chunks = Vec::with_capacity(count);
        let thread = std::thread::Builder::new()
            .name(format!("chunks {number}"))
            .spawn(move || {
                // The threads wait for a turn that does not come after the work, and end with the
                // process.
                loop {
                    turn.wait();
                    pass::<128>(&mut chunks, count);
                    turn.wait();
                }
            });
        thread.expect("a thread starts");
    }
    let work = || {
        turn.wait();
        turn.wait();
    };
    if window.is_counting() {
        // Measures the cost of recording before the window, because the first touches of the
        // recording's pages would distort a single time.
        let mut runs = [0; RUNS];
        for run in &mut runs {
            let start = Instant::now();
            work();
            *run = start.elapsed().as_nanos() as u64;
        }
        runs.sort_unstable();
        window.note("recorded_ns", runs[RUNS / 2] as f64);
    }
    window.work(work);
}
