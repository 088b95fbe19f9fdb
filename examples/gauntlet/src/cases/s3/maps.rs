//! 3.1: the cost of a map in addition to its contents.

use crate::{Case, Claim, Judged, Variant, Window};
use std::collections::{BTreeMap, HashMap};

/// The case.
pub(super) const CASE: Case = Case {
    id: "3.1",
    system: "HashMap<String, Vec<..>>: 72 B of overhead an entry",
    headline: "a map of String to Vec has 72 bytes of overhead an entry, more than many keys and values are long",
    variants: &[
        Variant::new("HashMap<String, Vec>", |window| {
            each(window, |pairs| pairs.collect::<HashMap<_, _>>())
        }),
        Variant::new("HashMap, grown", |window| {
            each(window, |pairs| {
                let mut map = HashMap::new();
                pairs.for_each(|(key, value)| drop(map.insert(key, value)));
                map
            });
        }),
        Variant::new("HashMap<Box<str>, Box<[u32]>>", |window| {
            each(window, |pairs| {
                let boxed =
                    pairs.map(|(key, value)| (key.into_boxed_str(), value.into_boxed_slice()));
                boxed.collect::<HashMap<_, _>>()
            });
        }),
        Variant::new("BTreeMap<String, Vec>", |window| {
            each(window, |pairs| pairs.collect::<BTreeMap<_, _>>())
        }),
        Variant::new("Vec of pairs, sorted", |window| {
            each(window, |pairs| {
                let mut all: Vec<_> = pairs.collect();
                all.sort_unstable();
                all
            });
        }),
        // The source's types, with one value an entry.
        Variant::new(TABLE, |window| {
            texts(window, |pairs| pairs.collect::<HashMap<_, _>>())
        }),
        Variant::new(PAIRS, |window| {
            texts(window, |pairs| pairs.collect::<Vec<_>>())
        }),
    ],
    judge: |found| {
        let entries = found.of("HashMap<String, Vec>", "records");
        let overhead = |variant: &str| {
            (found.of(variant, "live_bytes") - found.of(variant, "payload_bytes")) / entries
        };
        let ours = overhead("HashMap<String, Vec>");
        // A bucket takes 48 B and a byte of control; the table's size is a power of two, at most
        // 7/8 full.
        let buckets = (entries * 8.0 / 7.0).log2().ceil().exp2();
        let expected = (buckets * 49.0 + 16.0) / entries;
        let headers = (2 * size_of::<String>() + size_of::<Vec<String>>()) as f64;
        let holds = (ours - expected).abs() < 0.01
            && (overhead(TABLE) - expected - size_of::<String>() as f64).abs() < 0.01
            && overhead(PAIRS) == headers;
        let why = format!(
            "{ours:.1} B of container an entry beside {:.1} B of payload: a bucket of 48 B and a control byte for each of \
             {buckets:.0} buckets, {:.0} % of them full (56 to 112 B by how full); boxed {:.1} B, BTreeMap {:.1} B, sorted pairs {:.1} B; grown, \
             {:.1} times the bytes were asked for in all. The source's 72 B are the headers of an entry: its key, its Vec, \
             and the one String in it; pairs in a list have {:.1} B, in the table {:.1} B",
            found.of("HashMap<String, Vec>", "payload_bytes") / entries,
            100.0 * entries / buckets,
            overhead("HashMap<Box<str>, Box<[u32]>>"),
            overhead("BTreeMap<String, Vec>"),
            overhead("Vec of pairs, sorted"),
            found.of("HashMap, grown", "total_bytes")
                / found.of("HashMap<String, Vec>", "total_bytes"),
            overhead(PAIRS),
            overhead(TABLE),
        );
        Judged::facts(holds, why)
            .claim(
                Claim::count("bytes of headers an entry", 72.0),
                overhead(PAIRS),
            )
            .claim(
                Claim::count("bytes of overhead an entry in a table", 72.0).within(0.15),
                overhead(TABLE),
            )
            .because(
                "free buckets and a control byte come on top of the headers: 80 to 136 bytes by how full the table is",
            )
    },
};

const TABLE: &str = "HashMap<String, Vec<String>>";
const PAIRS: &str = "Vec of (String, Vec<String>)";

const ENTRIES: usize = 100_000;

type Pairs<'a, V> = &'a mut dyn ExactSizeIterator<Item = (String, V)>;

/// Collects entries of a key with 8 letters and two numbers each.
fn each<M>(window: &mut Window, collect: impl Fn(Pairs<'_, Vec<u32>>) -> M) {
    let bytes = 2 * size_of::<u32>();
    entries(window, bytes, |at| vec![at as u32; 2], collect);
}

/// Collects entries of a key with 8 letters and a list of one text each.
fn texts<M>(window: &mut Window, collect: impl Fn(Pairs<'_, Vec<String>>) -> M) {
    const TEXT: &str = "one text";
    entries(window, TEXT.len(), |_| vec![TEXT.to_owned()], collect);
}

/// Collects entries whose blocks have no unused capacity, so the rest belongs to the map. A value
/// has `bytes` bytes of payload.
fn entries<V, M>(
    window: &mut Window,
    bytes: usize,
    value: impl Fn(usize) -> V,
    collect: impl Fn(Pairs<'_, V>) -> M,
) {
    let entries = window.scaled(ENTRIES);
    window.input(0, entries);
    let names: Vec<String> = (0..entries).map(|at| format!("key{at:05x}")).collect();
    let payload: usize = names.iter().map(|name| name.len() + bytes).sum();
    window.note("payload_bytes", payload as f64);
    window.work(|| {
        let pair = |(at, name): (usize, &String)| (name.clone(), value(at));
        collect(&mut names.iter().enumerate().map(pair))
    });
}
