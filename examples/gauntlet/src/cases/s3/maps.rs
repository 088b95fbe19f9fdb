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
        let holds = (ours - expected).abs() < 0.01;
        let why = format!(
            "{ours:.1} B of container an entry beside {:.1} B of payload: a bucket of 48 B and a control byte for each of \
             {buckets:.0} buckets, {:.0} % of them full (56 to 112 B by how full; the source's 72 lies between); boxed \
             {:.1} B, BTreeMap {:.1} B, sorted pairs {:.1} B; grown, {:.1} times the bytes were asked for in all",
            found.of("HashMap<String, Vec>", "payload_bytes") / entries,
            100.0 * entries / buckets,
            overhead("HashMap<Box<str>, Box<[u32]>>"),
            overhead("BTreeMap<String, Vec>"),
            overhead("Vec of pairs, sorted"),
            found.of("HashMap, grown", "total_bytes")
                / found.of("HashMap<String, Vec>", "total_bytes"),
        );
        Judged::facts(holds, why)
            .claim(
                Claim::count("bytes of overhead an entry", 72.0).within(0.15),
                ours,
            )
            .because("it depends on how full the table is: 56 to 112 bytes")
    },
};

const ENTRIES: usize = 100_000;

type Pairs<'a> = &'a mut dyn ExactSizeIterator<Item = (String, Vec<u32>)>;

/// Collects entries of a key with 8 letters and two numbers each. Their blocks have no unused
/// capacity, so the rest belongs to the map.
fn each<M>(window: &mut Window, collect: impl Fn(Pairs<'_>) -> M) {
    let entries = window.scaled(ENTRIES);
    window.input(0, entries);
    let names: Vec<String> = (0..entries).map(|at| format!("key{at:05x}")).collect();
    let payload: usize = names
        .iter()
        .map(|name| name.len() + 2 * size_of::<u32>())
        .sum();
    window.note("payload_bytes", payload as f64);
    window.work(|| {
        collect(
            &mut names
                .iter()
                .enumerate()
                .map(|(at, name)| (name.clone(), vec![at as u32; 2])),
        )
    });
}
