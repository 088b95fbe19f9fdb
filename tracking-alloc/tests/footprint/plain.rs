//! Strings, vectors, boxes, structs and enums.

use super::{bounded, exact, made, text};
use serde::Serialize;
use tracking_alloc::footprint;

#[test]
fn spare_capacity_is_slack_and_found_without_anything_in_it() {
    let found = exact(|| {
        let mut numbers: Vec<u64> = Vec::with_capacity(100);
        numbers.extend(0..30);
        let mut name = String::with_capacity(50);
        name.push_str("seventeen letters");
        let (none, no_text) = (Vec::<u64>::with_capacity(10), String::with_capacity(33));
        (numbers, name, none, no_text)
    });
    assert_eq!((found.blocks, found.block_bytes), (4, 800 + 50 + 80 + 33));
    assert_eq!(found.used_bytes, 30 * 8 + 17);
    assert!(found.usable_bytes < found.block_bytes + 4 * 32, "{found:?}");
}

#[test]
fn strings_count_to_the_byte() {
    exact(|| (0..500).map(|n| text(n % 60)).collect::<Vec<_>>());
    let found = exact(|| vec![text(5), text(0), text(16), text(40)]);
    assert_eq!((found.blocks, found.block_bytes), (4, 4 * 24 + 61));
    assert_eq!(found.used_bytes, found.block_bytes);
    assert_eq!((found.shared_blocks, found.shared_bytes), (0, 0));
}

#[derive(Serialize)]
struct Boss {
    title: String,
    level: u32,
}

#[test]
fn boxes_count_also_those_of_numbers() {
    #[expect(clippy::vec_box, reason = "blocks of their own are what is counted")]
    #[derive(Serialize)]
    struct Boxes {
        boss: Option<Box<Boss>>,
        none: Option<Box<Boss>>,
        number: Option<Box<u64>>,
        half: Box<u32>,
        text: Box<str>,
        numbers: Box<[u16]>,
        all: Vec<Box<Boss>>,
    }
    let boss = |length| {
        Box::new(Boss {
            title: text(length),
            level: 3,
        })
    };
    exact(|| Boxes {
        boss: Some(boss(9)),
        none: None,
        number: Some(Box::new(7)),
        half: Box::new(1),
        text: text(12).into(),
        numbers: vec![1, 2, 3].into(),
        all: (0..20).map(boss).collect(),
    });
}

#[derive(Serialize)]
enum Shape {
    Unit,
    Named {
        points: Vec<(f64, f64)>,
        name: String,
    },
    Pair(String, Box<Shape>),
    New(Vec<String>),
}

#[derive(Serialize)]
#[serde(untagged)]
enum Loose {
    Number(u64),
    Text(String),
    Many(Vec<Loose>),
}

#[derive(Serialize)]
#[serde(tag = "kind", content = "content")]
enum Adjacent {
    One(Vec<u32>),
    Two { name: String },
}

#[test]
fn enums_of_all_kinds_count() {
    exact(|| {
        let named = Shape::Named {
            points: vec![(1.0, 2.0); 7],
            name: text(20),
        };
        let pair = Shape::Pair(text(3), Box::new(Shape::New(vec![text(30), text(31)])));
        vec![Shape::Unit, named, pair, Shape::Unit]
    });
    exact(|| {
        let many = (0..50).map(|n| Loose::Text(text(n))).collect();
        vec![Loose::Number(1), Loose::Many(many), Loose::Text(text(8))]
    });
    exact(|| vec![Adjacent::One(vec![1; 20]), Adjacent::Two { name: text(70) }]);
}

#[test]
fn recursion_and_flattened_maps_count() {
    #[derive(Serialize)]
    struct Tree {
        name: String,
        inner: Vec<Tree>,
        next: Option<Box<Tree>>,
    }
    fn tree(depth: usize) -> Tree {
        Tree {
            name: text(depth + 1),
            inner: (0..depth).map(tree).collect(),
            next: (depth > 0).then(|| Box::new(tree(depth - 1))),
        }
    }
    exact(|| tree(6));

    #[derive(Serialize)]
    struct Inner {
        place: String,
    }
    #[derive(Serialize)]
    struct Flat {
        name: String,
        #[serde(flatten)]
        inner: Inner,
        #[serde(flatten)]
        extra: std::collections::BTreeMap<String, Vec<u8>>,
    }
    exact(|| Flat {
        name: text(33),
        inner: Inner { place: text(34) },
        extra: (0..30).map(|n| (n.to_string(), vec![0; n])).collect(),
    });
    exact(
        || serde_json::json!({"a": [1, 2.5, null, "text", {"b": [], "c": ["d", "e"]}], "f": true, "g": {}}),
    );
}

/// Serializes through a temporary text.
struct Spelled(Vec<u8>);

impl Serialize for Spelled {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("{:?} and a long tail", self.0))
    }
}

#[test]
fn what_serializing_makes_does_not_count() {
    let found = bounded(1, 2, || vec![Spelled(vec![1; 9]), Spelled(vec![2; 90])]);
    assert_eq!(found.shared_blocks, 0, "{found:?}");
    let value = made(|| (text(100), std::net::Ipv4Addr::LOCALHOST));
    let found = footprint("address", &value).expect("something records");
    assert_eq!((found.blocks, found.block_bytes), (1, 100));
}

#[test]
fn a_value_that_refuses_or_panics_leaves_nothing_behind() {
    struct Refuses;
    impl Serialize for Refuses {
        fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("no"))
        }
    }
    struct Panics;
    impl Serialize for Panics {
        fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            panic!("while it is measured")
        }
    }
    let value = made(|| (text(10), Refuses));
    assert_eq!(footprint("refuses", &value), None);
    let value = (text(10), Panics);
    let caught =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| footprint("panics", &value)));
    assert!(caught.is_err());
    // The next footprint is exact again.
    exact(|| vec![text(3), text(4)]);
}

#[test]
fn values_that_write_themselves_as_text_are_hidden() {
    /// Like semver's `VersionReq`: nothing in it is shown.
    #[expect(dead_code, reason = "only its addresses are looked at")]
    struct Request {
        note: u16,
        parts: Vec<(u64, u32)>,
        more: Vec<[u8; 3]>,
        nested: Vec<Part>,
    }
    #[expect(dead_code, reason = "only its addresses are looked at")]
    enum Part {
        Named(String, String),
        All(Vec<Part>),
    }
    struct Boxed(Option<Box<(u8, String)>>);
    impl Serialize for Boxed {
        fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
            to.serialize_str(&format!("not {}", self.0.is_some()))
        }
    }
    impl Serialize for Request {
        fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
            if self.note == 7 {
                to.collect_str(&format_args!("^{}", self.parts.len()))
            } else {
                to.serialize_str(&format!("^{}", self.parts.len()))
            }
        }
    }
    let request = |parts: u32| Request {
        note: 7,
        parts: (0..parts).map(|part| (u64::from(part), part)).collect(),
        more: Vec::with_capacity(10),
        nested: Vec::new(),
    };
    bounded(0, 1, || request(3));
    let named = || Part::Named(text(20), text(5));
    bounded(0, 1, || Request {
        nested: vec![named(), Part::All(vec![named(), Part::All(Vec::new())])],
        ..request(0)
    });
    // Like cargo's `Platform`: serialized as a temporary text.
    bounded(0, 1, || Request {
        note: 8,
        nested: vec![named(), Part::All(vec![named()])],
        ..request(2)
    });
    bounded(1, 1, || {
        vec![Boxed(Some(Box::new((1, text(30))))), Boxed(None)]
    });
    let found = bounded(1, 50, || (0..50).map(request).collect::<Vec<_>>());
    assert_eq!(found.used_bytes, found.block_bytes);
}
