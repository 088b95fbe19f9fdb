//! 0.6 and 0.7: bump-scope compared with bumpalo, and the other arenas.

use super::times;
use super::words::{LISTS, WORD, WORDS, build_in};
use crate::{Case, Claim, Judged, Variant, Window};
use allocator_api2_02::vec::Vec as Api2Vec;
use allocator_api2_04::vec::Vec as Api4Vec;
use bump_scope::BumpVec;
use bumpalo::Bump;
use bumpalo::collections::Vec as BumpaloVec;

type Scope = bump_scope::Bump;

/// 0.6.
pub(super) const BUMP_SCOPE: Case = Case {
    id: "0.6",
    system: "bump-scope beside bumpalo, each by its own Vec and by the same Vec",
    headline: "bump-scope is close to twice as fast as bumpalo with each one's own Vec, and level with it with the same Vec",
    variants: &[
        Variant::new("bumpalo, own Vec", |window| {
            bumpalo(
                window,
                |bump, lists| build_in!(BumpaloVec in bump, lists, &*bump.alloc_str(WORD)),
            );
        }),
        Variant::new("bump-scope, own Vec", |window| {
            scope(
                window,
                |bump, lists| build_in!(BumpVec in bump, lists, bump.alloc_str(WORD)),
            );
        }),
        Variant::new("bumpalo, same Vec", |window| {
            bumpalo(
                window,
                |bump, lists| build_in!(Api2Vec in bump, lists, &*bump.alloc_str(WORD)),
            );
        }),
        Variant::new("bump-scope, same Vec", |window| {
            scope(
                window,
                |bump, lists| build_in!(Api2Vec in bump, lists, bump.alloc_str(WORD)),
            );
        }),
    ],
    judge: |found| {
        let few = |variant: &&str| found.of(variant, "total_blocks") < 32.0;
        let all = [
            "bumpalo, own Vec",
            "bump-scope, own Vec",
            "bumpalo, same Vec",
            "bump-scope, same Vec",
        ];
        let holds = all.iter().all(few);
        let why = format!(
            "{:.0} chunks against {:.0}; by its own Vec bumpalo takes {} as long, by the same Vec {}",
            found.of("bumpalo, own Vec", "total_blocks"),
            found.of("bump-scope, own Vec", "total_blocks"),
            times(found.times("bumpalo, own Vec", "bump-scope, own Vec")),
            times(found.times("bumpalo, same Vec", "bump-scope, same Vec")),
        );
        Judged::facts(holds, why)
            .claim(
                Claim::times("times as long by bumpalo, each with its own Vec", 2.0),
                found.times("bumpalo, own Vec", "bump-scope, own Vec"),
            )
            .because("as Wasm in today's browsers it is not twice as long either (0.23)")
            .claim(
                Claim::level("the same with the same Vec"),
                found.times("bumpalo, same Vec", "bump-scope, same Vec"),
            )
    },
};

/// 0.7.
///
/// An index of one arena is not an index of another: the brand is a lifetime of its own.
/// ```
/// compact_arena::mk_nano_arena!(one);
/// compact_arena::mk_nano_arena!(other);
/// let (at, other_at) = (one.add(1_usize), other.add(2_usize));
/// assert_eq!((one[at], other[other_at]), (1, 2));
/// ```
/// Mixed indexes do not compile:
/// ```compile_fail,E0716
/// compact_arena::mk_nano_arena!(one);
/// compact_arena::mk_nano_arena!(other);
/// let (at, other_at) = (one.add(1_usize), other.add(2_usize));
/// assert_eq!((one[at], other[at]), (1, 2));
/// ```
pub(super) const OTHERS: Case = Case {
    id: "0.7",
    system: "blink-alloc, compact_arena (branded indices), oxc_allocator (feature s0)",
    headline: "other arenas than bumpalo exist; compact_arena's branded indices can't be mixed between arenas",
    variants: &[
        Variant::new("bumpalo", |window| {
            bumpalo(
                window,
                |bump, lists| build_in!(Api2Vec in bump, lists, &*bump.alloc_str(WORD)),
            );
        }),
        Variant::new("blink-alloc", |window| {
            let lists = lists(window);
            window.work(|| {
                let blink = blink_alloc::Blink::new();
                build_in!(Api4Vec in blink.allocator(), lists, &*blink.copy_str(WORD));
            });
        }),
        Variant::new("compact_arena", |window| {
            let lists = lists(window);
            window.work(|| compact(lists));
        }),
        #[cfg(feature = "s0")]
        Variant::new("oxc_allocator", |window| {
            let lists = lists(window);
            window.work(|| oxc(lists));
        }),
    ],
    judge: |found| {
        let chunks = |variant| found.of(variant, "total_blocks");
        // Two lists of known length, each in one block.
        let holds = chunks("bumpalo") < 32.0
            && chunks("blink-alloc") < 64.0
            && chunks("compact_arena") == 2.0;
        let oxc = chunks("oxc_allocator");
        let oxc = match oxc.is_nan() {
            true => "oxc_allocator was not built: it needs Rust 1.95 and --features s0".to_owned(),
            false => format!(
                "oxc_allocator {oxc:.0} and {}",
                times(found.times("oxc_allocator", "bumpalo"))
            ),
        };
        let why = format!(
            "bumpalo {:.0} chunks, blink-alloc {:.0} and {} the time; compact_arena {:.0} and {}, which is other work: \
             arrays of a fixed size in two lists whose lengths are known before, indices of 4 bytes in place of pointers \
             (that an index of another arena does not compile is tested); {oxc}",
            chunks("bumpalo"),
            chunks("blink-alloc"),
            times(found.times("blink-alloc", "bumpalo")),
            chunks("compact_arena"),
            times(found.times("compact_arena", "bumpalo")),
        );
        Judged::unjudged(holds, "the source names them, without figures", why)
    },
};

fn lists(window: &mut Window) -> usize {
    let lists = window.scaled(LISTS);
    window.input(0, lists);
    lists
}

fn bumpalo(window: &mut Window, build: fn(&Bump, usize)) {
    let lists = lists(window);
    let mut held = 0;
    window.work(|| {
        let bump = Bump::new();
        build(&bump, lists);
        held = bump.allocated_bytes();
    });
    window.note("allocated_bytes", held as f64);
}

fn scope(window: &mut Window, build: fn(&Scope, usize)) {
    let lists = lists(window);
    let mut held = (0, 0, 0);
    window.work(|| {
        let bump = Scope::new();
        build(&bump, lists);
        let stats = bump.stats();
        held = (stats.allocated(), stats.capacity(), stats.size());
    });
    window.note("stats().allocated", held.0 as f64);
    window.note("stats().capacity", held.1 as f64);
    window.note("stats().size", held.2 as f64);
}

fn compact(lists: usize) {
    compact_arena::mk_arena!(words, lists * WORDS);
    compact_arena::mk_arena!(all, lists);
    let bytes: [u8; WORD.len()] = std::array::from_fn(|at| WORD.as_bytes()[at]);
    for _ in 0..lists {
        let list: [_; WORDS] = std::array::from_fn(|_| words.add(bytes));
        all.add(list);
    }
    std::hint::black_box((words.as_slice().len(), all.as_slice().len()));
}

#[cfg(feature = "s0")]
fn oxc(lists: usize) {
    use oxc_allocator::Vec as OxcVec;
    let allocator = oxc_allocator::Allocator::new();
    build_in!(OxcVec in &&allocator, lists, allocator.alloc_str(WORD));
}
