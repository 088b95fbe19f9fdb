//! 0.24: cache locality, the second of the three benefits that arenas promise. The same values are
//! read on the heap, on a heap that was used before, between blocks that stay live, and in an
//! arena; in order and at random.

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
                black_box(&all).iter().map(|list| of_heap(list)).sum()
            });
        }),
        Variant::new("heap, used before", |window| {
            let lists = lists(window);
            drop(shuffled(lists));
            let all = words::global(lists);
            read(window, || {
                black_box(&all).iter().map(|list| of_heap(list)).sum()
            });
        }),
        Variant::new("heap, between live blocks", |window| {
            let lists = lists(window);
            // Half of the blocks stay, so that the allocator cannot merge the others.
            let mut kept = shuffled(2 * lists);
            kept.truncate(lists * WORDS);
            let all = words::global(lists);
            read(window, || {
                black_box(&all).iter().map(|list| of_heap(list)).sum()
            });
            drop(kept);
        }),
        Variant::new("bumpalo", |window| {
            let lists = lists(window);
            let bump = Bump::new();
            let all = in_arena(lists, &bump);
            read(window, || black_box(&all).iter().map(of_arena).sum());
        }),
        Variant::new("heap, at random", |window| {
            let lists = lists(window);
            let all = words::global(lists);
            let order = order(lists);
            read(window, || {
                order.iter().map(|&at| of_heap(&black_box(&all)[at])).sum()
            });
        }),
        Variant::new("bumpalo, at random", |window| {
            let lists = lists(window);
            let bump = Bump::new();
            let all = in_arena(lists, &bump);
            let order = order(lists);
            read(window, || {
                order.iter().map(|&at| of_arena(&black_box(&all)[at])).sum()
            });
        }),
    ],
    judge: |found| {
        let all = [
            "heap",
            "heap, used before",
            "heap, between live blocks",
            "bumpalo",
            "heap, at random",
            "bumpalo, at random",
        ];
        let words = found.of("heap", "records") * WORDS as f64;
        let each = words * (WORD.len() + usize::from(WORD.as_bytes()[0])) as f64;
        let holds = all.iter().all(|variant| {
            found.of(variant, "sum") == each && found.of(variant, "total_blocks") == 0.0
        });
        let a_word = |variant: &str| found.of(variant, "time_ns") / words;
        let why = format!(
            "reading {words:.0} words allocates nothing; it takes {} as long on a new heap as in the arena, {} as long on a \
             heap that was used before, and {} as long between blocks that stay live ({:.1} ns a word, in the arena {:.1}). \
             Of lists that are visited at random, the heap takes {} as long as the arena",
            times(found.times("heap", "bumpalo")),
            times(found.times("heap, used before", "bumpalo")),
            times(found.times("heap, between live blocks", "bumpalo")),
            a_word("heap, between live blocks"),
            a_word("bumpalo"),
            times(found.times("heap, at random", "bumpalo, at random")),
        );
        Judged::facts(holds, why)
            .claim(
                Claim::clearly_more("times as long to read what lies on a new heap as in an arena"),
                found.times("heap", "bumpalo"),
            )
            .because("a new heap hands out one block after the other, as an arena does")
            .claim(
                Claim::clearly_more(
                    "times as long to read what lies on a used heap as in an arena",
                ),
                found.times("heap, used before", "bumpalo"),
            )
            .because(
                "where nothing else is live, glibc merges and sorts its free blocks at the next large request",
            )
            .claim(
                Claim::clearly_more(
                    "times as long to read what lies between live blocks as in an arena",
                ),
                found.times("heap, between live blocks", "bumpalo"),
            )
            .claim(
                Claim::clearly_more(
                    "times as long to visit lists at random on a new heap as in an arena",
                ),
                found.times("heap, at random", "bumpalo, at random"),
            )
            .because("each visit misses the caches, and the words of a list lie side by side on both")
    },
};

fn lists(window: &mut Window) -> usize {
    let lists = window.scaled(LISTS);
    window.input(0, lists);
    lists
}

/// Returns blocks of the strings' size in random order. If they are dropped, the allocator gets
/// them back in that order.
fn shuffled(lists: usize) -> Vec<Box<str>> {
    let mut blocks: Vec<Box<str>> = (0..lists * WORDS).map(|_| Box::from(WORD)).collect();
    shuffle(&mut blocks);
    blocks
}

fn shuffle<T>(all: &mut [T]) {
    Random::new(24).shuffle(all);
}

/// Returns the numbers of the lists in random order.
fn order(lists: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..lists).collect();
    shuffle(&mut order);
    order
}

type ArenaList<'bump> = BumpVec<'bump, &'bump str>;

fn in_arena(lists: usize, bump: &Bump) -> BumpVec<'_, ArenaList<'_>> {
    let mut all = BumpVec::new_in(bump);
    for _ in 0..lists {
        let mut list = BumpVec::new_in(bump);
        for _ in 0..WORDS {
            list.push(&*bump.alloc_str(WORD));
        }
        all.push(list);
    }
    all
}

/// Sums the lengths and first letters of a list, which touches each word.
fn of_words<'a>(words: impl Iterator<Item = &'a str>) -> usize {
    let letter = |word: &str| word.bytes().next().map_or(0, usize::from);
    words.map(|word| word.len() + letter(word)).sum()
}

fn of_heap(list: &[Box<str>]) -> usize {
    of_words(list.iter().map(|word| &**word))
}

fn of_arena(list: &ArenaList<'_>) -> usize {
    of_words(list.iter().copied())
}

fn read(window: &mut Window, mut once: impl FnMut() -> usize) {
    window.note("sum", once() as f64);
    window.work(once);
}
