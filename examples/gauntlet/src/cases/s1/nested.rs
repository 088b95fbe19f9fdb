//! 1.13: vectors of vectors of numbers, which stay in the input's bytes at any depth.

use super::{blocks_are, decoded, each, encoded, repeat};
use crate::cases::said::times;
use crate::{Case, Judged, Variant};
use std::hint::black_box;
use zerovec::{VarZeroVec, ZeroSlice, ZeroVec, vecs::VarZeroSlice};

/// The case: ten lists of ten lists of ten numbers.
pub(super) const CASE: Case = Case {
    id: "1.13",
    system: "VarZeroVec<VarZeroSlice<ZeroSlice<u32>>> against Vec<Vec<Vec<u32>>>, ten of each",
    headline: "no figures: zerovec's types nest as deep as one likes",
    variants: &[
        Variant::new("vec", |window| {
            let bytes = encoded(owned());
            repeat(window, bytes.len(), || decoded::<Owned>(&bytes));
        }),
        Variant::new("varzerovec", |window| {
            let bytes = zero_bytes();
            repeat(window, bytes.len(), || decoded::<Zero<'_>>(&bytes));
        }),
        Variant::new("sum in vec", |window| {
            let lists = owned();
            let once = || {
                let numbers = black_box(&lists).iter().flatten().flatten();
                numbers.fold(0_u32, |sum, number| sum.wrapping_add(*number))
            };
            window.note("sum", once().into());
            repeat(window, 0, once);
        }),
        Variant::new("sum in varzerovec", |window| {
            let bytes = zero_bytes();
            let lists = decoded::<Zero<'_>>(&bytes);
            let lists: &VarZeroSlice<VarZeroSlice<ZeroSlice<u32>>> = &lists;
            let once = || {
                let numbers = black_box(lists)
                    .iter()
                    .flat_map(VarZeroSlice::iter)
                    .flat_map(ZeroSlice::iter);
                numbers.fold(0_u32, u32::wrapping_add)
            };
            window.note("sum", once().into());
            repeat(window, 0, once);
        }),
    ],
    judge: |found| {
        // The outer list, ten lists in it, and a hundred in those.
        let holds = blocks_are(
            found,
            &[
                ("vec", 111.0),
                ("varzerovec", 0.0),
                ("sum in vec", 0.0),
                ("sum in varzerovec", 0.0),
            ],
        ) && found.of("sum in vec", "sum") == found.of("sum in varzerovec", "sum");
        let why = format!(
            "{} blocks and {} B against {}, from {} B and {} B; the sum of all is the same and takes {} as long in the \
             VarZeroVec",
            each(found, "vec", "total_blocks"),
            each(found, "vec", "total_bytes"),
            each(found, "varzerovec", "total_blocks"),
            each(found, "vec", "input_bytes"),
            each(found, "varzerovec", "input_bytes"),
            times(found.times("sum in varzerovec", "sum in vec")),
        );
        Judged::facts(holds, why)
    },
};

const TEN: u32 = 10;

type Owned = Vec<Vec<Vec<u32>>>;
type Zero<'a> = VarZeroVec<'a, VarZeroSlice<ZeroSlice<u32>>>;

fn owned() -> Owned {
    let numbers = |at: u32| (0..TEN).map(|third| at * TEN + third).collect();
    let lists = |first: u32| (0..TEN).map(move |second| numbers(first * TEN + second));
    (0..TEN).map(|first| lists(first).collect()).collect()
}

fn zero_bytes() -> Vec<u8> {
    let lists: Vec<VarZeroVec<'_, ZeroSlice<u32>>> = owned()
        .iter()
        .map(|lists| {
            let numbers = lists
                .iter()
                .map(|numbers| ZeroVec::alloc_from_slice(numbers));
            VarZeroVec::from(&numbers.collect::<Vec<_>>())
        })
        .collect();
    encoded(Zero::from(&lists))
}
