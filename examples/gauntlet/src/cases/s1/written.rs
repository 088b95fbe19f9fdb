//! 1.6: numbers and chars written from a slice and from a `ZeroVec`, which is written in one piece.

use super::data::{CHARS, twenty};
use super::{Ratio, blocks_are, each, encoded, judged, repeat};
use crate::{Case, Variant, Window};
use serde::Serialize;
use std::hint::black_box;
use zerovec::ZeroVec;

/// Into a new `Vec<u8>` as the source does, and into bytes that are there.
pub(super) const CASE: Case = Case {
    id: "1.6",
    system: "serialize 20 u32, 15 chars: ZeroVec against a slice",
    headline: "51.324 -> 21.582 ns; 195.75 -> 21.123 ns",
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
        // 8 bytes of length, then 80 one by one or at once: 8, 16, 32, 64, 128 bytes, or 8, 88. Chars: 45 bytes.
        let counts = blocks_are(
            found,
            &[
                ("u32 slice", 5.0),
                ("u32 slice, copied first", 6.0),
                ("u32 zerovec", 2.0),
                ("u32 slice, in place", 0.0),
                ("u32 zerovec, in place", 0.0),
                ("char slice", 4.0),
                ("char slice, copied first", 5.0),
                ("char zerovec", 2.0),
            ],
        );
        // By the blocks, since not every instrument tells growing from allocating.
        let grows = |variant| each(found, variant, "total_blocks") - 1.0;
        let said = format!(
            "bincode 2 does not ask for the size first, so the Vec grows {} times for 20 numbers one by one and {} for \
             one piece, {} and {} for the chars; the source copies the slice first; into bytes that are there nothing \
             is allocated, and {}",
            grows("u32 slice"),
            grows("u32 zerovec"),
            grows("char slice"),
            grows("char zerovec"),
            in_place_says(found.times("u32 slice, in place", "u32 zerovec, in place")),
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
                    why: GROWTH,
                },
                Ratio {
                    first: "char slice, copied first",
                    second: "char zerovec",
                    theirs_ns: (195.75, 21.123),
                    why: GROWTH,
                },
            ],
        )
    },
};

const GROWTH: &str = "most of either is the growth of the Vec that is written to";

fn in_place_says(times: f64) -> String {
    if times.is_nan() {
        "how long that takes was not timed".to_owned()
    } else {
        format!("the slice then takes {times:.2} times as long")
    }
}

/// Writes over the same bytes each time.
fn in_place(window: &mut Window, value: &impl Serialize) {
    let mut bytes = encoded(value);
    let length = bytes.len();
    repeat(window, length, || {
        let written = bincode::serde::encode_into_slice(
            black_box(value),
            &mut bytes,
            bincode::config::legacy(),
        );
        written.expect("as long as the first time")
    });
}
