//! 3.8: the airlines read by the json crate, which stores strings of up to 30 bytes inline.

use super::airlines::{each, each_read};
use crate::cases::said::ms;
use crate::{Case, Claim, Judged, Variant};
use serde_json::Value;

/// The case.
pub(super) const CASE: Case = Case {
    id: "3.8",
    system: "json-rust (strings of up to 30 B inline)",
    headline: "json-rust takes 44 to 45 ms, allocates 26.8 MB and has at most 16,746 B live, against serde_json's 63 to 65 ms, 24.9 MB \
               and 19,173 B",
    variants: &[
        Variant::new("serde_json", |window| {
            each(window, |line| drop(serde_json::from_str::<Value>(line)))
        }),
        Variant::new("json", |window| {
            each(window, |line| drop(json::parse(line)))
        }),
        Variant::new("serde_json by BufRead", |window| {
            each_read(window, |line| drop(serde_json::from_str::<Value>(line)));
        }),
        Variant::new("json by BufRead", |window| {
            each_read(window, |line| drop(json::parse(line)));
        }),
    ],
    judge: |found| {
        let of = |name: &str| (found.of("serde_json", name), found.of("json", name));
        let fresh = |variant: &str| found.of(variant, "total_blocks") - found.of(variant, "grows");
        let (bytes, peak, records) = (
            of("total_bytes"),
            of("peak_bytes"),
            found.of("json", "records"),
        );
        let faster = found.times("serde_json", "json");
        let holds = fresh("json") < fresh("serde_json") && bytes.1 > bytes.0;
        let why = format!(
            "the paradox: {:.1} fresh blocks and {:.1} grows a line against {:.1}, {:.2} times the bytes asked for, peak \
             {:.0} against {:.0} B, {} against {}: its objects grow by doubling, each \
             growth counting in full, but ask the allocator far less often; by a BufRead as in the source, whose buffer and line \
             are live too, peak {:.0} against {:.0} B. On \
             the source's own file we counted 11.9 and 5.0 a line: its airports' names seldom fit the 30 bytes",
            fresh("json") / records,
            found.of("json", "grows") / records,
            fresh("serde_json") / records,
            bytes.1 / bytes.0,
            peak.1,
            peak.0,
            ms(found.of("json", "time_ns")),
            ms(found.of("serde_json", "time_ns")),
            found.of("json by BufRead", "peak_bytes"),
            found.of("serde_json by BufRead", "peak_bytes"),
        );
        Judged::facts(holds, why)
            .claim(
                Claim::times("times as long by serde_json", 0.0)
                    .between(63.0 / 45.0, 65.0 / 44.0)
                    .within(0.1),
                faster,
            )
            .claim(
                Claim::times("times the bytes by json-rust", 26.8 / 24.9).within(0.02),
                bytes.1 / bytes.0,
            )
            .claim(
                Claim::times("times the peak by json-rust", 16_746.0 / 19_173.0).within(0.05),
                found.of("json by BufRead", "peak_bytes")
                    / found.of("serde_json by BufRead", "peak_bytes"),
            )
    },
};
