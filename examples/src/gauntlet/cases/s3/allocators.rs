//! 3.9: both libraries under each allocator.

use super::airlines::each;
use crate::gauntlet::{Case, Variant, Verdict, Window};
use serde_json::Value;

/// The case.
pub(super) const CASE: Case = Case {
    id: "3.9",
    system: "both by allocator",
    headline: "serde_json / json-rust: std 49.2 / 30.2 ms, jemalloc 30-60 / 34.8 ms",
    variants: &[
        Variant::new("serde_json, glibc", value).under("glibc"),
        Variant::new("serde_json, jemalloc", value).under("jemalloc"),
        Variant::new("serde_json, mimalloc", value).under("mimalloc"),
        Variant::new("json, glibc", json).under("glibc"),
        Variant::new("json, jemalloc", json).under("jemalloc"),
        Variant::new("json, mimalloc", json).under("mimalloc"),
    ],
    judge: |found| {
        let same = |library: &str| {
            let of = |allocator: &str, name| found.of(&format!("{library}, {allocator}"), name);
            ["total_blocks", "total_bytes", "peak_bytes"].into_iter().all(|name| {
                of("jemalloc", name) == of("glibc", name) && of("mimalloc", name) == of("glibc", name)
            })
        };
        let faster = |allocator: &str| {
            found.times(&format!("serde_json, {allocator}"), &format!("json, {allocator}"))
        };
        let times = ["glibc", "jemalloc", "mimalloc"].map(faster);
        let holds = same("serde_json") && same("json") && !times.iter().any(|times| *times < 1.0);
        let why = format!(
            "blocks, bytes and peak do not depend on the allocator; json is {:.2} times as fast under glibc, {:.2} under \
             jemalloc, {:.2} under mimalloc (the source 1.63 and 0.9-1.7); mimalloc makes serde_json {:.2} times as fast \
             as glibc",
            times[0],
            times[1],
            times[2],
            found.times("serde_json, glibc", "serde_json, mimalloc"),
        );
        (if holds { Verdict::Reproduced } else { Verdict::NotReproduced }, why)
    },
};

fn value(window: &mut Window) {
    each(window, |line| drop(serde_json::from_str::<Value>(line)));
}

fn json(window: &mut Window) {
    each(window, |line| drop(json::parse(line)));
}
