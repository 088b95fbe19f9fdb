//! 3.9: both libraries under each allocator.

use super::airlines::each;
use crate::cases::said::times;
use crate::{Case, Claim, Judged, Variant, Window};
use serde_json::Value;

/// The case.
pub(super) const CASE: Case = Case {
    id: "3.9",
    system: "both by allocator",
    headline: "another allocator speeds things up only sometimes: serde_json and json-rust take 49.2 and 30.2 ms under the system's, \
               30 to 60 and 34.8 ms under jemalloc",
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
            ["total_blocks", "total_bytes", "peak_bytes"]
                .into_iter()
                .all(|name| {
                    of("jemalloc", name) == of("glibc", name)
                        && of("mimalloc", name) == of("glibc", name)
                })
        };
        let faster = |allocator: &str| {
            found.times(
                &format!("serde_json, {allocator}"),
                &format!("json, {allocator}"),
            )
        };
        let ratios = ["glibc", "jemalloc", "mimalloc"].map(faster);
        let holds = same("serde_json") && same("json");
        let why = format!(
            "blocks, bytes and peak do not depend on the allocator; json is {} as fast under glibc, {} under jemalloc, \
             {} under mimalloc; mimalloc makes serde_json {} as fast as glibc",
            times(ratios[0]),
            times(ratios[1]),
            times(ratios[2]),
            times(found.times("serde_json, glibc", "serde_json, mimalloc")),
        );
        Judged::facts(holds, why)
            .claim(
                Claim::times(
                    "times as long by serde_json, the system's allocator",
                    49.2 / 30.2,
                ),
                ratios[0],
            )
            .claim(
                Claim::times("the same under jemalloc", 0.0)
                    .between(30.0 / 34.8, 60.0 / 34.8)
                    .within(0.1),
                ratios[1],
            )
    },
};

pub(super) fn value(window: &mut Window) {
    each(window, |line| drop(serde_json::from_str::<Value>(line)));
}

pub(super) fn json(window: &mut Window) {
    each(window, |line| drop(json::parse(line)));
}
