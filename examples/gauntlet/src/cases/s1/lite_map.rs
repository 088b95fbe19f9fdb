//! 1.15: litemap, on which ZeroMap is said to be modelled, compared with the maps of 1.9: a sorted
//! vector that owns or borrows.

use super::map::{
    Pairs, hash_map, hash_map_bytes, large, look_up, pairs, zero_map, zero_map_bytes,
};
use super::{blocks_are, each, repeat};
use crate::cases::said::times;
use crate::{Case, Judged, Variant};
use litemap::LiteMap;
use serde::Deserialize;
use std::collections::BTreeMap;

/// 16 pairs, and 131,072.
pub(super) const CASE: Case = Case {
    id: "1.15",
    system: "litemap against HashMap, BTreeMap and ZeroMap, postcard, 16 pairs and 131,072",
    headline: "no figures: ZeroMap works similarly to litemap: vectors and binary search",
    variants: &[
        Variant::new("hashmap", |window| {
            let bytes = hash_map_bytes(&pairs(None));
            repeat(window, bytes.len(), || hash_map(&bytes));
        }),
        Variant::new("btreemap", |window| {
            let bytes = in_order(&pairs(None));
            repeat(window, bytes.len(), || {
                read::<BTreeMap<String, String>>(&bytes)
            });
        }),
        Variant::new("litemap", |window| {
            let bytes = in_order(&pairs(None));
            repeat(window, bytes.len(), || {
                read::<LiteMap<String, String>>(&bytes)
            });
        }),
        Variant::new("litemap of &str", |window| {
            let bytes = in_order(&pairs(None));
            repeat(window, bytes.len(), || read::<LiteMap<&str, &str>>(&bytes));
        }),
        Variant::new("zeromap", |window| {
            let bytes = zero_map_bytes(&pairs(None));
            repeat(window, bytes.len(), || zero_map(&bytes));
        }),
        Variant::new("litemap large", |window| {
            let bytes = in_order(&large(window));
            window.input(bytes.len(), 1);
            window.work(|| read::<LiteMap<String, String>>(&bytes));
        }),
        Variant::new("litemap of &str, large", |window| {
            let bytes = in_order(&large(window));
            window.input(bytes.len(), 1);
            window.work(|| read::<LiteMap<&str, &str>>(&bytes));
        }),
        Variant::new("hashmap look up", |window| {
            let map = hash_map(&hash_map_bytes(&large(window)));
            look_up(window, |key| map.get(key).map(String::as_str));
        }),
        Variant::new("btreemap look up", |window| {
            let map: BTreeMap<String, String> = read(&in_order(&large(window)));
            look_up(window, |key| map.get(key).map(String::as_str));
        }),
        Variant::new("litemap look up", |window| {
            let map: LiteMap<String, String> = read(&in_order(&large(window)));
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
        let entries = found.of("litemap large", "entries");
        let vectors = |variant: &str, texts: f64| found.of(variant, "total_blocks") - texts;
        let looks =
            ["hashmap", "btreemap", "litemap", "zeromap"].map(|map| format!("{map} look up"));
        let found_by = |variant: &String| found.of(variant, "found") == 1.0;
        // A vector or a table, and two texts per entry; the tree also has its nodes.
        let holds = blocks_are(
            found,
            &[
                ("hashmap", 33.0),
                ("litemap", 33.0),
                ("litemap of &str", 1.0),
                ("zeromap", 0.0),
            ],
        ) && (34.0..=36.0).contains(&each(found, "btreemap", "total_blocks"))
            && vectors("litemap large", 2.0 * entries) >= 1.0
            && vectors("litemap large", 2.0 * entries) == vectors("litemap of &str, large", 0.0)
            && looks
                .iter()
                .all(|variant| found_by(variant) && found.of(variant, "total_blocks") == 0.0);
        let why = format!(
            "16 pairs: {} blocks by HashMap, {} by BTreeMap, {} by LiteMap, {} when it borrows, {} by ZeroMap; {entries} \
             pairs take LiteMap {} blocks of {} B, {} of {} B when it borrows; looking up takes LiteMap {} as long as \
             HashMap, ZeroMap {}, BTreeMap {}. litemap is one vector of pairs, ZeroMap one of keys and \
             one of values",
            each(found, "hashmap", "total_blocks"),
            each(found, "btreemap", "total_blocks"),
            each(found, "litemap", "total_blocks"),
            each(found, "litemap of &str", "total_blocks"),
            each(found, "zeromap", "total_blocks"),
            found.of("litemap large", "total_blocks"),
            found.of("litemap large", "total_bytes"),
            found.of("litemap of &str, large", "total_blocks"),
            found.of("litemap of &str, large", "total_bytes"),
            times(found.times("litemap look up", "hashmap look up")),
            times(found.times("zeromap look up", "hashmap look up")),
            times(found.times("btreemap look up", "hashmap look up")),
        );
        Judged::facts(holds, why)
    },
};

/// Returns a map's bytes with its keys in order, as every map except HashMap writes them.
fn in_order(pairs: &Pairs) -> Vec<u8> {
    let map: BTreeMap<&str, &str> = pairs
        .iter()
        .map(|(key, value)| (key.as_str(), *value))
        .collect();
    postcard::to_allocvec(&map).expect("a map can be written")
}

fn read<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> T {
    postcard::from_bytes(bytes).expect("the bytes are of such a map")
}
