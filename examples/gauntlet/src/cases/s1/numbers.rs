//! 1.1 to 1.3: numbers and chars read as `Vec`, and as `ZeroVec`, which stays in the input.

use super::data::{CHARS, hundred, twenty};
use super::{Ratio, blocks_are, decoded, each, encoded, judged, read, repeat};
use crate::{Case, Found, Judged, Variant};
use zerovec::ZeroVec;

/// 100 `u32`.
pub(super) const MANY: Case = Case {
    id: "1.1",
    system: "deserialize 100 u32: ZeroVec against Vec",
    headline: "deserializing 100 u32 takes 141.55 ns as Vec and 12.166 as ZeroVec: more than ten times as fast",
    variants: &[
        Variant::new("vec", |window| {
            let bytes = encoded(hundred());
            repeat(window, bytes.len(), || read::<Vec<u32>>(&bytes));
        }),
        Variant::new("zerovec", |window| {
            let bytes = encoded(ZeroVec::alloc_from_slice(&hundred()));
            repeat(window, bytes.len(), || read::<ZeroVec<'_, u32>>(&bytes));
        }),
    ],
    judge: |found| judge(found, 400.0, (141.55, 12.166)),
};

/// 15 chars.
pub(super) const CHARS_READ: Case = Case {
    id: "1.2",
    system: "deserialize 15 chars: ZeroVec against Vec",
    headline: "deserializing 15 chars takes 225.55 ns as Vec and 25.668 as ZeroVec",
    variants: &[
        Variant::new("vec", |window| {
            let bytes = encoded(CHARS.as_slice());
            repeat(window, bytes.len(), || read::<Vec<char>>(&bytes));
        }),
        Variant::new("zerovec", |window| {
            let bytes = encoded(ZeroVec::alloc_from_slice(&CHARS));
            repeat(window, bytes.len(), || read::<ZeroVec<'_, char>>(&bytes));
        }),
    ],
    judge: |found| judge(found, 60.0, (225.55, 25.668)),
};

/// 20 `u32`, read once.
pub(super) const SUMMED: Case = Case {
    id: "1.3",
    system: "deserialize 20 u32 and sum them: ZeroVec against Vec",
    headline: "deserializing and summing 20 u32 takes 47.423 ns as Vec and 14.131 as ZeroVec",
    variants: &[
        Variant::new("vec", |window| {
            let bytes = encoded(twenty());
            repeat(window, bytes.len(), || {
                decoded::<Vec<u32>>(&bytes).iter().sum::<u32>()
            });
        }),
        Variant::new("zerovec", |window| {
            let bytes = encoded(ZeroVec::alloc_from_slice(&twenty()));
            repeat(window, bytes.len(), || {
                decoded::<ZeroVec<'_, u32>>(&bytes).iter().sum::<u32>()
            });
        }),
    ],
    judge: |found| judge(found, 80.0, (47.423, 14.131)),
};

/// Compares one block of the numbers' size with none.
fn judge(found: &Found<'_>, bytes: f64, theirs_ns: (f64, f64)) -> Judged {
    let counts = blocks_are(found, &[("vec", 1.0), ("zerovec", 0.0)])
        && each(found, "vec", "total_bytes") == bytes;
    let said = format!(
        "{} block of {} B as Vec, {} as ZeroVec, whose bytes stay in the input",
        each(found, "vec", "total_blocks"),
        each(found, "vec", "total_bytes"),
        each(found, "zerovec", "total_blocks"),
    );
    let ratio = Ratio {
        first: "vec",
        second: "zerovec",
        theirs_ns,
        why: "a block from this allocator costs about as much as reading the numbers out of their bytes",
    };
    judged(found, counts, &said, &[ratio])
}
