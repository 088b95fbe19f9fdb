//! 0.2 and 0.3: the contents of bumpalo's chunks, the bytes that one drop returns, and the capacity
//! that fits into one chunk.

use super::times;
use super::words::{self, LISTS, WORD, WORDS, build_in};
use crate::{Case, Claim, Judged, Variant, Window};
use allocator_api2_02::vec::Vec as Api2Vec;
use bumpalo::Bump;
use tracking_alloc::arena::{Arena, ArenaStats, Tracked};
use tracking_alloc::{measure, phase};

/// 0.2.
pub(super) const BUMPALO: Case = Case {
    id: "0.2",
    system: "bumpalo: what is in its chunks, and their release in one drop",
    headline: "in Chrome bumpalo is 40 % faster with 100,000 lists (24.5 / 14.6 ms) and 500 % with a million (707 / 136 ms); \
               an arena drops all at once",
    variants: &[
        Variant::new("global", |window| {
            let lists = lists(window);
            window.work(|| {
                let all = {
                    let _phase = phase("build");
                    words::global(lists)
                };
                let _phase = phase("release");
                drop(all);
            });
        }),
        Variant::new("bumpalo", |window| {
            let lists = lists(window);
            window.work(|| {
                let bump = Bump::new();
                {
                    let _phase = phase("build");
                    build_in!(Api2Vec in &bump, lists, &*bump.alloc_str(WORD));
                }
                let _phase = phase("release");
                drop(bump);
            });
        }),
        Variant::new("bumpalo, tracked", tracked),
    ],
    judge: |found| {
        let of = |name| found.of("bumpalo, tracked", name);
        let parts = [
            "used_bytes",
            "padding_bytes",
            "abandoned_bytes",
            "bypassed_bytes",
            "unused_tail_bytes",
        ];
        let share = |name| of(name) / of("allocated_bytes") * 100.0;
        let holds = of("allocated_bytes") == of("bumpalo's allocated_bytes")
            && of("allocated_bytes") == parts.map(of).iter().sum::<f64>()
            && of("chunks") == of("total_blocks")
            && of("chunks") == of("blocks released by one drop")
            && found.of("bumpalo", "total_blocks") == of("total_blocks")
            && found.of("global", "total_blocks")
                == words::global_blocks(found.of("global", "records"));
        let why = format!(
            "{:.0} blocks become {:.0} chunks; of their {:.0} usable bytes {:.1} % are allocated, {:.1} % padding, \
             {:.1} % abandoned by growth, {:.1} % unused tail; global takes {} as long, building and releasing",
            found.of("global", "total_blocks"),
            of("chunks"),
            of("allocated_bytes"),
            share("used_bytes"),
            share("padding_bytes"),
            share("abandoned_bytes"),
            share("unused_tail_bytes"),
            times(found.times("global", "bumpalo")),
        );
        Judged::facts(holds, why)
            .claim(
                Claim::times(
                    "a million: times as long by the global allocator, in Chrome",
                    707.0 / 136.0,
                ),
                found.times("global", "bumpalo"),
            )
            .because(
                "as Wasm in today's browsers it is not more either (0.23): in the source's Chrome, growing linear memory \
                 was slow, as in node 20",
            )
    },
};

/// 0.3.
pub(super) const PRESIZED: Case = Case {
    id: "0.3",
    system: "a pre-sized arena (Bump::with_capacity)",
    headline: "an arena of a size computed from the data should never ask for memory again; here the gain was negligible",
    variants: &[
        Variant::new("grown", |window| presized(window, |_| 0)),
        Variant::new("by the size of the data", |window| {
            presized(window, data_bytes)
        }),
        // The advice of `heapglass report --by arena`: the largest number of bytes in use.
        Variant::new("by what was used", |window| {
            presized(window, |lists| fill(lists, 0).most_occupied_bytes as usize)
        }),
    ],
    judge: |found| {
        let chunks = |variant| found.of(variant, "total_blocks");
        let (by_data, advised) = (
            chunks("by the size of the data"),
            chunks("by what was used"),
        );
        let why = format!(
            "grew {:.0} times; a capacity of the data's own size still takes {by_data:.0} chunks, for what growing lists \
             leave behind counts too; {:.0} bytes, the most that were in use, take {advised:.0}",
            found.of("grown", "chunks") - 1.0,
            found.of("by what was used", "capacity"),
        );
        Judged::facts(advised == 1.0, why)
            .claim(
                Claim::none(
                    "chunks beyond the first that an arena sized by the source's formula takes",
                ),
                by_data - 1.0,
            )
            .because("the formula leaves out what lists leave behind in the arena when they grow")
            .claim(
                Claim::level("times as long by an arena that grows as by a pre-sized one"),
                found.times("grown", "by the size of the data"),
            )
    },
};

fn lists(window: &mut Window) -> usize {
    let lists = window.scaled(LISTS);
    window.input(0, lists);
    lists
}

fn tracked(window: &mut Window) {
    let lists = lists(window);
    let mut seen = None;
    // Called once before: the first call allocates a byte to check that the allocator is observed.
    measure(|| ());
    window.work(|| {
        let bump = Bump::new();
        let stats = {
            let _phase = phase("build");
            let words = Tracked::new("words", &bump);
            build_in!(Api2Vec in &words, lists, &*words.alloc_str(WORD));
            words.stats()
        };
        let own = (
            bump.allocated_bytes(),
            bump.allocated_bytes_including_metadata(),
        );
        let _phase = phase("release");
        let ((), release) = measure(|| drop(bump));
        seen = Some((stats, own, release.freed_blocks));
    });
    if let Some((stats, (own, own_with_metadata), released)) = seen {
        note(window, &stats);
        window.note("bumpalo's allocated_bytes", own as f64);
        window.note(
            "bumpalo's allocated_bytes_including_metadata",
            own_with_metadata as f64,
        );
        window.note("blocks released by one drop", released as f64);
    }
}

/// Returns the bytes of the finished lists by the source's formula: the texts, their slices, the
/// inner lists and the head of the outer list.
fn data_bytes(lists: usize) -> usize {
    let head = size_of::<Api2Vec<&str, &Bump>>();
    lists * (head + WORDS * (size_of::<&str>() + WORD.len())) + head
}

fn presized(window: &mut Window, capacity: fn(usize) -> usize) {
    let lists = lists(window);
    let capacity = capacity(lists);
    let mut stats = None;
    window.work(|| stats = Some(fill(lists, capacity)));
    window.note("capacity", capacity as f64);
    if let Some(stats) = stats {
        note(window, &stats);
    }
}

/// Fills an arena of that capacity and returns its figures.
fn fill(lists: usize, capacity: usize) -> ArenaStats {
    let bump = Bump::with_capacity(capacity);
    let words = Tracked::new("words", &bump);
    build_in!(Api2Vec in &words, lists, &*words.alloc_str(WORD));
    words.stats()
}

/// Notes the figures of an arena, by their own names.
pub(super) fn note(window: &mut Window, stats: &ArenaStats) {
    for (name, value) in [
        ("chunks", stats.chunks),
        ("allocated_bytes", stats.allocated_bytes),
        (
            "allocated_bytes_including_metadata",
            stats.allocated_bytes_including_metadata,
        ),
        ("used_bytes", stats.used_bytes),
        ("padding_bytes", stats.padding_bytes),
        ("abandoned_bytes", stats.abandoned_bytes),
        ("bypassed_bytes", stats.bypassed_bytes),
        ("unused_tail_bytes", stats.unused_tail_bytes),
        ("most_occupied_bytes", stats.most_occupied_bytes),
        ("total_used_blocks", stats.total_used_blocks),
        ("total_used_bytes", stats.total_used_bytes),
    ] {
        window.note(name, value as f64);
    }
}
