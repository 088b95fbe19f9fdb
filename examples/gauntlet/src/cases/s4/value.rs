//! 4.2: the record as `Value`, a map of everything in the text, and as a type with code generated
//! for it.

use super::log::{goser, json};
use super::{judged, repeat, speed, takes};
use crate::{Case, Variant, Window};
use serde::Serialize;
use serde_json::Value;

/// The blocks of keys, texts and the maps' nodes.
const BLOCKS: f64 = 25.0 + 10.0 + 5.0;
/// The lengths of the keys and of the texts, and four leaves and one inner node of a
/// `BTreeMap<String, Value>`: the record has 12 keys, and a leaf has room for 11.
const BYTES: f64 = 200.0 + 236.0 + 4.0 * 632.0 + 728.0;

/// The case.
pub(super) const CASE: Case = Case {
    id: "4.2",
    system: "Go encoding/json; ffjson: serde_json Value; code made for the type",
    headline: "Go's encoding/json, by reflection, writes 71.47 MB/s and reads 25.09; ffjson, made for the type, writes 156.67",
    variants: &[
        Variant::new("Value, deserialize", |window| {
            let text = json();
            let once = || serde_json::from_str::<Value>(&text).expect("it is JSON");
            assert_eq!(serde_json::from_value(once()).ok(), Some(goser::<String>()));
            repeat(window, text.len(), once);
        }),
        Variant::new("Value, serialize", |window| {
            written(window, &value());
        }),
        Variant::new("Value, serialize into a kept buffer", |window| {
            written_again(window, &value());
        }),
        Variant::new("derive, serialize", |window| {
            written(window, &goser::<String>());
        }),
        Variant::new("derive, serialize into a kept buffer", |window| {
            written_again(window, &goser::<String>());
        }),
    ],
    judge: |found| {
        let (value, derive) = ("Value, serialize", "derive, serialize");
        let again = [
            "Value, serialize into a kept buffer",
            "derive, serialize into a kept buffer",
        ];
        let counts = takes(found, &["Value, deserialize"], BLOCKS, BYTES)
            && takes(found, &again, 0.0, 0.0)
            && takes(found, &[value, derive], 4.0, 1_920.0);
        let said = format!(
            "{BLOCKS} blocks and {BYTES} B a record: 25 keys, 10 texts, 4 leaves of 632 B and a node of 728 B. {} / {} as Value \
             against 71.47 / 25.09, {} by derive against ffjson's 156.67",
            speed(found, value),
            speed(found, "Value, deserialize"),
            speed(found, derive),
        );
        let faster = [
            (value, "Value, deserialize", (71.47 / 25.09, 71.47 / 25.09)),
            (derive, value, (156.67 / 71.47, 156.67 / 71.47)),
        ];
        judged(found, counts, &faster, &said)
    },
};

fn value() -> Value {
    serde_json::from_str(&json()).expect("it is JSON")
}

fn written(window: &mut Window, log: &impl Serialize) {
    repeat(window, json().len(), || {
        serde_json::to_vec(log).expect("the record is JSON")
    });
}

fn written_again(window: &mut Window, log: &impl Serialize) {
    let len = json().len();
    let mut buffer = Vec::with_capacity(len);
    repeat(window, len, || {
        buffer.clear();
        serde_json::to_writer(&mut buffer, log).expect("the record is JSON");
        buffer.len()
    });
}
