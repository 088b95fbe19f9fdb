//! 4.5: the record as types, by serde_json, the successor of the source's two JSON libraries for
//! Rust.

use super::log::{Log, goser, json};
use super::{TEXT_BYTES, TEXTS, each, judged, repeat, speed, takes};
use crate::{Case, Variant, Window};
use serde::Deserialize;
use serde_json::Value;

/// The case.
pub(super) const CASE: Case = Case {
    id: "4.5",
    system: "Rust serialize::json, first and improved: serde_json typed, String and &str",
    headline: "Rust's JSON of 2014 wrote about 40 MB/s and read about 10, later 117 and 25: more than twice",
    variants: &[
        Variant::new("String, deserialize", |window| {
            read::<Log<String>>(window, |text| {
                serde_json::from_str(text).expect("it is this record")
            });
        }),
        Variant::new("&str, deserialize", |window| {
            let text = json();
            let once = || serde_json::from_str::<Log<&str>>(&text).expect("it is this record");
            assert_eq!(once(), goser());
            repeat(window, text.len(), once);
        }),
        Variant::new("String by way of Value, deserialize", |window| {
            read(window, |text| {
                let value: Value = serde_json::from_str(text).expect("it is JSON");
                Log::<String>::deserialize(value).expect("it is this record")
            });
        }),
        Variant::new("serialize", |window| {
            let log = goser::<String>();
            repeat(window, json().len(), || {
                serde_json::to_string(&log).expect("the record is JSON")
            });
        }),
        Variant::new("serialize, with capacity", |window| {
            let (log, len) = (goser::<String>(), json().len());
            repeat(window, len, || {
                let mut buffer = Vec::with_capacity(len);
                serde_json::to_writer(&mut buffer, &log).expect("the record is JSON");
                buffer
            });
        }),
        Variant::new("serialize into a kept buffer", |window| {
            let (log, len) = (goser::<String>(), json().len());
            let mut buffer = Vec::with_capacity(len);
            repeat(window, len, || {
                buffer.clear();
                serde_json::to_writer(&mut buffer, &log).expect("the record is JSON");
                buffer.len()
            });
        }),
    ],
    judge: |found| {
        let (owned, value) = ("String, deserialize", "String by way of Value, deserialize");
        let counts = takes(found, &[owned], TEXTS, TEXT_BYTES)
            && takes(found, &["&str, deserialize", "serialize into a kept buffer"], 0.0, 0.0)
            && takes(found, &["serialize, with capacity"], 1.0, 605.0)
            // A capacity of 128 B, doubled until 605 B fit.
            && takes(found, &["serialize"], 4.0, 128.0 + 256.0 + 512.0 + 1_024.0);
        let said = format!(
            "10 blocks and 236 B a record as String, all of them texts, 0 as &str, {} by way of Value; 4 to serialize, 1 with \
             capacity, 0 into a kept buffer. {} / {} with String ({} as &str, {} by way of Value, as the first of 2014 went) \
             against 40 / 10 and 117 / 25",
            each(found, value, "total_blocks"),
            speed(found, "serialize, with capacity"),
            speed(found, owned),
            speed(found, "&str, deserialize"),
            speed(found, value),
        );
        // The source's figures before and after its fixes.
        let both = (40.0 / 10.0, 117.0 / 25.0);
        let written = "serialize, with capacity";
        judged(
            found,
            counts,
            &[(written, owned, both), (written, value, both)],
            &said,
        )
    },
};

fn read<T>(window: &mut Window, once: impl Fn(&str) -> T)
where
    T: PartialEq<Log<String>> + std::fmt::Debug,
{
    let text = json();
    assert_eq!(once(&text), goser());
    repeat(window, text.len(), || once(&text));
}
