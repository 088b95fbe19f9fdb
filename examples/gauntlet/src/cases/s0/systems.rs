//! 0.4 and 0.5: the allocators of Wasm under the same work. They take their memory from [`pages`],
//! which counts it in pages of 64 KiB, as Wasm does.

use super::times;
use super::words::{self, LISTS};
use crate::{Case, Claim, Judged, Variant, Window, pages};

/// 0.4.
pub(super) const DLMALLOC: Case = Case {
    id: "0.4",
    system: "dlmalloc-rs, Wasm's default",
    headline: "the allocator that Wasm has unless one asks for another: 707 ms with a million lists in Chrome (0.1); no figure \
               of its pages",
    variants: &[
        Variant::new("glibc", run).under("glibc"),
        Variant::new("dlmalloc", run).under("dlmalloc"),
    ],
    judge: |found| {
        let blocks = found.of("dlmalloc", "total_blocks");
        let (grows, pages) = (
            found.of("dlmalloc", "times grown"),
            found.of("dlmalloc", "64 KiB pages"),
        );
        let one = found.of("dlmalloc", "times grown by one page");
        let holds = blocks == found.of("glibc", "total_blocks")
            && blocks == words::global_blocks(found.of("glibc", "records"))
            && one / grows > 0.9;
        let why = format!(
            "the same {blocks:.0} blocks; grew {grows:.0} times to {pages:.0} pages of 64 KiB, {:.1} % of the times by \
             one page (as Wasm, whose words are half as wide: 0.23); takes {} as long as glibc",
            one / grows * 100.0,
            times(found.times("dlmalloc", "glibc")),
        );
        Judged::unjudged(
            holds,
            "the source has no figure of its pages, and its times are of Wasm: 0.23",
            why,
        )
    },
};

/// 0.5.
pub(super) const TALC: Case = Case {
    id: "0.5",
    system: "talc",
    headline: "talc in place of dlmalloc brought no benefit in Chrome or Firefox",
    variants: &[
        Variant::new("dlmalloc", run).under("dlmalloc"),
        Variant::new("talc", run).under("talc"),
    ],
    judge: |found| {
        let same = found.of("talc", "total_blocks") == found.of("dlmalloc", "total_blocks")
            && found.of("talc", "total_bytes") == found.of("dlmalloc", "total_bytes");
        let why = format!(
            "the same {:.0} blocks and bytes, in {} the time of dlmalloc; {:.0} pages of 64 KiB against {:.0}",
            found.of("talc", "total_blocks"),
            times(found.times("talc", "dlmalloc")),
            found.of("talc", "64 KiB pages"),
            found.of("dlmalloc", "64 KiB pages"),
        );
        Judged::facts(same, why)
            .claim(
                Claim::more("times as long by talc as by dlmalloc: no benefit").within(0.1),
                found.times("talc", "dlmalloc"),
            )
            .because("the source's is Wasm in a browser, this is the machine itself")
    },
};

fn run(window: &mut Window) {
    let lists = window.scaled(LISTS);
    window.input(0, lists);
    let before = pages::taken();
    window.work(|| drop(std::hint::black_box(words::global(lists))));
    let taken = pages::taken().since(before);
    if taken.times > 0 {
        window.note("times grown", taken.times as f64);
        window.note("times grown by one page", taken.by_one_page as f64);
        window.note("64 KiB pages", taken.pages as f64);
    }
}
