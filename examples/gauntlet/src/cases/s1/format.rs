//! 1.16: the formats of a VarZeroVec's buffer: positions of one, two or four bytes.

use super::data::{SEED, strings};
use super::{blocks_are, each, encoded, read, repeat};
use crate::cases::said::times;
use crate::{Case, Judged, Variant, Window};
use std::hint::black_box;
use zerovec::VarZeroVec;
use zerovec::vecs::{Index8, Index16, Index32, VarZeroVecFormat, VarZeroVecOwned};

/// The case.
pub(super) const CASE: Case = Case {
    id: "1.16",
    system: "the buffer's format of VarZeroVec<str>: Index8, Index16 and Index32",
    headline: "the buffer format is being made configurable, so that users can pick their tradeoffs (no figures)",
    variants: &[
        Variant::new("Index16", reading::<Index16>),
        Variant::new("Index32", reading::<Index32>),
        Variant::new("count, Index16", counting::<Index16>),
        Variant::new("count, Index32", counting::<Index32>),
    ],
    judge: |found| {
        let texts = found.of("Index16", "string_bytes");
        // Positions but the first, and the number of strings.
        let predicted = |width: f64| texts + (STRINGS as f64 - 1.0) * width + width;
        let holds = blocks_are(
            found,
            &[
                ("Index16", 0.0),
                ("Index32", 0.0),
                ("count, Index16", 0.0),
                ("count, Index32", 0.0),
            ],
        ) && found.of("Index16", "buffer_bytes") == predicted(2.0)
            && found.of("Index32", "buffer_bytes") == predicted(4.0)
            && found.of("Index16", "fits_100000_bytes") == 0.0
            && found.of("Index32", "fits_100000_bytes") == 1.0
            && found.of("Index16", "index8_fits") == 0.0;
        let why = format!(
            "{STRINGS} strings of {texts:.0} B lie in {:.0} B by Index16, in {:.0} B by Index32; they do not fit Index8, which \
             ends at 256 B, and Index16 ends at 64 KiB, where making the buffer fails. Neither allocates when it is read. \
             Index32 takes {} as long to read, {} as long to count code points; {:.0} B of input a repetition",
            found.of("Index16", "buffer_bytes"),
            found.of("Index32", "buffer_bytes"),
            times(found.times("Index32", "Index16")),
            times(found.times("count, Index32", "count, Index16")),
            each(found, "Index32", "input_bytes"),
        );
        Judged::facts(holds, why)
    },
};

const STRINGS: usize = 100;

fn buffer<F: VarZeroVecFormat>(strings: &[String]) -> Option<VarZeroVec<'static, str, F>> {
    let owned = VarZeroVecOwned::try_from_elements(strings);
    owned.ok().map(VarZeroVec::from)
}

fn hundred(window: &mut Window) -> Vec<String> {
    let (strings, _) = strings(STRINGS, SEED);
    let bytes: usize = strings.iter().map(String::len).sum();
    window.note("string_bytes", bytes as f64);
    strings
}

fn reading<F: VarZeroVecFormat>(window: &mut Window) {
    let strings = hundred(window);
    let vec = buffer::<F>(&strings).expect("a hundred strings fit");
    window.note("buffer_bytes", vec.as_bytes().len() as f64);
    let fits = |is_there| f64::from(u8::from(is_there));
    let long = ["x".repeat(100_000), String::new()];
    window.note("fits_100000_bytes", fits(buffer::<F>(&long).is_some()));
    window.note("index8_fits", fits(buffer::<Index8>(&strings).is_some()));
    let bytes = encoded(&vec);
    repeat(window, bytes.len(), || {
        read::<VarZeroVec<'_, str, F>>(&bytes).map(|vec| vec.len())
    });
}

fn counting<F: VarZeroVecFormat>(window: &mut Window) {
    let vec = buffer::<F>(&hundred(window)).expect("a hundred strings fit");
    repeat(window, 0, || {
        black_box(&vec)
            .iter()
            .map(|string| string.chars().count())
            .sum::<usize>()
    });
}
