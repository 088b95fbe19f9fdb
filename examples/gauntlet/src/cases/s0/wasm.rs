//! 0.1: the allocation benchmark of the article, here on the machine itself; its pages are counted in 0.4.

use super::times;
use super::words::{self, LISTS, WORD, build_in};
use crate::{Case, Claim, Judged, Variant, Window};
use bumpalo::collections::Vec as BumpaloVec;

/// The case.
pub(super) const CASE: Case = Case {
    id: "0.1",
    system: "allocation benchmark: Vec<Vec<Box<str>>>, 5 strings an iteration (not as Wasm)",
    headline: "Chrome, 1M iterations: global 707 ms, bumpalo 136 ms; 100k: 24.5 / 14.6 (Firefox 218/156, 23/17)",
    variants: &[
        Variant::new("global", |window| global(window, LISTS)),
        Variant::new("bumpalo", |window| bumpalo(window, LISTS)),
        Variant::new("global, 100k", |window| global(window, LISTS / 10)),
        Variant::new("bumpalo, 100k", |window| bumpalo(window, LISTS / 10)),
    ],
    judge: |found| {
        let lists = found.of("global", "records");
        let (blocks, chunks) = (
            found.of("global", "total_blocks"),
            found.of("bumpalo", "total_blocks"),
        );
        let holds = blocks == words::global_blocks(lists) && chunks < 32.0;
        let why = format!(
            "{blocks:.0} blocks against {chunks:.0} chunks; the global allocator takes {} as long (the source: 5.2 in \
             Chrome, 1.4 in Firefox), with a tenth of the lists {} (1.7, 1.4)",
            times(found.times("global", "bumpalo")),
            times(found.times("global, 100k", "bumpalo, 100k")),
        );
        Judged::facts(holds, why)
            .claim(
                Claim::times(
                    "a million: times as long by the global allocator (Firefox to Chrome)",
                    0.0,
                )
                .between(218.0 / 156.0, 707.0 / 136.0)
                .within(0.1),
                found.times("global", "bumpalo"),
            )
            .because("the source's is Wasm in a browser, this is the machine itself")
            .claim(
                Claim::times("100,000: the same", 0.0)
                    .between(23.0 / 17.0, 24.5 / 14.6)
                    .within(0.1),
                found.times("global, 100k", "bumpalo, 100k"),
            )
            .because("the source's is Wasm in a browser, this is the machine itself")
    },
};

fn global(window: &mut Window, lists: usize) {
    let lists = window.scaled(lists);
    window.input(0, lists);
    window.work(|| drop(std::hint::black_box(words::global(lists))));
}

fn bumpalo(window: &mut Window, lists: usize) {
    let lists = window.scaled(lists);
    window.input(0, lists);
    window.work(|| {
        let bump = bumpalo::Bump::new();
        build_in!(BumpaloVec in &bump, lists, &*bump.alloc_str(WORD));
    });
}
