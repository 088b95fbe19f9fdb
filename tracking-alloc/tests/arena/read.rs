//! The derive reads what serde's derive reads, from every format, into equal values.

use super::source::{self, arena, owned};
use serde::Serialize;
use serde::de::DeserializeSeed;
use std::fmt::Debug;
use tracking_alloc::arena::{Arena, ArenaDeserialize, ArenaSeed, Tracked, map_as_pairs};

/// Reads `input` in each format as an `$arena`, and checks that it equals the original value.
macro_rules! reads_as_serde {
    ($arena:ty, $owned:ty, $value:expr) => {{
        let value: $owned = $value;
        let as_json = serde_json::to_string(&value).unwrap();
        let expected = serde_json::to_value(&value).unwrap();
        let same = |read: &$arena| assert_eq!(serde_json::to_value(read).unwrap(), expected);

        let bump = bumpalo::Bump::new();
        let mut json = serde_json::Deserializer::from_str(&as_json);
        same(
            &ArenaSeed::<$arena>::new(&bump)
                .deserialize(&mut json)
                .unwrap(),
        );
        json.end().unwrap();

        let tracked = Tracked::new("test", &bump);
        let mut json = serde_json::Deserializer::from_reader(as_json.as_bytes());
        same(
            &ArenaSeed::<$arena>::new(&tracked)
                .deserialize(&mut json)
                .unwrap(),
        );
        assert_eq!(tracked.stats().bypassed_bytes, bump_used_before(&tracked));

        let bytes = postcard::to_allocvec(&value).unwrap();
        let mut postcard = postcard::Deserializer::from_bytes(&bytes);
        same(
            &ArenaSeed::<$arena>::new(&bump)
                .deserialize(&mut postcard)
                .unwrap(),
        );
        assert!(postcard.finalize().unwrap().is_empty());

        for bytes in [
            rmp_serde::to_vec(&value).unwrap(),
            rmp_serde::to_vec_named(&value).unwrap(),
        ] {
            let mut rmp = rmp_serde::Deserializer::from_read_ref(&bytes);
            same(
                &ArenaSeed::<$arena>::new(&tracked)
                    .deserialize(&mut rmp)
                    .unwrap(),
            );
        }
    }};
}

/// Returns the bytes used before the handle existed. All later allocations in these tests use the
/// handle.
fn bump_used_before<A: Arena>(tracked: &Tracked<A>) -> u64 {
    let stats = tracked.stats();
    stats.occupied_bytes() - stats.used_bytes - stats.padding_bytes - stats.abandoned_bytes
}

#[test]
fn a_city_with_its_citizens() {
    reads_as_serde!(arena::City, owned::City, source::city(300));
}

#[test]
fn a_prelude_of_byte_strings() {
    reads_as_serde!(arena::ZipPrelude, owned::ZipPrelude, source::prelude());
}

#[test]
fn a_log_record() {
    reads_as_serde!(arena::Log, owned::Log, source::log());
}

fn json<'a, T>(bump: &'a bumpalo::Bump, input: &'static str) -> Result<T, serde_json::Error>
where
    T: ArenaDeserialize<'static, 'a, bumpalo::Bump>,
{
    let mut json = serde_json::Deserializer::from_str(input);
    let value = ArenaSeed::<T>::new(bump).deserialize(&mut json)?;
    json.end().map(|()| value)
}

#[test]
fn an_alias_is_read_and_a_default_stands_in() {
    let bump = bumpalo::Bump::new();
    let city: arena::City = json(
        &bump,
        r#"{"n": "Ulm", "unknown": [{"deep": []}], "citizens": [{"first_name": "A", "data": [1], "tags": {"7": "x"}}]}"#,
    )
    .unwrap();
    assert_eq!(city.name, "Ulm");
    assert_eq!(city.citizens[0].age, 0);
    assert_eq!(city.citizens[0].tags[0], (7, "x"));
}

/// Everything that the derive supports.
#[derive(ArenaDeserialize, Debug, PartialEq)]
#[arena(rename_all = "camelCase")]
struct Everything<'a, T, const N: usize> {
    one_number: u8,
    #[arena(rename = "TWO")]
    two_numbers: (i8, f64),
    perhaps: Option<&'a str>,
    perhaps_not: Option<&'a str>,
    bytes: &'a [u8],
    numbers: &'a [u32],
    rows: &'a [&'a [u16]],
    fixed: [u8; N],
    strings: [&'a str; 2],
    boxed: &'a Point,
    changeable: &'a mut [i32],
    generic: T,
    kinds: &'a [Kind<'a>],
    #[arena(default = "seven")]
    seven: u8,
    #[arena(skip)]
    skipped: u8,
    address: std::net::IpAddr,
    letter: char,
    nothing: (),
    unit: Unit,
    tree: Tree<'a>,
    #[arena(global)]
    global: String,
    #[arena(deserialize_with = "upper")]
    upper: &'a str,
    r#type: Meters,
}

fn seven() -> u8 {
    7
}

fn upper<'de, 'a, A: Arena, D: serde::Deserializer<'de>>(
    d: D,
    arena: &'a A,
) -> Result<&'a str, D::Error> {
    let text = <&mut str>::deserialize_in(d, arena)?;
    text.make_ascii_uppercase();
    Ok(text)
}

#[derive(ArenaDeserialize, Serialize, Debug, PartialEq, Clone, Copy)]
struct Point {
    x: i32,
    y: i32,
}

#[derive(ArenaDeserialize, Serialize, Debug, PartialEq)]
struct Unit;

#[derive(ArenaDeserialize, Serialize, Debug, PartialEq)]
#[arena(transparent)]
struct Meters {
    meters: f32,
    #[arena(skip)]
    #[serde(skip)]
    note: u8,
}

#[derive(ArenaDeserialize, Serialize, Debug, PartialEq)]
#[arena(rename_all = "kebab-case")]
#[serde(rename_all = "kebab-case")]
enum Kind<'a> {
    PlainOne,
    #[arena(rename = "new", alias = "newer")]
    #[serde(rename = "new")]
    Newtype(&'a str),
    Pair(u8, &'a str),
    Named {
        left: u8,
        right: &'a [u8],
    },
    Loud(#[arena(deserialize_with = "upper")] &'a str),
}

#[derive(ArenaDeserialize, Serialize, Debug, PartialEq)]
struct Tree<'a> {
    name: &'a str,
    #[arena(default)]
    below: &'a [Tree<'a>],
}

const EVERYTHING: &str = r#"{
    "oneNumber": 1, "TWO": [-2, 2.5], "perhaps": "so", "bytes": "text", "numbers": [1, 2, 3], "rows": [[], [1, 2]],
    "fixed": [1, 2, 3], "strings": ["a", "b"], "boxed": {"x": 1, "y": 2}, "changeable": [4, 5], "generic": ["g", 9],
    "kinds": ["plain-one", {"newer": "n"}, {"pair": [1, "p"]}, {"named": {"right": [1], "left": 2}}, {"loud": "quiet"}],
    "address": "::1", "letter": "ß", "nothing": null, "unit": null, "global": "owned", "upper": "shout", "type": 1.5,
    "tree": {"name": "root", "below": [{"name": "leaf"}, {"below": [], "name": "other"}]}
}"#;

#[test]
fn everything_the_derive_takes() {
    let bump = bumpalo::Bump::new();
    let read: Everything<(&str, u8), 3> = json(&bump, EVERYTHING).unwrap();
    let leaf = |name| Tree { name, below: &[] };
    let expected = Everything {
        one_number: 1,
        two_numbers: (-2, 2.5),
        perhaps: Some("so"),
        perhaps_not: None,
        bytes: b"text",
        numbers: &[1, 2, 3],
        rows: &[&[], &[1, 2]],
        fixed: [1, 2, 3],
        strings: ["a", "b"],
        boxed: &Point { x: 1, y: 2 },
        changeable: &mut [4, 5],
        generic: ("g", 9),
        kinds: &[
            Kind::PlainOne,
            Kind::Newtype("n"),
            Kind::Pair(1, "p"),
            Kind::Named {
                left: 2,
                right: &[1],
            },
            Kind::Loud("QUIET"),
        ],
        seven: 7,
        skipped: 0,
        address: "::1".parse().unwrap(),
        letter: 'ß',
        nothing: (),
        unit: Unit,
        tree: Tree {
            name: "root",
            below: &[leaf("leaf"), leaf("other")],
        },
        global: "owned".to_owned(),
        upper: "SHOUT",
        r#type: Meters {
            meters: 1.5,
            note: 0,
        },
    };
    assert_eq!(read, expected);
}

#[test]
fn formats_without_names_are_read_by_position() {
    #[derive(ArenaDeserialize, Serialize, Debug, PartialEq)]
    struct Mixed<'a> {
        kinds: &'a [Kind<'a>],
        #[arena(skip)]
        #[serde(skip)]
        skipped: u8,
        tree: Tree<'a>,
    }
    let mixed = Mixed {
        kinds: &[
            Kind::Named {
                left: 1,
                right: b"r",
            },
            Kind::PlainOne,
            Kind::Pair(3, "p"),
        ],
        skipped: 0,
        tree: Tree {
            name: "root",
            below: &[Tree {
                name: "leaf",
                below: &[],
            }],
        },
    };
    let bytes = postcard::to_allocvec(&mixed).unwrap();
    let bump: bump_scope::Bump = bump_scope::Bump::new();
    let read = ArenaSeed::<Mixed>::new(&bump)
        .deserialize(&mut postcard::Deserializer::from_bytes(&bytes))
        .unwrap();
    assert_eq!(read, mixed);
}

#[test]
fn a_field_of_the_inputs_lifetime_borrows() {
    #[derive(ArenaDeserialize)]
    struct Borrowing<'de, 'a> {
        borrowed: &'de str,
        copied: &'a str,
    }
    let input = r#"{"borrowed": "from the input", "copied": "into the arena"}"#;
    let bump = bumpalo::Bump::new();
    let mut json = serde_json::Deserializer::from_str(input);
    let read = ArenaSeed::<Borrowing>::new(&bump)
        .deserialize(&mut json)
        .unwrap();
    assert!(
        input
            .as_bytes()
            .as_ptr_range()
            .contains(&read.borrowed.as_ptr())
    );
    assert!(
        !input
            .as_bytes()
            .as_ptr_range()
            .contains(&read.copied.as_ptr())
    );
}

#[test]
fn types_and_variants_may_be_named_like_keywords() {
    #[derive(ArenaDeserialize, Debug, PartialEq)]
    #[expect(non_camel_case_types, reason = "the keyword")]
    struct r#loop<'a>(#[arena(deserialize_with = "upper")] &'a str, u8);
    #[derive(ArenaDeserialize, Debug, PartialEq)]
    #[expect(non_camel_case_types, reason = "the keywords")]
    enum r#type<'a> {
        r#match(#[arena(deserialize_with = "upper")] &'a str, r#loop<'a>),
    }
    let bump = bumpalo::Bump::new();
    let read: r#type = json(&bump, r#"{"match": ["ulm", ["bonn", 7]]}"#).unwrap();
    assert_eq!(read, r#type::r#match("ULM", r#loop("BONN", 7)));
}

#[test]
fn variants_may_have_names_that_differ_by_an_underscore_only() {
    #[derive(ArenaDeserialize, Debug, PartialEq)]
    #[expect(non_camel_case_types, reason = "as somebody may call them")]
    enum Alike<'a> {
        A_B(#[arena(deserialize_with = "upper")] &'a str),
        AB(#[arena(deserialize_with = "upper")] &'a str, u8),
    }
    let bump = bumpalo::Bump::new();
    let read: [Alike; 2] = json(&bump, r#"[{"A_B": "ulm"}, {"AB": ["bonn", 7]}]"#).unwrap();
    assert_eq!(read, [Alike::A_B("ULM"), Alike::AB("BONN", 7)]);
}

#[test]
fn collections_of_each_crate_are_handed_out_by_the_handle() {
    type BumpVec<'a, T> = bump_scope::BumpVec<T, &'a bump_scope::Bump>;
    #[derive(ArenaDeserialize)]
    struct Scoped<'a> {
        name: bump_scope::BumpString<&'a bump_scope::Bump>,
        numbers: BumpVec<'a, u64>,
        text: bump_scope::BumpBox<'a, str>,
        #[arena(deserialize_with = "map_as_pairs")]
        pairs: &'a [(&'a str, i8)],
    }
    let input =
        r#"{"name": "Ulm", "numbers": [1, 2, 3], "text": "boxed", "pairs": {"a": 1, "b": -1}}"#;
    let bump: bump_scope::Bump = bump_scope::Bump::new();
    let tracked = Tracked::new("scoped", &bump);
    let mut read = ArenaSeed::<Scoped>::new(&tracked)
        .deserialize(&mut serde_json::Deserializer::from_str(input))
        .unwrap();
    assert_eq!(tracked.stats().bypassed_bytes, 0);
    read.numbers.push(4);
    read.name.push_str(" an der Donau");
    assert_eq!(read.numbers, [1, 2, 3, 4]);
    assert_eq!(read.name, "Ulm an der Donau");
    assert_eq!(
        (&*read.text, read.pairs),
        ("boxed", &[("a", 1), ("b", -1)][..])
    );
    assert!(
        tracked.stats().bypassed_bytes > 0,
        "what grows later bypasses the handle"
    );

    let bump = bumpalo::Bump::new();
    let tracked = Tracked::new("any", &bump);
    let mut numbers =
        ArenaSeed::<allocator_api2_02::vec::Vec<u32, &Tracked<&bumpalo::Bump>>>::new(&tracked)
            .deserialize(&mut serde_json::Deserializer::from_str("[1, 2, 3, 4, 5]"))
            .unwrap();
    numbers.push(6);
    assert_eq!(numbers.as_slice(), [1, 2, 3, 4, 5, 6]);
    assert_eq!(tracked.stats().bypassed_bytes, 0);
}

/// For wrong input, the errors are those of serde's derive.
#[test]
fn errors_are_those_of_serde() {
    #[derive(serde::Deserialize, Debug)]
    struct Point {
        x: i32,
        y: i32,
    }
    #[derive(serde::Deserialize, Debug)]
    #[serde(rename_all = "kebab-case")]
    #[expect(dead_code, reason = "only its errors are looked at")]
    enum Kind {
        PlainOne,
        #[serde(rename = "new", alias = "newer")]
        Newtype(String),
        Pair(u8, String),
        Named {
            left: u8,
            right: Vec<u8>,
        },
        Loud(String),
    }
    #[derive(serde::Deserialize, Debug)]
    struct Unit;
    let bump = bumpalo::Bump::new();
    let Point { x, y } = serde_json::from_str(r#"{"x": 1, "y": 2}"#).unwrap();
    assert_eq!((x, y), (1, 2), "what is right is read");
    let same = |ours: serde_json::Error, serdes: serde_json::Error| {
        assert_eq!(ours.to_string(), serdes.to_string());
    };
    for input in [
        r#"{"x": 1}"#,
        r#"{"x": 1, "x": 2, "y": 3}"#,
        r#"{"x": "one", "y": 3}"#,
        "[1]",
        "7",
        "{",
        r#"{"x": 1, "y": 99999999999}"#,
    ] {
        same(
            json::<self::Point>(&bump, input).unwrap_err(),
            serde_json::from_str::<Point>(input).unwrap_err(),
        );
    }
    for input in [
        r#""plain""#,
        r#"{"pair": [1]}"#,
        r#"{"named": {"left": 1}}"#,
        r#"{"plain-one": 1}"#,
        "3",
        r#""new""#,
    ] {
        same(
            json::<self::Kind>(&bump, input).unwrap_err(),
            serde_json::from_str::<Kind>(input).unwrap_err(),
        );
    }
    same(
        json::<self::Unit>(&bump, "1").unwrap_err(),
        serde_json::from_str::<Unit>("1").unwrap_err(),
    );
}

#[test]
fn a_variant_that_does_not_exist_is_an_error_in_formats_without_names_too() {
    let bump = bumpalo::Bump::new();
    let mut postcard = postcard::Deserializer::from_bytes(&[9]);
    assert!(
        ArenaSeed::<Kind>::new(&bump)
            .deserialize(&mut postcard)
            .is_err()
    );
}

#[test]
fn what_was_read_before_an_error_is_dropped_once() {
    use std::cell::Cell;
    thread_local! { static DROPS: Cell<u32> = const { Cell::new(0) }; }
    #[derive(Debug)]
    struct Counted;
    impl Drop for Counted {
        fn drop(&mut self) {
            DROPS.set(DROPS.get() + 1);
        }
    }
    impl<'de, 'a, A: Arena> ArenaDeserialize<'de, 'a, A> for Counted {
        fn deserialize_in<D: serde::Deserializer<'de>>(d: D, _: &'a A) -> Result<Self, D::Error> {
            <u8 as serde::Deserialize>::deserialize(d).map(|_| Counted)
        }
    }
    let bump = bumpalo::Bump::new();
    let tracked = Tracked::new("failing", &bump);
    let mut input = serde_json::Deserializer::from_str(r#"[1, 2, 3, "four"]"#);
    ArenaSeed::<bumpalo::collections::Vec<Counted>>::new(&tracked)
        .deserialize(&mut input)
        .unwrap_err();
    assert_eq!(DROPS.get(), 3);
    let mut input = serde_json::Deserializer::from_str("[1, 2]");
    let two = ArenaSeed::<bumpalo::collections::Vec<Counted>>::new(&tracked)
        .deserialize(&mut input)
        .unwrap();
    drop(two);
    assert_eq!(DROPS.get(), 5);
}
