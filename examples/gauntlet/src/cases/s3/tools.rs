//! 3.2: other tools count the same work in the same process. Totals, blocks and peak must agree
//! with ours.

use crate::allocator::STATS;
use crate::data::airlines::{LINES, text};
use crate::{Case, Judged, Variant, Window};
use deepsize::{Context, DeepSizeOf};
use serde::Deserialize;
use tikv_jemalloc_ctl::thread;

/// The case.
pub(super) const CASE: Case = Case {
    id: "3.2",
    system: "heaptrack, dhat, stats_alloc, jemalloc-ctl, deepsize",
    headline: "tools: they are our oracles, totals, blocks and peak must agree",
    variants: &[
        Variant::new("dhat", dhat).under("dhat"),
        Variant::new("stats_alloc", stats_alloc).under("stats_alloc"),
        Variant::new("jemalloc-ctl", jemalloc).under("jemalloc"),
        Variant::new("deepsize", deepsize),
    ],
    judge: |found| {
        let same = |variant: &str, ours: &str, theirs: &str| {
            found.of(variant, ours) == found.of(variant, theirs)
        };
        let holds = same("dhat", "total_bytes", "dhat_total_bytes")
            && same("dhat", "total_blocks", "dhat_total_blocks")
            && same("dhat", "live_bytes", "dhat_live_bytes")
            && same("dhat", "peak_bytes", "dhat_peak_bytes")
            && same("dhat", "peak_blocks", "dhat_peak_blocks")
            && same("stats_alloc", "total_blocks", "stats_alloc_blocks")
            && same("stats_alloc", "total_bytes", "stats_alloc_bytes")
            && same("deepsize", "live_bytes", "deepsize_bytes")
            && found.of("jemalloc-ctl", "jemalloc_bytes")
                >= found.of("jemalloc-ctl", "total_bytes");
        let why = format!(
            "ours and dhat-rs: {:.0} blocks, {:.0} B, peak {:.0} B, {}; stats_alloc {:.0} blocks, {:.0} B; deepsize {:.0} \
             B of {:.0} retained; jemalloc hands out {:.1} % more than was asked for, which is what its own counter says. \
             heaptrack and valgrind's DHAT count whole processes, from outside: 3.14",
            found.of("dhat", "total_blocks"),
            found.of("dhat", "total_bytes"),
            found.of("dhat", "peak_bytes"),
            if holds {
                "equal to the byte"
            } else {
                "or something differs"
            },
            found.of("stats_alloc", "stats_alloc_blocks"),
            found.of("stats_alloc", "stats_alloc_bytes"),
            found.of("deepsize", "deepsize_bytes"),
            found.of("deepsize", "live_bytes"),
            100.0
                * (found.of("jemalloc-ctl", "jemalloc_bytes")
                    / found.of("jemalloc-ctl", "total_bytes")
                    - 1.0),
        );
        Judged::facts(holds, why)
    },
};

/// The kept part of a line: the strings of two of its objects.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Kept {
    airport: Airport,
    time: Time,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Airport {
    code: String,
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Time {
    label: String,
}

impl DeepSizeOf for Kept {
    fn deep_size_of_children(&self, context: &mut Context) -> usize {
        [&self.airport.code, &self.airport.name, &self.time.label]
            .into_iter()
            .map(|string| string.deep_size_of_children(context))
            .sum()
    }
}

/// Does the work: reads and keeps all lines. Nothing grows, so all tools must give the same result.
fn read(text: &str, lines: usize) -> Vec<Kept> {
    let mut all = Vec::with_capacity(lines);
    all.extend(
        text.lines()
            .map_while(|line| serde_json::from_str::<Kept>(line).ok()),
    );
    all
}

/// Lets the other tool count the work first, only in a counted run, and then works in the window.
fn beside(window: &mut Window, count: impl FnOnce(&mut Window, &dyn Fn() -> Vec<Kept>)) {
    let lines = window.scaled(LINES);
    let text = text(lines);
    window.input(text.len(), lines);
    let work = || read(&text, lines);
    if window.is_counting() {
        count(window, &work);
    }
    window.work(work);
}

fn dhat(window: &mut Window) {
    beside(window, |window, work| {
        let profiler = dhat::Profiler::builder().testing().build();
        let kept = work();
        let stats = dhat::HeapStats::get();
        drop(profiler);
        drop(kept);
        window.note("dhat_total_bytes", stats.total_bytes as f64);
        window.note("dhat_total_blocks", stats.total_blocks as f64);
        window.note("dhat_live_bytes", stats.curr_bytes as f64);
        window.note("dhat_peak_bytes", stats.max_bytes as f64);
        window.note("dhat_peak_blocks", stats.max_blocks as f64);
    });
}

fn stats_alloc(window: &mut Window) {
    beside(window, |window, work| {
        let region = ::stats_alloc::Region::new(&STATS);
        let kept = work();
        let stats = region.change();
        drop(kept);
        window.note("stats_alloc_bytes", stats.bytes_allocated as f64);
        window.note("stats_alloc_blocks", stats.allocations as f64);
    });
}

fn jemalloc(window: &mut Window) {
    beside(window, |window, work| {
        // The thread's own counter of bytes handed out; it counts size classes instead of requested
        // sizes.
        let Ok(counter) = thread::allocatedp::read() else {
            return;
        };
        let before = counter.get();
        let kept = work();
        let handed_out = counter.get() - before;
        drop(kept);
        window.note("jemalloc_bytes", handed_out as f64);
    });
}

fn deepsize(window: &mut Window) {
    beside(window, |window, work| {
        let kept = work();
        // The vector's own three words are not on the heap.
        let estimate = kept.deep_size_of() - size_of_val(&kept);
        window.note("deepsize_bytes", estimate as f64);
    });
}
