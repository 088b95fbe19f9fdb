//! 0.1: the allocation benchmark of the article, on the machine itself. 0.4 counts its pages.

use super::times;
use super::words::{self, LISTS, WORD, WORDS, build_in};
use crate::{Case, Claim, Judged, Variant, Window};
use bumpalo::collections::Vec as BumpaloVec;

/// The case.
pub(super) const CASE: Case = Case {
    id: "0.1",
    system: "allocation benchmark: Vec<Vec<Box<str>>>, 5 strings an iteration (not as Wasm)",
    headline: "Chrome, 1M iterations: global 707 ms, bumpalo 136 ms; 100k: 24.5 / 14.6 (Firefox 218/156, 23/17)",
    variants: &[
        Variant::new("global", |window| global(window, LISTS)),
        Variant::new("bumpalo, pre-sized", |window| {
            bumpalo(window, LISTS, formula)
        }),
        Variant::new("bumpalo", |window| bumpalo(window, LISTS, |_| 0)),
        Variant::new("global, 100k", |window| global(window, LISTS / 10)),
        Variant::new("bumpalo, pre-sized, 100k", |window| {
            bumpalo(window, LISTS / 10, formula)
        }),
        Variant::new("bumpalo, 100k", |window| bumpalo(window, LISTS / 10, |_| 0)),
    ],
    judge: |found| {
        let lists = found.of("global", "records");
        let (blocks, chunks, presized) = (
            found.of("global", "total_blocks"),
            found.of("bumpalo", "total_blocks"),
            found.of("bumpalo, pre-sized", "total_blocks"),
        );
        let holds = blocks == words::global_blocks(lists) && chunks < 32.0 && presized < chunks;
        let why = format!(
            "{blocks:.0} blocks against {presized:.0} chunks of an arena sized by the source's formula, {chunks:.0} of one \
             that grows; the global allocator takes {} as long as the pre-sized one (the source: 5.2 in Chrome, 1.4 in \
             Firefox), with a tenth of the lists {} (1.7, 1.4)",
            times(found.times("global", "bumpalo, pre-sized")),
            times(found.times("global, 100k", "bumpalo, pre-sized, 100k")),
        );
        Judged::facts(holds, why)
            .claim(
                Claim::times(
                    "a million: times as long by the global allocator (Firefox to Chrome)",
                    0.0,
                )
                .between(218.0 / 156.0, 707.0 / 136.0)
                .within(0.1),
                found.times("global", "bumpalo, pre-sized"),
            )
            .because("the source's is Wasm in a browser, this is the machine itself")
            .claim(
                Claim::times("100,000: the same", 0.0)
                    .between(23.0 / 17.0, 24.5 / 14.6)
                    .within(0.1),
                found.times("global, 100k", "bumpalo, pre-sized, 100k"),
            )
            .because(
                "the source's is Wasm in a browser; here glibc keeps the pages of chunks below 32 MiB from one time to the \
                 next, where larger ones are mapped anew",
            )
            .claim(
                Claim::level(
                    "a million: times as long by an arena that grows as by a pre-sized one",
                ),
                found.times("bumpalo", "bumpalo, pre-sized"),
            )
    },
};

fn global(window: &mut Window, lists: usize) {
    let lists = window.scaled(lists);
    window.input(0, lists);
    window.work(|| drop(std::hint::black_box(words::global(lists))));
}

/// Returns the capacity by the source's formula: the texts, their slices, the inner lists and the
/// head of the outer list. It omits the blocks that growing lists leave behind.
fn formula(lists: usize) -> usize {
    let words = lists * WORDS;
    WORD.len() * words
        + size_of::<&str>() * words
        + size_of::<BumpaloVec<'_, &str>>() * lists
        + size_of::<BumpaloVec<'_, BumpaloVec<'_, &str>>>()
}

fn bumpalo(window: &mut Window, lists: usize, capacity: fn(usize) -> usize) {
    let lists = window.scaled(lists);
    window.input(0, lists);
    window.work(|| {
        let bump = bumpalo::Bump::with_capacity(capacity(lists));
        build_in!(BumpaloVec in &bump, lists, &*bump.alloc_str(WORD));
    });
}
