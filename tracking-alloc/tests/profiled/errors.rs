//! After every kind of error, the message is the same as without `Profiled`, and the thread is back
//! in its scope.

use crate::recorded::recorded;
use serde::de::{Deserialize, Deserializer, Visitor};
use std::fmt;
use std::hint::black_box;
use tracking_alloc::{Profiled, phase};

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Strict {
    text: String,
    list: Vec<u8>,
    pair: (String, u8),
    choice: Option<Choice>,
}

#[derive(Debug, serde::Deserialize)]
#[expect(dead_code, reason = "only read")]
enum Choice {
    One(String),
    Two { two: u8 },
}

const BAD: [&str; 12] = [
    r#"{"#,
    r#"[]"#,
    r#"{"text": 1}"#,
    r#"{"text": "", "text": ""}"#,
    r#"{"unknown": ""}"#,
    r#"{"list": [1, 256]}"#,
    r#"{"pair": ["x"]}"#,
    r#"{"pair": ["x", 1, 2]}"#,
    r#"{"choice": "Three"}"#,
    r#"{"choice": {"Two": {"two": true}}}"#,
    r#"{"choice": {"One": []}}"#,
    r#"{"text": "x"}"#,
];

#[test]
fn errors_read_the_same() {
    recorded("errors::errors_read_the_same", || {
        for text in BAD {
            let bare = serde_json::from_str::<Strict>(text).expect_err(text);
            let observed = serde_json::from_str::<Profiled<Strict>>(text).expect_err(text);
            assert_eq!(bare.to_string(), observed.to_string());
        }
        for length in 0..8 {
            let bytes = &[9, 0, 1, 2, 3, 4, 5, 6][..length];
            let bare = postcard::from_bytes::<Strict>(bytes).err();
            let observed = postcard::from_bytes::<Profiled<Strict>>(bytes).err();
            assert_eq!(bare, observed);
        }
    });
}

struct Panics;

impl<'de> Deserialize<'de> for Panics {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_str(Panics)
    }
}

impl Visitor<'_> for Panics {
    type Value = Panics;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nothing")
    }

    fn visit_str<E>(self, _: &str) -> Result<Panics, E> {
        panic!("a visitor panics")
    }
}

#[test]
fn errors_and_panics_leave_the_thread_where_it_was() {
    let recorded = recorded(
        "errors::errors_and_panics_leave_the_thread_where_it_was",
        || {
            let _phase = phase("all");
            for text in BAD {
                let _ = serde_json::from_str::<Profiled<Strict>>(text);
                black_box(vec![0u8; 1000]);
            }
            // Reporting a panic allocates, and with a backtrace it allocates a lot.
            std::panic::set_hook(Box::new(|_| ()));
            let panicked = std::panic::catch_unwind(|| {
                serde_json::from_str::<Profiled<Vec<Vec<Panics>>>>(r#"[["x"]]"#).is_ok()
            });
            assert!(panicked.is_err());
            black_box(vec![0u8; 1000]);
            std::process::exit(0);
        },
    );
    // Errors are boxed and panics are caught at the root or outside. The vectors are outside.
    let all = recorded.at("all/");
    assert!(
        all.total_bytes >= 13_000 && all.total_blocks >= 13,
        "{}",
        recorded.table()
    );
    let inside = recorded.below("all/").0 - all.total_bytes;
    assert!(inside < 13_000, "{}", recorded.table());
}
