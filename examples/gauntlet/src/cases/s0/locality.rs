//! 0.24: cache locality, the second of the three benefits that arenas promise. The same values are
//! read on the heap, on a heap that was used before, and in an arena.

use super::times;
use super::words::{self, LISTS, WORD, WORDS};
use crate::{Case, Claim, Judged, Variant, Window};
use bumpalo::{Bump, collections::Vec as BumpVec};
use heapglass_examples::data::Random;
use std::hint::black_box;

/// The case.
pub(super) const CASE: Case = Case {
    id: "0.24",
    system: "cache locality: the lists of 0.1 read after they were built",
    headline: "arenas promise cache locality, beside fewer calls and an efficient drop (no figure)",
    variants: &[
        Variant::new("heap", |window| {
            let lists = lists(window);
            let all = words::global(lists);
            read(window, || {
                sum(black_box(&all).iter().flatten().map(|word| &**word))
            });
        }),
        Variant::new("heap, used before", |window| {
            let lists = lists(window);
            use_heap(lists);
            let all = words::global(lists);
            read(window, || {
                sum(black_box(&all).iter().flatten().map(|word| &**word))
            });
        }),
        Variant::new("bumpalo", |window| {
            let lists = lists(window);
            let bump = Bump::new();
            let mut all = BumpVec::new_in(&bump);
            for _ in 0..lists {
                let mut list = BumpVec::new_in(&bump);
                for _ in 0..WORDS {
                    list.push(&*bump.alloc_str(WORD));
                }
                all.push(list);
            }
            read(window, || sum(black_box(&all).iter().flatten().copied()));
        }),
    ],
    judge: |found| {
        let all = ["heap", "heap, used before", "bumpalo"];
        let words = found.of("heap", "records") * WORDS as f64;
        let each = words * (WORD.len() + usize::from(WORD.as_bytes()[0])) as f64;
        let holds = all.iter().all(|variant| {
            found.of(variant, "sum") == each && found.of(variant, "total_blocks") == 0.0
        });
        let why = format!(
            "reading {words:.0} words allocates nothing; it takes {} as long on a new heap as in the arena, {} as long on a \
             heap whose free blocks lie in no order",
            times(found.times("heap", "bumpalo")),
            times(found.times("heap, used before", "bumpalo")),
        );
        Judged::facts(holds, why)
            .claim(
                Claim::clearly_more("times as long to read what lies on a new heap as in an arena"),
                found.times("heap", "bumpalo"),
            )
            .claim(
                Claim::clearly_more(
                    "times as long to read what lies on a used heap as in an arena",
                ),
                found.times("heap, used before", "bumpalo"),
            )
    },
};

fn lists(window: &mut Window) -> usize {
    let lists = window.scaled(LISTS);
    window.input(0, lists);
    lists
}

/// Leaves free blocks of the strings' size in random order: the allocator reuses them in that
/// order.
fn use_heap(lists: usize) {
    let mut blocks: Vec<Box<str>> = (0..lists * WORDS).map(|_| Box::from(WORD)).collect();
    let random = &mut Random::new(24);
    for at in (1..blocks.len()).rev() {
        blocks.swap(at, random.below(at + 1));
    }
    drop(blocks);
}

/// Sums the lengths and first letters, which touches each word.
fn sum<'a>(words: impl Iterator<Item = &'a str>) -> usize {
    let letter = |word: &str| word.bytes().next().map_or(0, usize::from);
    words.map(|word| word.len() + letter(word)).sum()
}

fn read(window: &mut Window, mut once: impl FnMut() -> usize) {
    window.note("sum", once() as f64);
    window.work(once);
}
