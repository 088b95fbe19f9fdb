//! 3.15: Google's own tcmalloc compared with the others, with the feature of that name. The C++
//! compiler builds it.

use super::allocators::{json, value};
use crate::cases::said::times;
use crate::{Case, Claim, Judged, Variant};

/// The case.
pub(super) const CASE: Case = Case {
    id: "3.15",
    system: "tcmalloc beside glibc, jemalloc and mimalloc: the JSON of 3.9 (feature tcmalloc)",
    headline: "no figures: mimalloc claims to be faster than jemalloc and tcmalloc",
    variants: &[
        Variant::new("serde_json, glibc", value).under("glibc"),
        Variant::new("serde_json, jemalloc", value).under("jemalloc"),
        Variant::new("serde_json, mimalloc", value).under("mimalloc"),
        #[cfg(feature = "tcmalloc")]
        Variant::new("serde_json, tcmalloc", value).under("tcmalloc"),
        Variant::new("json, glibc", json).under("glibc"),
        #[cfg(feature = "tcmalloc")]
        Variant::new("json, tcmalloc", json).under("tcmalloc"),
    ],
    judge: |found| {
        let names = ["total_blocks", "total_bytes", "peak_bytes"];
        let same = |library: &str, allocator: &str| {
            let of = |allocator: &str, name| found.of(&format!("{library}, {allocator}"), name);
            names
                .iter()
                .all(|name| of(allocator, name) == of("glibc", name))
        };
        let built = !found.of("serde_json, tcmalloc", "total_blocks").is_nan();
        let holds = same("serde_json", "jemalloc")
            && same("serde_json", "mimalloc")
            && (!built || same("serde_json", "tcmalloc") && same("json", "tcmalloc"));
        let than_mimalloc = |allocator: &str| {
            found.times(&format!("serde_json, {allocator}"), "serde_json, mimalloc")
        };
        let tcmalloc = match built {
            true => format!(
                "serde_json takes {} as long under glibc as under tcmalloc, json {}",
                times(found.times("serde_json, glibc", "serde_json, tcmalloc")),
                times(found.times("json, glibc", "json, tcmalloc")),
            ),
            false => {
                "tcmalloc was not built: it needs --features tcmalloc and a C++ compiler".to_owned()
            }
        };
        let why = format!(
            "blocks, bytes and peak do not depend on the allocator; {tcmalloc}. musl's: 0.25"
        );
        Judged::facts(holds, why)
            .claim(
                Claim::more("times as long under jemalloc as under mimalloc"),
                than_mimalloc("jemalloc"),
            )
            .claim(
                Claim::more("times as long under tcmalloc as under mimalloc"),
                than_mimalloc("tcmalloc"),
            )
    },
};
