//! 2.11: the same work repeated: times differ, counts do not.

use super::chunks::{CHUNKS, pass};
use crate::{Case, Found, Judged, Variant, Window};
use std::time::Instant;

/// The case.
pub(super) const CASE: Case = Case {
    id: "2.11",
    system: "measurement noise (mimalloc is not deterministic)",
    headline: "mimalloc is not deterministic: times differ from run to run",
    variants: &[
        Variant::new("glibc", again).under("glibc"),
        Variant::new("jemalloc", again).under("jemalloc"),
        Variant::new("mimalloc", again).under("mimalloc"),
    ],
    judge: |found: &Found<'_>| {
        let all = ["glibc", "jemalloc", "mimalloc"];
        let steady = |variant: &&str| {
            found.of(variant, "blocks_apart") == 0.0
                && found.of(variant, "bytes_apart") == 0.0
                && found.of(variant, "total_blocks") == found.of("glibc", "total_blocks")
        };
        let holds = all.iter().all(steady);
        let spread = |variant: &str| found.of(variant, "times_apart_percent");
        let apart = all.map(|variant| format!("{variant} {:.0} %", spread(variant)));
        let why = format!(
            "{:.0} runs of the same work: blocks and bytes differ by nothing, under any of three allocators; the middle half of \
             the times lies apart by {}. Which allocator's lie furthest apart is another one in each run of this, on a machine \
             that is shared",
            found.of("glibc", "runs"),
            apart.join(", "),
        );
        Judged::unjudged(
            holds,
            "which allocator's times lie furthest apart is another one in each run here",
            why,
        )
    },
};

const RUNS: usize = 200;

fn again(window: &mut Window) {
    let count = window.scaled(CHUNKS);
    window.input(count * 128, count);
    let mut chunks = Vec::with_capacity(count);
    if window.is_counting() {
        let mut runs = Vec::with_capacity(RUNS);
        // The first pass warms caches and tables, and is not reported.
        pass::<128>(&mut chunks, count);
        for _ in 0..RUNS {
            let start = Instant::now();
            let ((), counted) = tracking_alloc::measure(|| pass::<128>(&mut chunks, count));
            runs.push((
                start.elapsed().as_nanos() as u64,
                counted.total_blocks,
                counted.total_bytes,
            ));
        }
        let apart = |of: fn(&(u64, u64, u64)) -> u64| {
            let (least, most) = (runs.iter().map(of).min(), runs.iter().map(of).max());
            (most.unwrap_or(0) - least.unwrap_or(0)) as f64
        };
        let mut times: Vec<u64> = runs.iter().map(|run| run.0).collect();
        times.sort_unstable();
        let nth = |nth: usize| times.get(nth).copied().unwrap_or(1).max(1) as f64;
        window.note("runs", RUNS as f64);
        window.note(
            "times_apart_percent",
            100.0 * (nth(RUNS * 3 / 4) - nth(RUNS / 4)) / nth(RUNS / 2),
        );
        window.note("blocks_apart", apart(|run| run.1));
        window.note("bytes_apart", apart(|run| run.2));
    }
    window.work(|| pass::<128>(&mut chunks, count));
}
