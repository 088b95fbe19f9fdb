//! 1.9: a map of strings to strings, read from postcard: `HashMap<String, String>` compared with
//! `ZeroMap`.

use super::{blocks_are, each, repeat};
use crate::{Case, Claim, Judged, Variant, Window};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::hint::black_box;
use zerovec::ZeroMap;
use zerovec::maps::ZeroMapKV;
use zerovec::vecs::{Index32, VarZeroSlice, VarZeroVec};

/// The case: 16 pairs, and each of their keys followed by 8,192 numbers.
pub(super) const CASE: Case = Case {
    id: "1.9",
    system: "ZeroMap against HashMap<String, String>, postcard, 16 pairs and 131,072",
    headline: "no figures: zero-copy, and not always as fast to look up in as a hash map",
    variants: &[
        Variant::new("hashmap", |window| {
            let bytes = hash_map_bytes(&pairs(None));
            window.note("serialized_bytes", bytes.len() as f64);
            repeat(window, bytes.len(), || hash_map(&bytes));
        }),
        Variant::new("zeromap", |window| {
            let bytes = zero_map_bytes(&pairs(None));
            window.note("serialized_bytes", bytes.len() as f64);
            repeat(window, bytes.len(), || zero_map(&bytes));
        }),
        Variant::new("hashmap large", |window| {
            let bytes = hash_map_bytes(&large(window));
            window.note("serialized_bytes", bytes.len() as f64);
            window.input(bytes.len(), 1);
            window.work(|| hash_map(&bytes));
        }),
        Variant::new("zeromap large", |window| {
            let bytes = zero_map_bytes(&large(window));
            window.note("serialized_bytes", bytes.len() as f64);
            window.input(bytes.len(), 1);
            window.work(|| zero_map(&bytes));
        }),
        Variant::new("hashmap look up", |window| {
            let map = hash_map(&hash_map_bytes(&large(window)));
            look_up(window, |key| map.get(key).map(String::as_str));
        }),
        Variant::new("zeromap look up", |window| {
            let bytes = zero_map_bytes(&large(window));
            let map = zero_map(&bytes);
            look_up(window, |key| {
                map.get_by(|probe| probe.text().cmp(key))
                    .map(|value| value.text())
            });
        }),
    ],
    judge: |found| {
        let sizes = (
            found.of("zeromap", "serialized_bytes"),
            found.of("hashmap", "serialized_bytes"),
        );
        let entries = found.of("hashmap large", "entries");
        // serde sizes the table by the format's count first, up to its limit; then the table grows.
        let tables = found.of("hashmap large", "total_blocks") - 2.0 * entries;
        let holds = sizes == (274.0, 176.0)
            && blocks_are(
                found,
                &[
                    ("hashmap", 33.0),
                    ("zeromap", 0.0),
                    ("zeromap large", 0.0),
                    ("hashmap look up", 0.0),
                    ("zeromap look up", 0.0),
                ],
            )
            && (1.0..=4.0).contains(&tables)
            && found.of("hashmap look up", "found") == found.of("zeromap look up", "found");
        let mut why = format!(
            "{} B / {} B serialized; its table and 2 blocks an entry ({} blocks for 16; {} of {} B for {entries}, of which {} \
             for the table as it grew) against 0; the large ones are {} B / {} B serialized",
            sizes.0,
            sizes.1,
            each(found, "hashmap", "total_blocks"),
            found.of("hashmap large", "total_blocks"),
            found.of("hashmap large", "total_bytes"),
            tables,
            found.of("zeromap large", "serialized_bytes"),
            found.of("hashmap large", "serialized_bytes"),
        );
        let (reading, looking) = (
            found.times("hashmap large", "zeromap large"),
            found.times("zeromap look up", "hashmap look up"),
        );
        if !reading.value.is_nan() {
            why += &format!(
                "; the HashMap takes {:.1} times as long to read, the ZeroMap {:.1} times as long to look up",
                reading.value, looking.value,
            );
        }
        Judged::facts(holds, why).claim(
            Claim::more("times as long to look up in the ZeroMap as in the HashMap"),
            looking,
        )
    },
};

/// Languages by their codes, in order.
const LANGUAGES: [(&str, &str); 16] = [
    ("ar", "Arabic"),
    ("bn", "Bangla"),
    ("ccp", "Chakma"),
    ("chr", "Cherokee"),
    ("el", "Greek"),
    ("en", "English"),
    ("eo", "Esperanto"),
    ("es", "Spanish"),
    ("fr", "French"),
    ("iu", "Inuktitut"),
    ("ja", "Japanese"),
    ("ru", "Russian"),
    ("sr", "Serbian"),
    ("th", "Thai"),
    ("tr", "Turkish"),
    ("zh", "Chinese"),
];

/// A string in vectors whose positions have 32 bits. Those of a plain `str` have 16, which is too
/// few for the large map.
#[zerovec::make_varule(WideStr)]
#[zerovec::skip_derive(ZeroMapKV)]
#[zerovec::derive(Serialize, Deserialize)]
#[derive(PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct WideStrBorrowed<'a>(#[serde(borrow)] &'a str);

impl WideStr {
    /// Returns the string.
    pub(super) fn text(&self) -> &str {
        &self.0
    }
}

impl<'a> ZeroMapKV<'a> for WideStr {
    type Container = VarZeroVec<'a, WideStr, Index32>;
    type Slice = VarZeroSlice<WideStr, Index32>;
    type GetType = WideStr;
    type OwnedType = Box<WideStr>;
}

pub(super) type Pairs = Vec<(String, &'static str)>;

/// Returns the languages, or each one with this many numbers after its code, in order.
pub(super) fn pairs(numbers: Option<usize>) -> Pairs {
    let numbered = |(code, language): &(&str, &'static str)| -> Pairs {
        match numbers {
            None => vec![((*code).to_owned(), *language)],
            Some(count) => (0..count)
                .map(|number| (format!("{code}{number:04}"), *language))
                .collect(),
        }
    };
    LANGUAGES.iter().flat_map(numbered).collect()
}

pub(super) fn large(window: &mut Window) -> Pairs {
    let pairs = pairs(Some(window.scaled(8_192)));
    window.note("entries", pairs.len() as f64);
    pairs
}

pub(super) fn hash_map_bytes(pairs: &Pairs) -> Vec<u8> {
    let map: HashMap<&str, &str> = pairs
        .iter()
        .map(|(key, value)| (key.as_str(), *value))
        .collect();
    postcard::to_allocvec(&map).expect("a map can be written")
}

pub(super) fn hash_map(bytes: &[u8]) -> HashMap<String, String> {
    postcard::from_bytes(bytes).expect("the bytes are of such a map")
}

/// Returns the bytes of a `ZeroMap`. They consist of those of its keys and its values; built this
/// way, they take no time per key.
pub(super) fn zero_map_bytes(pairs: &Pairs) -> Vec<u8> {
    let keys: Vec<_> = pairs.iter().map(|(key, _)| WideStrBorrowed(key)).collect();
    let values: Vec<_> = pairs
        .iter()
        .map(|(_, value)| WideStrBorrowed(value))
        .collect();
    let keys = VarZeroVec::<WideStr, Index32>::from(&keys);
    let values = VarZeroVec::<WideStr, Index32>::from(&values);
    postcard::to_allocvec(&(keys, values)).expect("vectors can be written")
}

pub(super) fn zero_map(bytes: &[u8]) -> ZeroMap<'_, WideStr, WideStr> {
    postcard::from_bytes(bytes).expect("the bytes are of such a map")
}

/// Looks up one existing key and one missing key.
pub(super) fn look_up<'a>(window: &mut Window, get: impl Fn(&str) -> Option<&'a str>) {
    let once = || {
        ["iu0333", "zz"]
            .iter()
            .filter(|key| get(black_box(key)) == Some("Inuktitut"))
            .count()
    };
    window.note("found", once() as f64);
    repeat(window, 0, once);
}
