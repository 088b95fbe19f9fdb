//! 1.12: the source's `DataStruct`: owned, in the input's bytes, many in one vector, and as JSON.

use super::data::{CHARS, SEED, hundred, strings};
use super::{blocks_are, decoded, each, encoded, repeat};
use crate::{Case, Judged, Variant, Window};
use serde::{Deserialize, Serialize};
use yoke::{Yoke, Yokeable};
use zerovec::{VarZeroVec, ZeroVec};

/// The case: a hundred numbers, 15 chars and a hundred strings.
pub(super) const CASE: Case = Case {
    id: "1.12",
    system: "the article's DataStruct by serde, by make_varule, yoked and human-readable: 100 u32, 15 chars, 100 strings",
    headline: "no figures: zero-copy from binary formats, a normal human-readable form in JSON",
    variants: &[
        Variant::new("owned", |window| {
            let bytes = encoded(owned());
            repeat(window, bytes.len(), || decoded::<Owned>(&bytes));
        }),
        Variant::new("zerovec", |window| {
            let bytes = encoded(zero());
            repeat(window, bytes.len(), || decoded::<DataStruct<'_>>(&bytes));
        }),
        Variant::new("zerovec, yoked", |window| {
            let bytes = encoded(zero());
            // The input is copied once, as from a file, and lives as long as the values that borrow
            // from it.
            repeat(window, bytes.len(), || {
                Yoke::<DataStruct<'static>, Vec<u8>>::attach_to_cart(bytes.clone(), |bytes| {
                    decoded(bytes)
                })
            });
        }),
        Variant::new("ten, owned", |window| {
            let ten: Vec<Owned> = (0..TEN).map(|_| owned()).collect();
            let bytes = encoded(ten);
            repeat(window, bytes.len(), || decoded::<Vec<Owned>>(&bytes));
        }),
        Variant::new("ten, make_varule", |window| {
            let ten: Vec<DataStruct<'_>> = (0..TEN).map(|_| zero()).collect();
            let bytes = encoded(VarZeroVec::<DataStructULE>::from(&ten));
            repeat(window, bytes.len(), || {
                decoded::<VarZeroVec<'_, DataStructULE>>(&bytes)
            });
        }),
        Variant::new("owned, JSON", |window| {
            let json = json(window);
            repeat(window, json.len(), || {
                serde_json::from_str::<Owned>(&json).expect("it was written so")
            });
        }),
        Variant::new("zerovec, JSON", |window| {
            let json = json(window);
            repeat(window, json.len(), || {
                serde_json::from_str::<DataStruct<'_>>(&json).expect("it was written so")
            });
        }),
    ],
    judge: |found| {
        let ten = TEN as f64;
        let input = each(found, "zerovec, yoked", "input_bytes");
        let (owned, zero) = (
            each(found, "owned, JSON", "total_blocks"),
            each(found, "zerovec, JSON", "total_blocks"),
        );
        // Three vectors, and each string.
        let holds = blocks_are(
            found,
            &[
                ("owned", 103.0),
                ("zerovec", 0.0),
                ("zerovec, yoked", 1.0),
                ("ten, owned", 1.0 + 103.0 * ten),
                ("ten, make_varule", 0.0),
            ],
        ) && found.of("zerovec, yoked", "live_bytes") == input
            && found.of("zerovec, JSON", "same_json") == 1.0
            // JSON text is not such a vector: each string is a block first, and then a part of one.
            && zero > 100.0
            && owned > 103.0;
        let why = format!(
            "{} blocks owned, {} as zerovec's types, {} yoked: the input itself, {input} B; ten of them {} and {}. As JSON \
             both write the same text, and nothing borrows: {zero} blocks of {} B against {owned} of {} B, since each string \
             is a block of its own until all are known",
            each(found, "owned", "total_blocks"),
            each(found, "zerovec", "total_blocks"),
            each(found, "zerovec, yoked", "total_blocks"),
            each(found, "ten, owned", "total_blocks"),
            each(found, "ten, make_varule", "total_blocks"),
            each(found, "zerovec, JSON", "total_bytes"),
            each(found, "owned, JSON", "total_bytes"),
        );
        Judged::facts(holds, why)
    },
};

const TEN: usize = 10;

#[derive(Serialize, Deserialize)]
struct Owned {
    nums: Vec<u32>,
    chars: Vec<char>,
    strs: Vec<String>,
}

/// The same type in the input. `make_varule` creates the type of an element of a vector.
#[zerovec::make_varule(DataStructULE)]
#[zerovec::skip_derive(Ord, ZeroMapKV)]
#[zerovec::derive(Serialize, Deserialize)]
#[derive(PartialEq, Eq, Yokeable, Serialize, Deserialize)]
#[yoke(prove_covariance_manually)]
struct DataStruct<'data> {
    #[serde(borrow)]
    nums: ZeroVec<'data, u32>,
    #[serde(borrow)]
    chars: ZeroVec<'data, char>,
    #[serde(borrow)]
    strs: VarZeroVec<'data, str>,
}

fn owned() -> Owned {
    Owned {
        nums: hundred(),
        chars: CHARS.to_vec(),
        strs: strings(100, SEED).0,
    }
}

fn zero() -> DataStruct<'static> {
    DataStruct {
        nums: ZeroVec::alloc_from_slice(&hundred()),
        chars: ZeroVec::alloc_from_slice(&CHARS),
        strs: VarZeroVec::from(&strings(100, SEED).0),
    }
}

/// Returns the human-readable form, and notes if both types have the same one.
fn json(window: &mut Window) -> String {
    let written = |json: serde_json::Result<String>| json.expect("both can be written");
    let json = written(serde_json::to_string(&owned()));
    let same = json == written(serde_json::to_string(&zero()));
    window.note("same_json", f64::from(u8::from(same)));
    json
}
