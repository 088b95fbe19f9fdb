//! 2.2: one wrapper around three allocators, by its type parameter for the inner allocator.

use crate::cases::said::times;
use crate::{Case, Judged, Variant, Window};
use heapglass_examples::data::Random;
use std::collections::BTreeMap;

/// The case.
pub(super) const CASE: Case = Case {
    id: "2.2",
    system: "GlobalAlloc over libc malloc, jemalloc, mimalloc",
    headline: "no figures in its text: one wrapper, generic in its inner allocator",
    variants: &[
        Variant::new("glibc", words).under("glibc"),
        Variant::new("jemalloc", words).under("jemalloc"),
        Variant::new("mimalloc", words).under("mimalloc"),
    ],
    judge: |found| {
        let names = [
            "total_blocks",
            "total_bytes",
            "peak_bytes",
            "live_bytes",
            "grows",
        ];
        let same = |variant| {
            names
                .iter()
                .all(|name| found.of(variant, name) == found.of("glibc", name))
        };
        let holds = same("jemalloc") && same("mimalloc");
        let slack = |variant| {
            100.0 * (found.of(variant, "usable_bytes") / found.of(variant, "peak_bytes") - 1.0)
        };
        let why = format!(
            "one wrapper, three allocators: {} asked for by each; handed out above what was asked for at the peak: glibc \
             {:.1} %, jemalloc {:.1} %, mimalloc {:.1} %; glibc takes {} as long as jemalloc, {} as long as mimalloc",
            if holds {
                "the same blocks and bytes are"
            } else {
                "NOT the same blocks and bytes are"
            },
            slack("glibc"),
            slack("jemalloc"),
            slack("mimalloc"),
            times(found.times("glibc", "jemalloc")),
            times(found.times("glibc", "mimalloc")),
        );
        Judged::facts(holds, why)
    },
};

const WORDS: usize = 100_000;

/// Counts words: allocates blocks of many sizes, some of which grow, are freed, or stay.
fn words(window: &mut Window) {
    let words = window.scaled(WORDS);
    window.input(0, words);
    window.work(|| {
        let random = &mut Random::new(22);
        let mut places = BTreeMap::<String, Vec<usize>>::new();
        for at in 0..words {
            let word = format!("{:x}", random.below(words / 10) * 0x0FED_CBA9);
            places.entry(word).or_default().push(at);
        }
        places
    });
}
