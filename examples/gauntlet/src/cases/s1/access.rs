//! 1.4 and 1.5: the cost of reading a `ZeroVec` compared with a slice, without any allocation.

use super::data::{haystack_and_needles, seventy_five};
use super::{Ratio, blocks_are, judged, repeat};
use crate::{Case, Found, Variant, Window};
use std::convert::identity;
use std::hint::black_box;
use zerovec::{ZeroSlice, ZeroVec};

/// Reads every number once.
pub(super) const SUM: Case = Case {
    id: "1.4",
    system: "sum 75 u32: ZeroVec against a slice",
    headline: "summing 75 u32 takes 4.3091 ns in a slice and 5.7108 in a ZeroVec: access is a little slower",
    variants: &[
        Variant::new("slice", |window| {
            let numbers = seventy_five();
            repeat(window, numbers.len() * 4, || {
                black_box(numbers.as_slice())
                    .iter()
                    .fold(0_u32, |sum, number| sum.wrapping_add(*number))
            });
        }),
        Variant::new("zerovec", |window| sum(window, 0)),
        Variant::new("zerovec unaligned", |window| sum(window, 1)),
    ],
    judge: |found| {
        let counts = blocks_are(
            found,
            &[("slice", 0.0), ("zerovec", 0.0), ("zerovec unaligned", 0.0)],
        );
        let said = format!(
            "no blocks either way: this is the price on access, beside what 1.3 saves; where the bytes happen to be aligned it is {:.2} times the slice's",
            found.times("zerovec", "slice").value,
        );
        // The source's bytes are deliberately not aligned, like those of a file.
        let price = Ratio {
            first: "zerovec unaligned",
            second: "slice",
            theirs_ns: (5.7108, 4.3091),
            why: "",
        };
        judged(found, counts, &said, &[price])
    },
};

/// Number of sets of needles: enough that no predictor can learn where each search ends.
pub(super) const OTHERS: usize = 1_000;

/// Looks for a few numbers among many: the same ones each time, as in the source, and different
/// ones.
pub(super) const SEARCH: Case = Case {
    id: "1.5",
    system: "binary search of 50 in 1,000 u32: ZeroVec against a slice",
    headline: "50 binary searches in 1,000 u32 take 428.48 ns in a slice and 565.23 in a ZeroVec",
    variants: &[
        Variant::new("slice", |window| search_slice(window, 1)),
        Variant::new("zerovec", |window| search_zerovec(window, 1)),
        Variant::new("slice, ever others", |window| search_slice(window, OTHERS)),
        Variant::new("zerovec, ever others", |window| {
            search_zerovec(window, OTHERS)
        }),
    ],
    judge: |found| {
        let counts = ends_same(found, "slice", "zerovec")
            && ends_same(found, "slice, ever others", "zerovec, ever others")
            && SEARCHES
                .iter()
                .all(|variant| blocks_are(found, &[(variant, 0.0)]));
        let said = format!(
            "no blocks either way, {} of 50 are there, each search ends in the same place: this is the price on access",
            found.of("slice", "found"),
        );
        let price = |first, second, why| Ratio {
            first,
            second,
            theirs_ns: (565.23, 428.48),
            why,
        };
        judged(
            found,
            counts,
            &said,
            &[
                price(
                    "zerovec",
                    "slice",
                    "both loops are std's search, the same eight instructions",
                ),
                price(
                    "zerovec, ever others",
                    "slice, ever others",
                    "both loops are std's search, the same eight instructions",
                ),
            ],
        )
    },
};

const SEARCHES: [&str; 4] = [
    "slice",
    "zerovec",
    "slice, ever others",
    "zerovec, ever others",
];

/// Returns the numbers' bytes, shifted by `by` from the start of their block, which determines
/// their alignment.
fn shifted(numbers: &[u32], by: usize) -> Vec<u8> {
    let mut bytes = vec![0; by];
    bytes.extend(ZeroVec::alloc_from_slice(numbers).as_bytes());
    bytes
}

fn read(bytes: &[u8], by: usize) -> ZeroVec<'_, u32> {
    ZeroVec::parse_bytes(bytes.get(by..).unwrap_or_default()).expect("whole numbers")
}

fn sum(window: &mut Window, by: usize) {
    let bytes = shifted(&seventy_five(), by);
    let numbers = read(&bytes, by);
    let numbers: &ZeroSlice<u32> = &numbers;
    repeat(window, numbers.len() * 4, || {
        black_box(numbers).iter().fold(0_u32, u32::wrapping_add)
    });
}

fn search_slice(window: &mut Window, sets: usize) {
    let (haystack, needles) = haystack_and_needles(50 * sets);
    // A reference to the slice, as to the ZeroVec: `black_box` of the slice itself would store and
    // load two words in each search.
    let haystack = haystack.as_slice();
    search(window, &needles, 50, |needle| {
        black_box(&haystack).binary_search(needle)
    });
}

fn search_zerovec(window: &mut Window, sets: usize) {
    let (haystack, needles) = haystack_and_needles(50 * sets);
    let bytes = shifted(&haystack, 1);
    let haystack = read(&bytes, 1);
    search(window, &needles, 50, |needle| {
        black_box(&haystack).binary_search(needle)
    });
}

/// Looks for a few of the needles at a time: the next ones each time, and from the beginning again
/// after the last.
pub(super) fn search<N>(
    window: &mut Window,
    needles: &[N],
    at_a_time: usize,
    find: impl Fn(&N) -> Result<usize, usize>,
) {
    note_ends(window, needles.iter().map(&find));
    let mut sets = needles.chunks(at_a_time).cycle();
    repeat(window, at_a_time * size_of::<N>(), || {
        let set = sets.next().unwrap_or_default();
        black_box(set)
            .iter()
            .filter(|needle| find(needle).is_ok())
            .count()
    });
}

/// Notes the number of searches that succeeded, and the sum of the positions where they ended.
fn note_ends(window: &mut Window, ends: impl Iterator<Item = Result<usize, usize>>) {
    let (mut found, mut places) = (0, 0);
    for end in ends {
        found += usize::from(end.is_ok());
        places += end.unwrap_or_else(identity);
    }
    window.note("found", found as f64);
    window.note("places", places as f64);
}

/// Returns `true` if the searches of two variants ended in the same positions.
pub(super) fn ends_same(found: &Found<'_>, first: &str, second: &str) -> bool {
    ["found", "places"]
        .iter()
        .all(|note| found.of(first, note) == found.of(second, note))
}
