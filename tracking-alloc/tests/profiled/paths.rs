//! The place at which each byte is counted.

use crate::recorded::recorded;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::hint::black_box;
use tracking_alloc::{Profiled, measure, phase};
use tracking_alloc_recording::scope_flags;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Fleet {
    name: String,
    vessels: Vec<Vessel>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Vessel {
    crew: Vec<Sailor>,
    cargo: BTreeMap<String, Cargo>,
    tons: (u32, f64),
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Sailor(String, Option<String>);

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Cargo {
    Empty,
    Named(String),
    Mixed { parts: Vec<String> },
    Pair(String, u8),
}

fn fleet() -> Fleet {
    let crew = |name: &str| {
        vec![
            Sailor(format!("{name} the first"), None),
            Sailor(format!("{name} the second"), Some("bosun".to_owned())),
        ]
    };
    let cargo = BTreeMap::from([
        ("a hold".to_owned(), Cargo::Named("barley".to_owned())),
        (
            "b hold".to_owned(),
            Cargo::Mixed {
                parts: vec!["oats".to_owned()],
            },
        ),
        ("c hold".to_owned(), Cargo::Pair("rye".to_owned(), 1)),
        ("d hold".to_owned(), Cargo::Empty),
    ]);
    Fleet {
        name: "first fleet".to_owned(),
        vessels: vec![
            Vessel {
                crew: crew("Ada"),
                cargo,
                tons: (1, 2.0),
            },
            Vessel {
                crew: crew("Edith"),
                cargo: BTreeMap::new(),
                tons: (1, 2.0),
            },
        ],
    }
}

/// Returns the lines without the growth of vectors in the compared figures.
fn lines(recorded: &crate::recorded::Recorded, start: &str) -> Vec<String> {
    recorded
        .places
        .iter()
        .filter_map(|(path, place)| Some((path.strip_prefix(start)?, place)))
        .filter(|(path, _)| !path.is_empty())
        .map(|(path, place)| format!("{path} {} in {}", place.visits, place.total_blocks))
        .collect()
}

const FLEET: [&str; 14] = [
    "Fleet 1 in 0",
    "Fleet.name 1 in 1",
    "Fleet.vessels 1 in 1",
    "Fleet.vessels[] 2 in 0",
    "Fleet.vessels[].cargo 2 in 1",
    "Fleet.vessels[].cargo{key} 4 in 4",
    "Fleet.vessels[].cargo{value} 4 in 0",
    "Fleet.vessels[].cargo{value}::Mixed 1 in 0",
    "Fleet.vessels[].cargo{value}::Mixed.parts 1 in 1",
    "Fleet.vessels[].cargo{value}::Mixed.parts[] 1 in 1",
    "Fleet.vessels[].cargo{value}::Named 1 in 1",
    "Fleet.vessels[].cargo{value}::Pair 1 in 0",
    "Fleet.vessels[].cargo{value}::Pair#0 1 in 1",
    "Fleet.vessels[].crew 2 in 2",
];

#[test]
fn every_byte_of_json_is_counted_at_its_path() {
    let recorded = recorded("paths::every_byte_of_json_is_counted_at_its_path", || {
        let text = serde_json::to_string(&fleet()).expect("JSON");
        let (bare, delta) = measure(|| serde_json::from_str::<Fleet>(&text).expect("a fleet"));
        let observed = {
            let _phase = phase("load");
            serde_json::from_str::<Profiled<Fleet>>(&text)
                .expect("a fleet")
                .0
        };
        assert_eq!(bare, observed);
        black_box(&observed);
        let _expected = phase(&format!(
            "expected {} {}",
            delta.total_bytes, delta.total_blocks
        ));
        std::process::exit(0);
    });
    let lines = lines(&recorded, "load/");
    assert_eq!(lines[..14], FLEET, "{}", recorded.table());
    assert_eq!(
        lines[14..],
        [
            "Fleet.vessels[].crew[] 4 in 0",
            "Fleet.vessels[].crew[]#0 4 in 4",
            "Fleet.vessels[].crew[]#1 4 in 2",
            "Fleet.vessels[].tons 2 in 0",
        ]
    );
    let (bytes, blocks) = recorded.below("load/");
    recorded.at(&format!("expected {bytes} {blocks}/"));
    assert_eq!(recorded.at("load/Fleet").stayed_bytes, bytes as i64);
    assert_eq!(recorded.at("load/").stayed_bytes, bytes as i64);
    assert_eq!(
        recorded.at("load/Fleet.vessels[].crew[]").type_name,
        concat!(env!("CARGO_CRATE_NAME"), "::paths::Sailor")
    );
    assert_eq!(recorded.at("load/Fleet.vessels[].crew[]").value_bytes, 48);
}

#[test]
fn a_format_without_names_gives_the_same_paths() {
    let recorded = recorded("paths::a_format_without_names_gives_the_same_paths", || {
        let bytes = postcard::to_allocvec(&fleet()).expect("postcard");
        let (bare, delta) = measure(|| postcard::from_bytes::<Fleet>(&bytes).expect("a fleet"));
        let observed = {
            let _phase = phase("load");
            postcard::from_bytes::<Profiled<Fleet>>(&bytes)
                .expect("a fleet")
                .0
        };
        assert_eq!(bare, observed);
        let _expected = phase(&format!(
            "expected {} {}",
            delta.total_bytes, delta.total_blocks
        ));
        std::process::exit(0);
    });
    assert_eq!(
        lines(&recorded, "load/")[..14],
        FLEET,
        "{}",
        recorded.table()
    );
    let (bytes, blocks) = recorded.below("load/");
    recorded.at(&format!("expected {bytes} {blocks}/"));
}

#[derive(Serialize, Deserialize)]
struct Aliased {
    #[serde(alias = "aka")]
    name: String,
    #[serde(skip)]
    skipped: String,
    rank: String,
    variant: AliasedVariant,
}

#[derive(Serialize, Deserialize)]
enum AliasedVariant {
    #[serde(alias = "Uno")]
    One(String),
    Two(String),
}

#[test]
fn fields_with_an_alias_have_no_name_where_the_format_tells_none() {
    let recorded = recorded(
        "paths::fields_with_an_alias_have_no_name_where_the_format_tells_none",
        || {
            let value = Aliased {
                name: "name".to_owned(),
                skipped: String::new(),
                rank: "rank".to_owned(),
                variant: AliasedVariant::Two("two".to_owned()),
            };
            let _ = AliasedVariant::One;
            let bytes = postcard::to_allocvec(&vec![&value, &value]).expect("postcard");
            let _phase = phase("postcard");
            black_box(postcard::from_bytes::<Profiled<Vec<Aliased>>>(&bytes).expect("values"));
            let _phase = phase("json");
            let json = r#"{"aka": "name", "rank": "rank", "variant": {"Uno": "one"}}"#;
            black_box(serde_json::from_str::<Profiled<Aliased>>(json).expect("a value"));
            std::process::exit(0);
        },
    );
    // Its root's type is `Vec<..Aliased>`, spelled with only the last segment.
    assert_eq!(
        lines(&recorded, "postcard/Aliased>"),
        [
            "[] 2 in 0",
            "[]#0 2 in 2",
            "[]#1 2 in 2",
            "[]#2 2 in 0",
            "[]#2::#1 2 in 2"
        ],
        "{}",
        recorded.table()
    );
    assert_eq!(
        lines(&recorded, "postcard/json/Aliased"),
        [
            ".aka 1 in 1",
            ".rank 1 in 1",
            ".variant 1 in 0",
            ".variant::Uno 1 in 1"
        ],
        "{}",
        recorded.table()
    );
}

#[derive(Deserialize)]
struct Tree {
    name: String,
    children: Vec<Tree>,
}

#[test]
fn a_type_inside_itself_is_counted_at_its_outermost_place() {
    let recorded = recorded(
        "paths::a_type_inside_itself_is_counted_at_its_outermost_place",
        || {
            let text = r#"{"name": "a", "children": [{"name": "b", "children": [{"name": "c", "children": []}]}]}"#;
            black_box(serde_json::from_str::<Profiled<Tree>>(text).expect("a tree"));
            std::process::exit(0);
        },
    );
    assert_eq!(
        lines(&recorded, "Tree"),
        [".children 3 in 2", ".name 3 in 3"],
        "{}",
        recorded.table()
    );
    let root = recorded.at("Tree");
    assert_eq!((root.visits, root.flags), (3, scope_flags::RECURSIVE));
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "t", content = "c")]
enum Tagged {
    Word(String),
    Words(Vec<String>),
}

#[test]
fn a_tagged_enum_without_names_is_not_inside_itself() {
    let recorded = recorded(
        "paths::a_tagged_enum_without_names_is_not_inside_itself",
        || {
            let word = || "word".to_owned();
            let values = [Tagged::Word(word()), Tagged::Words(vec![word()])];
            let bytes = rmp_serde::to_vec(&values).expect("arrays");
            black_box(rmp_serde::from_slice::<Profiled<Vec<Tagged>>>(&bytes).expect("values"));
            std::process::exit(0);
        },
    );
    let element = recorded.at("Tagged>[]");
    assert_eq!(
        (element.visits, element.flags),
        (2, 0),
        "{}",
        recorded.table()
    );
}

mod seconds {
    use serde::{Deserialize, Deserializer};

    pub(super) fn read<'de, D: Deserializer<'de>>(d: D) -> Result<u64, D::Error> {
        Ok(String::deserialize(d)?.len() as u64)
    }
}

#[derive(Deserialize)]
struct Odd {
    #[serde(deserialize_with = "seconds::read")]
    length: u64,
    #[expect(clippy::box_collection, reason = "a box is no step of the path")]
    boxed: Option<Box<Vec<String>>>,
    array: [String; 2],
    #[serde(default)]
    missing: Vec<String>,
}

#[test]
fn a_function_shows_what_it_deserializes_and_boxes_and_options_are_no_steps() {
    let recorded = recorded(
        "paths::a_function_shows_what_it_deserializes_and_boxes_and_options_are_no_steps",
        || {
            let text =
                r#"{"length": "four", "boxed": ["x"], "array": ["a", "b"], "other": ["skipped"]}"#;
            black_box(serde_json::from_str::<Profiled<Odd>>(text).expect("a value"));
            std::process::exit(0);
        },
    );
    assert_eq!(
        lines(&recorded, "Odd"),
        [
            ".array 1 in 0",
            ".array[] 2 in 2",
            ".boxed 1 in 2",
            ".boxed[] 1 in 1",
            ".length 1 in 1",
        ],
        "{}",
        recorded.table()
    );
    assert_eq!(recorded.at("Odd.length").type_name, "alloc::string::String");
}

#[test]
fn names_of_phases_and_places_nest_and_end_with_them() {
    let recorded = recorded(
        "paths::names_of_phases_and_places_nest_and_end_with_them",
        || {
            let _outer = phase("outer");
            for _ in 0..3 {
                let _inner = phase("inner");
                black_box(
                    serde_json::from_str::<Profiled<Vec<String>>>(r#"["x"]"#).expect("a list"),
                );
            }
            black_box(vec![1u8; 77]);
            std::process::exit(0);
        },
    );
    let root = recorded.at("outer/inner/String>");
    assert_eq!((root.visits, root.stayed_bytes), (3, 3 * 97));
    assert_eq!(recorded.at("outer/inner/String>[]").total_blocks, 3);
    assert_eq!(recorded.at("outer/").total_bytes, 77);
    assert_eq!(recorded.at("outer/inner/").stayed_bytes, 0);
}

#[derive(Deserialize)]
struct Linked {
    name: String,
    #[serde(default, deserialize_with = "linked")]
    next: Option<Box<Linked>>,
}

fn linked<'de, D: serde::Deserializer<'de>>(d: D) -> Result<Option<Box<Linked>>, D::Error> {
    Option::deserialize(d)
}

#[test]
fn a_chain_of_functions_folds_too() {
    let recorded = recorded("paths::a_chain_of_functions_folds_too", || {
        let text = (0..100).fold("null".to_owned(), |inner, _| {
            format!(r#"{{"name": "x", "next": {inner}}}"#)
        });
        black_box(serde_json::from_str::<Profiled<Linked>>(&text).expect("a chain"));
        std::process::exit(0);
    });
    assert_eq!(
        lines(&recorded, "Linked"),
        [".name 1 in 1", ".next 100 in 99", ".next.name 99 in 99"],
        "{}",
        recorded.table()
    );
    assert_eq!(
        recorded.at("Linked.next").type_name,
        format!(
            "core::option::Option<alloc::boxed::Box<{}::paths::Linked>>",
            env!("CARGO_CRATE_NAME")
        )
    );
}

#[test]
fn what_is_overwritten_in_place_is_counted_at_the_same_paths() {
    let recorded = recorded(
        "paths::what_is_overwritten_in_place_is_counted_at_the_same_paths",
        || {
            let mut value = Profiled(vec![vec![String::new(), "long enough".to_owned()]]);
            let mut deserializer =
                serde_json::Deserializer::from_str(r#"[["one", "two"], ["three"]]"#);
            Deserialize::deserialize_in_place(&mut deserializer, &mut value).expect("lists");
            assert_eq!(value.0, [vec!["one", "two"], vec!["three"]]);
            std::process::exit(0);
        },
    );
    let at = |steps: &str| {
        let place = recorded.at(&format!("String>>{steps}"));
        (place.visits, place.total_blocks, place.type_name.clone())
    };
    let text = "alloc::string::String".to_owned();
    assert_eq!(at("[]"), (2, 1, format!("alloc::vec::Vec<{text}>")));
    assert_eq!(at("[][]"), (3, 2, text));
    // The second list and its text are new, so they are counted apart from what is overwritten.
    let scopes = recorded.recording.scopes.iter();
    let in_place = scopes.filter(|scope| scope.flags & scope_flags::IN_PLACE != 0);
    assert_eq!(in_place.count(), 3, "the root, a list and texts");
}

#[test]
fn threads_count_at_one_and_the_same_places() {
    let recorded = recorded("paths::threads_count_at_one_and_the_same_places", || {
        let text = serde_json::to_string(&fleet()).expect("JSON");
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let _phase = phase("load");
                        black_box(serde_json::from_str::<Profiled<Fleet>>(&text).expect("a fleet"));
                    }
                });
            }
        });
        std::process::exit(0);
    });
    let first = recorded.at("load/Fleet.vessels[].crew[]#0");
    assert_eq!((first.visits, first.total_blocks), (1600, 1600));
    assert_eq!(recorded.at("load/").visits, 400);
    // It is dropped inside the phase and outside of the root.
    assert_eq!(recorded.at("load/").stayed_bytes, 0);
    assert_eq!(
        recorded.at("load/Fleet").stayed_bytes,
        recorded.below("load/Fleet").0 as i64
    );
    let scopes = recorded.recording.scopes.len();
    assert_eq!(scopes, recorded.places.len(), "no path has two scopes");
}
