//! 0.11: when strings are validated. Time moves, allocations do not.

use super::people::{self, PEOPLE};
use super::times;
use crate::{Case, Claim, Judged, Variant, Window};

/// The case.
pub(super) const CASE: Case = Case {
    id: "0.11",
    system: "UTF-8: validate then store, store then truncate, deferred, an ASCII fast path",
    headline: "validation was 30-40 % of self time",
    variants: &[
        Variant::new("validate, then store", |window| {
            store(window, |flat, text| {
                let valid = std::str::from_utf8(text).is_ok();
                if valid {
                    flat.extend_from_slice(text);
                }
                valid
            });
        }),
        Variant::new("store, then truncate", |window| {
            store(window, |flat, text| {
                let start = flat.len();
                flat.extend_from_slice(text);
                let valid = std::str::from_utf8(&flat[start..]).is_ok();
                if !valid {
                    flat.truncate(start);
                }
                valid
            });
        }),
        // Whoever reads one validates it then.
        Variant::new("deferred", |window| {
            store(window, |flat, text| {
                flat.extend_from_slice(text);
                true
            });
        }),
        Variant::new("ASCII fast path", |window| {
            store(window, |flat, text| {
                let valid = text.is_ascii() || std::str::from_utf8(text).is_ok();
                if valid {
                    flat.extend_from_slice(text);
                }
                valid
            });
        }),
    ],
    judge: |found| {
        let all = [
            "validate, then store",
            "store, then truncate",
            "deferred",
            "ASCII fast path",
        ];
        let same = |name| {
            all.iter()
                .all(|variant| found.of(variant, name) == found.of(all[0], name))
        };
        let holds = same("total_blocks") && same("total_bytes") && same("strings");
        let validation = 1.0 - found.times("deferred", all[0]);
        let share = match validation.is_nan() {
            true => "(not timed)".to_owned(),
            false => format!("{:.0} %", validation * 100.0),
        };
        let why = format!(
            "time moves, allocations do not: {:.0} blocks and {:.0} bytes each way; validation is {share} of the time (the \
             source: 30-40 %); store then truncate takes {}, the ASCII path {} the time of validate then store",
            found.of(all[0], "total_blocks"),
            found.of(all[0], "total_bytes"),
            times(found.times("store, then truncate", all[0])),
            times(found.times("ASCII fast path", all[0])),
        );
        Judged::facts(holds, why)
            .claim(
                Claim::count("share of the time that goes into validation", 0.0)
                    .between(0.3, 0.4)
                    .within(0.1),
                validation,
            )
            .because("there is little else to do here than to validate and to store")
            .claim(
                Claim::more("times as long by validating first as by storing first"),
                found.times(all[0], "store, then truncate"),
            )
            .claim(
                Claim::more("times as long by validating at once as when deferred"),
                found.times(all[0], "deferred"),
            )
    },
};

/// Stores all names in one flat buffer; `add` says whether it took one.
fn store(window: &mut Window, add: fn(&mut Vec<u8>, &[u8]) -> bool) {
    let count = window.scaled(2 * PEOPLE);
    let bytes = people::encoded_names(count);
    window.input(bytes.len(), count);
    let mut strings = 0;
    window.work(|| {
        let mut flat = Vec::new();
        let (_, texts) = people::read_texts(&bytes);
        strings = texts.filter(|text| add(&mut flat, text)).count();
        flat
    });
    window.note("strings", strings as f64);
}
