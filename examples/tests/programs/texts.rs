//! Texts read from JSON, with their computed bytes. Built by `tests/recorded/types.rs`. The
//! compiler often merges the code of serde's visitors of texts, and each type must still be
//! reported as what it is.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::mem::size_of;

#[global_allocator]
static ALLOC: tracking_alloc::TrackingAlloc = tracking_alloc::TrackingAlloc::system();

const STRING: &str = "alloc::string::String";

#[derive(Deserialize)]
#[allow(dead_code)]
struct Row {
    name: String,
    tags: Vec<String>,
    note: Option<String>,
    boxed: Box<str>,
    more: BTreeMap<String, String>,
    either: Either,
}

/// The text is first kept in serde's buffer, as borrowed text.
#[derive(Deserialize)]
#[serde(untagged)]
#[allow(dead_code)]
enum Either {
    Text(String),
    Number(u64),
}

/// Returns the total bytes that a vector requests while it grows by single elements of `size`
/// bytes.
fn grown(count: usize, size: usize) -> usize {
    let mut capacity = 4;
    let mut bytes = capacity * size;
    while capacity < count {
        capacity *= 2;
        bytes += capacity * size;
    }
    bytes
}

/// Returns the bytes of the only leaf of a small B-tree: parent, eleven keys and values, two
/// indexes.
fn leaf<K, V>() -> usize {
    (8 + 11 * (size_of::<K>() + size_of::<V>()) + 4).next_multiple_of(8)
}

fn main() {
    let n = std::env::args().count() * 300;
    let row = |at: usize| {
        let text = |what: &str| format!("{what} number {at}");
        let keys = ["a key", "another key"];
        let texts = [
            text("name"),
            text("note"),
            text("boxed"),
            text("either"),
            text("tag"),
            text("other"),
        ];
        let [name, note, boxed, either, tag, other] = &texts;
        let [first, second] = keys;
        let json = format!(
            r#"{{"name": "{name}", "tags": ["{tag}", "{tag}"], "note": "{note}", "boxed": "{boxed}", "more": {{"{first}": "{other}", "{second}": "{other}"}}, "either": "{either}"}}"#
        );
        // The tag and the other text exist twice.
        let bytes = texts.iter().map(String::len).sum::<usize>() + tag.len() + other.len();
        (json, bytes + keys.map(str::len).iter().sum::<usize>())
    };
    let rows: Vec<(String, usize)> = (0..n).map(row).collect();
    let json: Vec<&str> = rows.iter().map(|(json, _)| json.as_str()).collect();
    let json = format!("[{}]", json.join(","));
    let texts: usize = rows.iter().map(|(_, bytes)| bytes).sum();
    // The names of the fields are texts if the data is not read into structs.
    let names = n * ["name", "tags", "note", "boxed", "more", "either"]
        .map(str::len)
        .iter()
        .sum::<usize>();

    let phase = tracking_alloc::phase("load");
    let told: Vec<Row> = serde_json::from_str(&json).expect("rows");
    let bytes: Vec<Row> = serde_json::from_slice(json.as_bytes()).expect("rows");
    let any: serde_json::Value = serde_json::from_str(&json).expect("a value");
    black_box((&told, &bytes, &any));
    drop(phase);

    let value = size_of::<serde_json::Value>();
    let types = BTreeMap::from([
        (STRING, 3 * texts + names),
        (
            "alloc::vec::Vec<texts::Row>",
            2 * grown(n, size_of::<Row>()),
        ),
        (
            "alloc::vec::Vec<alloc::string::String>",
            2 * n * grown(2, 24),
        ),
        (
            "alloc::collections::btree::map::BTreeMap<alloc::string::String, alloc::string::String>",
            2 * n * leaf::<String, String>(),
        ),
        (
            "alloc::vec::Vec<serde_json::value::Value>",
            grown(n, value) + n * grown(2, value),
        ),
        (
            "alloc::collections::btree::map::BTreeMap<alloc::string::String, serde_json::value::Value>",
            2 * n * leaf::<String, serde_json::Value>(),
        ),
    ]);
    println!("{{\"types\": {types:?}}}");
}
