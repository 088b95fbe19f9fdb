//! 3.17: kstring as the keys of a map: inline if short, looked up by a borrowed text, shared by a
//! Ref.

use crate::cases::said::times;
use crate::{Case, Judged, Variant, Window};
use kstring::{KString, KStringRef};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher, Hash};

/// The case.
pub(super) const CASE: Case = Case {
    id: "3.17",
    system: "kstring as map keys: KString, and KStringRef over keys that live elsewhere",
    headline: "kstring is intended for map keys: immutable, inlined for small keys, Ref and Cow types to share (no figure)",
    variants: &[
        Variant::new("String", |window| filled(window, str::to_owned, "key")),
        Variant::new("KString", |window| filled(window, KString::from_ref, "key")),
        Variant::new("String, long", |window| filled(window, str::to_owned, LONG)),
        Variant::new("KString, long", |window| {
            filled(window, KString::from_ref, LONG)
        }),
        Variant::new("KStringRef", |window| {
            let keys = keys(window, "key");
            window.work(|| collected(keys.iter().map(|key| KStringRef::from_ref(key))));
        }),
        Variant::new("String, looked up", |window| {
            looked_up(window, str::to_owned, |map, key| map.get(key).copied());
        }),
        Variant::new("KString, looked up", |window| {
            looked_up(window, KString::from_ref, |map, key| map.get(key).copied());
        }),
    ],
    judge: |found| {
        let blocks = |variant: &str| found.of(variant, "total_blocks");
        let entries = found.of("String", "records");
        let holds = blocks("String") == entries + 1.0
            && blocks("KString") == 1.0
            && blocks("String, long") == entries + 1.0
            && blocks("KString, long") == entries + 1.0
            && blocks("KStringRef") == 1.0
            && blocks("String, looked up") == 0.0
            && blocks("KString, looked up") == 0.0
            && found.of("String, looked up", "found") == entries
            && found.of("KString, looked up", "found") == entries;
        let each = |variant: &str| found.of(variant, "live_bytes") / entries;
        let why = format!(
            "{entries:.0} short keys take {:.0} blocks as String, {:.0} as KString, {:.0} as KStringRef over keys that live \
             elsewhere ({:.1}, {:.1} and {:.1} B an entry); keys too long to be inline take {:.0} and {:.0}; neither \
             allocates to look a &str up. Filling a map takes {} as long with String, looking up {}",
            blocks("String"),
            blocks("KString"),
            blocks("KStringRef"),
            each("String"),
            each("KString"),
            each("KStringRef"),
            blocks("String, long"),
            blocks("KString, long"),
            times(found.times("String", "KString")),
            times(found.times("String, looked up", "KString, looked up")),
        );
        Judged::facts(holds, why)
    },
};

const ENTRIES: usize = 100_000;

/// Together with the number, longer than what fits into a `KString`.
const LONG: &str = "a key that is too long";

/// A map whose hashes are the same in each process.
type Map<K> = HashMap<K, u32, BuildHasherDefault<DefaultHasher>>;

fn keys(window: &mut Window, beginning: &str) -> Vec<String> {
    let entries = window.scaled(ENTRIES);
    window.input(0, entries);
    (0..entries)
        .map(|at| format!("{beginning}{at:05x}"))
        .collect()
}

fn collected<K: Eq + Hash>(keys: impl ExactSizeIterator<Item = K>) -> Map<K> {
    let mut map = Map::with_capacity_and_hasher(keys.len(), BuildHasherDefault::default());
    map.extend(keys.zip(0..));
    map
}

fn filled<K: Eq + Hash>(window: &mut Window, key: fn(&str) -> K, beginning: &str) {
    let keys = keys(window, beginning);
    window.work(|| collected(keys.iter().map(|text| key(text))));
}

fn looked_up<K: Eq + Hash>(
    window: &mut Window,
    key: fn(&str) -> K,
    get: fn(&Map<K>, &str) -> Option<u32>,
) {
    let keys = keys(window, "key");
    let map = collected(keys.iter().map(|text| key(text)));
    let mut found = 0;
    window.work(|| found = keys.iter().filter(|key| get(&map, key).is_some()).count());
    window.note("found", found as f64);
}
