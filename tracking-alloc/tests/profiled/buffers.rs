//! serde's buffers, and the values built from a buffer, have rows of their own.

use crate::recorded::recorded;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::hint::black_box;
use tracking_alloc::{Profiled, measure, phase};

#[derive(Debug, Deserialize)]
struct All {
    before: Untagged,
    tagged: Vec<Tagged>,
    adjacent: Adjacent,
    content_first: Adjacent,
    flat: Flat,
    after: String,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
#[expect(dead_code, reason = "only read")]
enum Untagged {
    Number(u64),
    Pair { one: String, other: String },
    Text { text: String },
}

#[derive(Debug, Deserialize)]
#[serde(tag = "kind")]
#[expect(dead_code, reason = "only read")]
enum Tagged {
    Named { name: String },
}

#[derive(Debug, Deserialize)]
#[serde(tag = "t", content = "c")]
#[expect(dead_code, reason = "only read")]
enum Adjacent {
    Named { name: String },
}

#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "only read")]
struct Flat {
    known: String,
    #[serde(flatten)]
    inner: Inner,
    #[serde(flatten)]
    rest: BTreeMap<String, String>,
    last: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Inner {
    inside: String,
}

const TEXT: &str = r#"{
    "before": {"text": "some text"},
    "tagged": [{"name": "one", "kind": "Named"}, {"kind": "Named", "name": "two"}],
    "adjacent": {"t": "Named", "c": {"name": "three"}},
    "content_first": {"c": {"name": "four"}, "t": "Named"},
    "flat": {"known": "k", "inside": "i", "more": "m", "last": ["l"]},
    "after": "after"
}"#;

#[test]
fn buffers_are_rows_beside_what_is_built_from_them() {
    let recorded = recorded(
        "buffers::buffers_are_rows_beside_what_is_built_from_them",
        || {
            // Read from a reader, so that no string of a buffer is borrowed.
            let (bare, delta) = measure(|| serde_json::from_reader::<_, All>(TEXT.as_bytes()));
            black_box(bare.expect("all"));
            {
                let _phase = phase("load");
                let all = serde_json::from_reader::<_, Profiled<All>>(TEXT.as_bytes());
                black_box(all.expect("all"));
            }
            let _expected = phase(&format!(
                "expected {} {}",
                delta.total_bytes, delta.total_blocks
            ));
            std::process::exit(0);
        },
    );
    let (bytes, blocks) = recorded.below("load/");
    recorded.at(&format!("expected {bytes} {blocks}/"));
    let blocks = |path: &str| recorded.at(&format!("load/All{path}")).total_blocks;
    for buffered in [".before", ".tagged[]", ".content_first", ".flat"] {
        assert!(blocks(&format!("{buffered}(buffered)")) > 0, "{buffered}");
        assert_eq!(blocks(buffered), 0, "{buffered} {}", recorded.table());
    }
    // The matching variant copies its text from the buffer. Others move theirs out of it.
    assert!(blocks(".before(from buffer)") > 0);
    assert_eq!(blocks(".tagged[](from buffer)"), 0);
    // The map's nodes. Keys and values are copies.
    assert_eq!(blocks(".flat(from buffer)"), 3, "{}", recorded.table());
    assert_eq!(blocks(".adjacent.c.name"), 1, "{}", recorded.table());
    assert_eq!(blocks(".adjacent"), 0);
    assert_eq!(recorded.at("load/All.adjacent").flags, 0);
    assert_eq!(blocks(".flat.known"), 1);
    assert_eq!(blocks(".flat.last"), 1);
    assert_eq!(blocks(".flat.last[]"), 1);
    assert_eq!(blocks(".after"), 1);
    assert!(
        !recorded
            .places
            .keys()
            .any(|path| path.contains("Content") || path.contains(".more")),
        "{}",
        recorded.table()
    );
}
