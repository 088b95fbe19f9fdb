//! 4.1: the record through a tree of values, and through callbacks without a tree, like rapidjson's
//! two interfaces. simd-json and sonic-rs need the feature `peers`.

use super::log::{Log, goser, json};
use super::sax::record;
use super::{TEXT_BYTES, TEXTS, each, judged, repeat, speed, takes};
use crate::{Case, Found, Variant, Window};
use serde::de::IgnoredAny;
use serde_json::Value;

/// The case.
pub(super) const CASE: Case = Case {
    id: "4.1",
    system: "rapidjson (DOM / SAX): serde_json; simd-json, sonic-rs (feature peers)",
    headline: "rapidjson writes 294 MB/s and reads 164 by way of a tree to the object, 192 by callbacks that build it",
    variants: &[
        Variant::new("serde_json DOM, deserialize", |window| {
            read(window, |text| {
                serde_json::from_str::<Value>(text).expect("it is JSON")
            });
        }),
        Variant::new("serde_json without DOM, deserialize", |window| {
            read(window, |text| {
                serde_json::from_str::<IgnoredAny>(text).expect("it is JSON")
            });
        }),
        // The source timed this; both ways end with a record.
        Variant::new("serde_json DOM to the record, deserialize", |window| {
            read(window, |text| {
                let value: Value = serde_json::from_str(text).expect("it is JSON");
                serde_json::from_value::<Log<String>>(value).expect("it is this record")
            });
        }),
        Variant::new("serde_json SAX to the record, deserialize", |window| {
            assert_eq!(record(&json()).ok(), Some(goser()));
            read(window, |text| record(text).expect("it is this record"));
        }),
        Variant::new("serde_json DOM, serialize", |window| {
            let text = json();
            let value: Value = serde_json::from_str(&text).expect("it is JSON");
            repeat(window, text.len(), || {
                serde_json::to_vec(&value).expect("a value is JSON")
            });
        }),
        #[cfg(feature = "peers")]
        Variant::new("simd-json DOM, deserialize", |window| {
            peers::simd_read(window, |text| {
                simd_json::to_owned_value(text).expect("it is JSON")
            });
        }),
        #[cfg(feature = "peers")]
        Variant::new("simd-json tape, deserialize", |window| {
            peers::simd_tape(window)
        }),
        #[cfg(feature = "peers")]
        Variant::new("simd-json DOM, serialize", |window| {
            peers::simd_write(window)
        }),
        #[cfg(feature = "peers")]
        Variant::new("sonic-rs DOM, deserialize", |window| {
            read(window, |text| {
                sonic_rs::from_str::<sonic_rs::Value>(text).expect("it is JSON")
            });
        }),
        #[cfg(feature = "peers")]
        Variant::new("sonic-rs &str types, deserialize", |window| {
            peers::sonic_types(window)
        }),
        #[cfg(feature = "peers")]
        Variant::new("sonic-rs DOM, serialize", |window| {
            peers::sonic_write(window)
        }),
    ],
    judge: |found| {
        let (dom, sax, written) = (
            "serde_json DOM, deserialize",
            "serde_json without DOM, deserialize",
            "serde_json DOM, serialize",
        );
        let (by_dom, by_sax) = (
            "serde_json DOM to the record, deserialize",
            "serde_json SAX to the record, deserialize",
        );
        // Without a tree, it only keeps the open brackets. The record's texts move out of the tree.
        let counts = takes(found, &[dom, by_dom], 40.0, 3_692.0)
            && takes(found, &[sax], 1.0, 8.0)
            && takes(found, &[by_sax], TEXTS, TEXT_BYTES);
        let said = format!(
            "{} blocks a record by serde_json's DOM, one of 8 B without, and {} when callbacks build the record, its texts: {} / {}, \
             {} against rapidjson's 294 / 164, 192 (the tree alone {}, nothing built at all {}); {}",
            each(found, dom, "total_blocks"),
            each(found, by_sax, "total_blocks"),
            speed(found, written),
            speed(found, by_dom),
            speed(found, by_sax),
            speed(found, dom),
            speed(found, sax),
            peers_say(found),
        );
        let faster = [
            (written, by_dom, (294.0 / 164.0, 294.0 / 164.0)),
            (by_sax, by_dom, (192.0 / 164.0, 192.0 / 164.0)),
        ];
        judged(found, counts, &faster, &said)
    },
};

/// Returns a sentence about the allocations of the peers' trees.
fn peers_say(found: &Found<'_>) -> String {
    if found.of("simd-json DOM, deserialize", "records").is_nan() {
        return "simd-json and sonic-rs were not built: they need --features peers".to_owned();
    }
    let say = |name: &str, without: &str| {
        let (dom, written) = (
            format!("{name} DOM, deserialize"),
            format!("{name} DOM, serialize"),
        );
        let without = format!("{name} {without}, deserialize");
        format!(
            "{name} {} blocks by DOM, {} without: {} / {}, {}",
            each(found, &dom, "total_blocks"),
            each(found, &without, "total_blocks"),
            speed(found, &written),
            speed(found, &dom),
            speed(found, &without),
        )
    };
    format!(
        "{}; {}",
        say("simd-json", "tape"),
        say("sonic-rs", "&str types")
    )
}

fn read<T>(window: &mut Window, once: impl Fn(&str) -> T) {
    let text = json();
    repeat(window, text.len(), || once(&text));
}

/// Crates that take long to build.
#[cfg(feature = "peers")]
mod peers {
    use super::super::log::{Log, goser};
    use super::super::repeat;
    use super::json;
    use crate::Window;
    use simd_json::prelude::Writable;

    /// simd-json writes into its input, so each run copies the input into a reused buffer. The
    /// times include the copy.
    pub(super) fn simd_read<T>(window: &mut Window, once: impl Fn(&mut [u8]) -> T) {
        let text = json();
        let mut buffer = text.clone().into_bytes();
        repeat(window, text.len(), || {
            buffer.copy_from_slice(text.as_bytes());
            once(&mut buffer)
        });
    }

    /// Reads the text into a list of its values, which borrows from it.
    pub(super) fn simd_tape(window: &mut Window) {
        simd_read(window, |text| {
            simd_json::to_tape(text).expect("it is JSON").0.len()
        });
    }

    pub(super) fn simd_write(window: &mut Window) {
        let mut text = json().into_bytes();
        let value = simd_json::to_owned_value(&mut text).expect("it is JSON");
        repeat(window, text.len(), || value.encode());
    }

    pub(super) fn sonic_types(window: &mut Window) {
        let text = json();
        let once = || sonic_rs::from_str::<Log<&str>>(&text).expect("it is this record");
        assert_eq!(once(), goser());
        repeat(window, text.len(), once);
    }

    pub(super) fn sonic_write(window: &mut Window) {
        let text = json();
        let value: sonic_rs::Value = sonic_rs::from_str(&text).expect("it is JSON");
        repeat(window, text.len(), || {
            sonic_rs::to_vec(&value).expect("a value is JSON")
        });
    }
}
