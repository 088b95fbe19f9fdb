//! 2.6: large blocks that are never touched, at most 20 of them live.

use crate::cases::said::times;
use crate::{Case, Judged, Variant, Window};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::time::Instant;

/// The case.
pub(super) const CASE: Case = Case {
    id: "2.6",
    system: "large blocks of 5-25 MB, at most 20 live, 1000 replacements of a random one, ChaCha8 seed 42",
    headline: "no figures in its text",
    variants: &[
        Variant::new("glibc", replace).under("glibc"),
        Variant::new("jemalloc", replace).under("jemalloc"),
        Variant::new("mimalloc", replace).under("mimalloc"),
    ],
    judge: |found| {
        let exact =
            |variant: &str| found.of(variant, "total_blocks") == found.of(variant, "records");
        let untouched =
            |variant: &str| found.of(variant, "rss_bytes") < found.of(variant, "peak_bytes") / 10.0;
        // The source measured a first run; repeated timed runs here already have their pages.
        let first = |variant: &str| found.of(variant, "first_ns");
        let holds = exact("glibc") && exact("jemalloc") && exact("mimalloc") && untouched("glibc");
        let resident = |variant: &str| found.of(variant, "rss_bytes") / 1e6;
        let why = format!(
            "{:.1} MB requested at the peak, resident above the start: glibc {:.1} MB, jemalloc {:.1} MB, mimalloc {:.1} \
             MB. A first run takes mimalloc {} as long as glibc ({:.1} ms), jemalloc {}; once \
             mimalloc has its pages it keeps them, and takes {} as long",
            found.of("glibc", "peak_bytes") / 1e6,
            resident("glibc"),
            resident("jemalloc"),
            resident("mimalloc"),
            times(first("mimalloc") / first("glibc")),
            first("mimalloc") / 1e6,
            times(first("jemalloc") / first("glibc")),
            times(found.times("mimalloc", "glibc")),
        );
        Judged::unjudged(
            holds,
            "the source's chart is a picture, without figures in its text",
            why,
        )
    },
};

const LIVE: usize = 20;
const REPLACEMENTS: usize = 1000;
const LEAST: u64 = 5_000_000;
const MOST: u64 = 25_000_000;

fn replace(window: &mut Window) {
    let replacements = window.scaled(REPLACEMENTS);
    window.input(0, LIVE + replacements);
    let mut first = None;
    window.work(|| {
        let start = Instant::now();
        let random = &mut ChaCha8Rng::seed_from_u64(42);
        let mut below = |most: u64| random.next_u64() % most;
        let size = |random: u64| (LEAST + random) as usize;
        let mut blocks: [Vec<u8>; LIVE] =
            std::array::from_fn(|_| Vec::with_capacity(size(below(MOST - LEAST))));
        for _ in 0..replacements {
            // Frees a random block first, so that at most 20 are live.
            let at = below(LIVE as u64) as usize;
            blocks[at] = Vec::new();
            blocks[at] = Vec::with_capacity(size(below(MOST - LEAST)));
        }
        first.get_or_insert(start.elapsed());
        blocks
    });
    window.note("first_ns", first.unwrap_or_default().as_nanos() as f64);
}
