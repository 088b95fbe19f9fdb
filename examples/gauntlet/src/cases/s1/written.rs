//! 1.6: numbers and chars written from a slice, and from a `ZeroVec`, which is written in one
//! piece.

use super::data::{CHARS, twenty};
use super::{Ratio, blocks_are, each, encoded, judged, repeat};
use crate::{Case, Variant, Window};
use serde::Serialize;
use std::hint::black_box;
use zerovec::ZeroVec;

/// The case: writes into a new `Vec<u8>`, as the source does, and into existing bytes.
pub(super) const CASE: Case = Case {
    id: "1.6",
    system: "serialize 20 u32, 15 chars: ZeroVec against a slice",
    headline: "serializing 20 u32 takes 51.324 ns from a slice and 21.582 from a ZeroVec, 15 chars 195.75 and 21.123",
    variants: &[
        Variant::new("u32 slice", |window| {
            let numbers = twenty();
            let once = || encoded(black_box(numbers.as_slice()));
            repeat(window, once().len(), once);
        }),
        // The source copies the slice into a `Vec` each time.
        Variant::new("u32 slice, copied first", |window| {
            let numbers = twenty();
            let once = || encoded(Vec::from(black_box(numbers.as_slice())));
            repeat(window, once().len(), once);
        }),
        Variant::new("u32 zerovec", |window| {
            let numbers = ZeroVec::alloc_from_slice(&twenty());
            let once = || encoded(black_box(&numbers));
            repeat(window, once().len(), once);
        }),
        Variant::new("u32 slice, in place", |window| in_place(window, &twenty())),
        Variant::new("u32 zerovec, in place", |window| {
            in_place(window, &ZeroVec::alloc_from_slice(&twenty()))
        }),
        Variant::new("char slice", |window| {
            let once = || encoded(black_box(CHARS.as_slice()));
            repeat(window, once().len(), once);
        }),
        Variant::new("char slice, copied first", |window| {
            let once = || encoded(Vec::from(black_box(CHARS.as_slice())));
            repeat(window, once().len(), once);
        }),
        Variant::new("char zerovec", |window| {
            let chars = ZeroVec::alloc_from_slice(&CHARS);
            let once = || encoded(black_box(&chars));
            repeat(window, once().len(), once);
        }),
    ],
    judge: |found| {
        // bincode 1 computes the size first: one block of that size, and one for the copy.
        let counts = blocks_are(
            found,
            &[
                ("u32 slice", 1.0),
                ("u32 slice, copied first", 2.0),
                ("u32 zerovec", 1.0),
                ("u32 slice, in place", 0.0),
                ("u32 zerovec, in place", 0.0),
                ("char slice", 1.0),
                ("char slice, copied first", 2.0),
                ("char zerovec", 1.0),
            ],
        );
        let blocks = |variant| each(found, variant, "total_blocks");
        let said = format!(
            "bincode 1 asks for the size first, so the Vec that is written to is {} block for 20 numbers one by one and {} \
             for one piece, {} and {} for the chars; the source copies the slice first, which makes {}; into bytes that \
             are there nothing is allocated, and {}",
            blocks("u32 slice"),
            blocks("u32 zerovec"),
            blocks("char slice"),
            blocks("char zerovec"),
            blocks("u32 slice, copied first"),
            in_place_says(
                found
                    .times("u32 slice, in place", "u32 zerovec, in place")
                    .value
            ),
        );
        judged(
            found,
            counts,
            &said,
            &[
                Ratio {
                    first: "u32 slice, copied first",
                    second: "u32 zerovec",
                    theirs_ns: (51.324, 21.582),
                    why: BLOCKS,
                },
                Ratio {
                    first: "char slice, copied first",
                    second: "char zerovec",
                    theirs_ns: (195.75, 21.123),
                    why: BLOCKS,
                },
            ],
        )
    },
};

const BLOCKS: &str = "most of either is the blocks: two with the copy, one without";

fn in_place_says(times: f64) -> String {
    if times.is_nan() {
        "how long that takes was not timed".to_owned()
    } else {
        format!("the slice then takes {times:.2} times as long")
    }
}

/// Overwrites the same bytes each time.
fn in_place(window: &mut Window, value: &impl Serialize) {
    let mut bytes = encoded(value);
    let length = bytes.len();
    repeat(window, length, || {
        let written = bincode1::serialize_into(bytes.as_mut_slice(), black_box(value));
        written.expect("as long as the first time")
    });
}
