//! 1.7 and 1.8: strings as `Vec<String>`, `Vec<&str>` and `VarZeroVec<str>`: read, counted and
//! searched.

use super::access::{OTHERS, ends_same, search};
use super::data::{SEED, strings};
use super::{Ratio, blocks_are, each, encoded, judged, read, repeat};
use crate::{Case, Variant, Window};
use std::hint::black_box;
use zerovec::{VarZeroSlice, VarZeroVec};

/// The case: a hundred strings read, and their code points counted.
pub(super) const READ: Case = Case {
    id: "1.7",
    system: "deserialize 100 strings and count their code points: VarZeroVec<str> against Vec<String> and Vec<&str>",
    headline: "deserializing 100 strings takes 11.274 us as Vec<String>, 2.2486 as Vec<&str> and 1.9446 as VarZeroVec; counting \
               their code points 728.99 ns in a Vec and 1,265 in a VarZeroVec",
    variants: &[
        Variant::new("vec of String", |window| {
            let bytes = encoded(hundred(window));
            repeat(window, bytes.len(), || read::<Vec<String>>(&bytes));
        }),
        Variant::new("vec of &str", |window| {
            let bytes = encoded(hundred(window));
            repeat(window, bytes.len(), || read::<Vec<&str>>(&bytes));
        }),
        Variant::new("varzerovec", |window| {
            let bytes = encoded(VarZeroVec::<str>::from(&hundred(window)));
            repeat(window, bytes.len(), || read::<VarZeroVec<'_, str>>(&bytes));
        }),
        Variant::new("count in vec", |window| {
            let strings = hundred(window);
            let once = || {
                black_box(&strings)
                    .iter()
                    .map(|string| string.chars().count())
                    .sum::<usize>()
            };
            window.note("code_points", once() as f64);
            repeat(window, 0, once);
        }),
        Variant::new("count in varzerovec", |window| {
            let strings = VarZeroVec::<str>::from(&hundred(window));
            let strings: &VarZeroSlice<str> = &strings;
            let once = || {
                black_box(strings)
                    .iter()
                    .map(|string| string.chars().count())
                    .sum::<usize>()
            };
            window.note("code_points", once() as f64);
            repeat(window, 0, once);
        }),
    ],
    judge: |found| {
        let bytes = found.of("vec of String", "string_bytes");
        let counts = blocks_are(
            found,
            &[
                ("vec of String", 101.0),
                ("vec of &str", 1.0),
                ("varzerovec", 0.0),
                ("count in vec", 0.0),
                ("count in varzerovec", 0.0),
            ],
        ) && each(found, "vec of String", "total_bytes") == 2_400.0 + bytes
            && each(found, "vec of &str", "total_bytes") == 1_600.0
            && found.of("count in vec", "code_points")
                == found.of("count in varzerovec", "code_points");
        let said = format!(
            "{} / {} / {} blocks, {} / {} / {} B for {bytes} B of text; counting allocates nothing and is the price on access",
            each(found, "vec of String", "total_blocks"),
            each(found, "vec of &str", "total_blocks"),
            each(found, "varzerovec", "total_blocks"),
            each(found, "vec of String", "total_bytes"),
            each(found, "vec of &str", "total_bytes"),
            each(found, "varzerovec", "total_bytes"),
        );
        judged(
            found,
            counts,
            &said,
            &[
                Ratio {
                    first: "vec of String",
                    second: "varzerovec",
                    theirs_ns: (11_274.0, 1_944.6),
                    why: "checking UTF-8 and positions takes about as long as 101 blocks",
                },
                Ratio {
                    first: "vec of &str",
                    second: "varzerovec",
                    theirs_ns: (2_248.6, 1_944.6),
                    why: "both check all the text, one block more or less is little beside that",
                },
                Ratio {
                    first: "count in varzerovec",
                    second: "count in vec",
                    theirs_ns: (1_265.0, 728.99),
                    why: "looking positions up is little beside counting",
                },
            ],
        )
    },
};

/// The case: one and ten strings are searched among 500, the same ones each time as in the source,
/// and different ones. The source's strings are not in order; ours are.
pub(super) const SEARCH: Case = Case {
    id: "1.8",
    system: "binary search of 1 and 10 in 500 strings: VarZeroVec<str> against Vec<String>",
    headline: "searching 1 and 10 of 500 strings takes 57.788 and 451.40 ns in a Vec, 122.10 and 803.67 in a VarZeroVec",
    variants: &[
        Variant::new("vec, 1", |window| search_vec(window, 1, 1)),
        Variant::new("varzerovec, 1", |window| search_varzerovec(window, 1, 1)),
        Variant::new("vec, 10", |window| search_vec(window, 10, 1)),
        Variant::new("varzerovec, 10", |window| search_varzerovec(window, 10, 1)),
        Variant::new("vec, ever others", |window| search_vec(window, 10, OTHERS)),
        Variant::new("varzerovec, ever others", |window| {
            search_varzerovec(window, 10, OTHERS)
        }),
    ],
    judge: |found| {
        let counts = ends_same(found, "vec, 1", "varzerovec, 1")
            && ends_same(found, "vec, 10", "varzerovec, 10")
            && ends_same(found, "vec, ever others", "varzerovec, ever others")
            && SEARCHES
                .iter()
                .all(|variant| blocks_are(found, &[(variant, 0.0)]));
        let said = format!(
            "no blocks either way, {} of 10 are there, each search ends in the same place: this is the price on access, \
             beside the 101 blocks of 1.7",
            found.of("vec, 10", "found"),
        );
        let price = |first, second, theirs_ns, why| Ratio {
            first,
            second,
            theirs_ns,
            why,
        };
        let same = "the strings are the same each time: the branches of VarZeroVec's search are foreseen, while std's \
                    search has no branch and waits for each comparison";
        let others = "comparing text outweighs looking its position up";
        judged(
            found,
            counts,
            &said,
            &[
                price("varzerovec, 1", "vec, 1", (122.10, 57.788), same),
                price("varzerovec, 10", "vec, 10", (803.67, 451.40), same),
                price(
                    "varzerovec, ever others",
                    "vec, ever others",
                    (803.67, 451.40),
                    others,
                ),
            ],
        )
    },
};

const SEARCHES: [&str; 6] = [
    "vec, 1",
    "varzerovec, 1",
    "vec, 10",
    "varzerovec, 10",
    "vec, ever others",
    "varzerovec, ever others",
];

fn hundred(window: &mut Window) -> Vec<String> {
    let (strings, _) = strings(100, SEED);
    window.note(
        "string_bytes",
        strings.iter().map(String::len).sum::<usize>() as f64,
    );
    strings
}

/// Returns 500 strings in order, and `count` strings to look for, as random as in the source.
fn haystack_and_needles(count: usize) -> (Vec<String>, Vec<String>) {
    let (mut haystack, seed) = strings(500, SEED);
    haystack.sort_unstable();
    let (needles, _) = strings(count, seed);
    (haystack, needles)
}

fn search_vec(window: &mut Window, at_a_time: usize, sets: usize) {
    let (haystack, needles) = haystack_and_needles(at_a_time * sets);
    // A reference to the slice, as to the VarZeroVec.
    let haystack = haystack.as_slice();
    search(window, &needles, at_a_time, |needle| {
        black_box(&haystack).binary_search(needle)
    });
}

fn search_varzerovec(window: &mut Window, at_a_time: usize, sets: usize) {
    let (haystack, needles) = haystack_and_needles(at_a_time * sets);
    let haystack = VarZeroVec::<str>::from(&haystack);
    let haystack: &VarZeroSlice<str> = &haystack;
    search(window, &needles, at_a_time, |needle| {
        black_box(haystack).binary_search(needle)
    });
}
