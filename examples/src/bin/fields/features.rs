//! Reads all features. Prints one line for each, `FORMAT FEATURE`, with the allocations of the bare
//! and of the profiled run, or the reason why the format cannot read such data.

use super::formats::{
    Bincode, Cbor, Format, Json, JsonReader, Lends, Postcard, Refills, RmpArray, RmpNamed, Toml,
    Yaml,
};
use super::types::*;
use serde::Serialize;
use serde::de::{Deserialize, DeserializeOwned};
use std::borrow::Cow;
use std::fmt::Debug;
use std::rc::Rc;
use std::sync::Arc;
use tracking_alloc::{Delta, Profiled, measure, phase};

/// Reads every feature in every format. Each profiled run happens in a phase called
/// `FORMAT/FEATURE`. The values stay to the end.
pub(super) fn run() {
    owned::<Json>();
    owned::<JsonReader>();
    owned::<Postcard>();
    owned::<Bincode>();
    owned::<RmpArray>();
    owned::<RmpNamed>();
    owned::<Cbor>();
    owned::<Toml>();
    owned::<Yaml>();
    lent::<Json>();
    lent::<Postcard>();
    lent::<Bincode>();
    lent::<RmpArray>();
    lent::<RmpNamed>();
    lent::<Toml>();
    lent::<Yaml>();
    refilled::<Json>();
    refilled::<Postcard>();
    refilled::<RmpArray>();
    raw();
}

fn text(word: &str) -> String {
    word.to_owned()
}

fn texts(words: &[&str]) -> Vec<String> {
    words.iter().copied().map(str::to_owned).collect()
}

fn owned<F: Format>() {
    same::<F, _>("struct", || Person::new("Grace"));
    same::<F, _>("tuple", || Tuples {
        pair: (text("left"), 7),
        triple: Triple(text("first"), 2, texts(&["third", "fourth"])),
    });
    same::<F, _>("newtype", || Newtypes {
        id: Id(text("A-113")),
        crew: Crew(vec![Person::new("Ada"), Person::new("Edith")]),
    });
    same::<F, _>("transparent", || Transparents {
        names: Names {
            inner: texts(&["one", "two", "three"]),
        },
    });
    same::<F, _>("unit", || Units {
        nothing: (),
        marker: Marker,
        after: text("after"),
    });
    same::<F, _>("option", || Options {
        some: Some(text("something")),
        none: None,
        person: Some(Box::new(Person::new("Barbara"))),
    });
    same::<F, _>("box", || Boxes {
        person: Box::new(Person::new("Karen")),
        list: texts(&["boxed", "slice"]).into(),
        text: "boxed text".into(),
    });
    same::<F, _>("arc", || Shared {
        person: Arc::new(Person::new("Radia")),
        text: "shared text".into(),
        local: Rc::new(text("local")),
    });
    same::<F, _>("cow owned", || CowOwned {
        text: Cow::Owned(text("copied")),
        list: Cow::Owned(texts(&["also", "copied"])),
    });
    same::<F, _>("array", || Arrays {
        names: [text("red"), text("green"), text("blue")],
        numbers: [1, 2, 3, 4],
    });
    same::<F, _>("map", || Maps {
        lists: [(text("a"), texts(&["x", "y"])), (text("b"), Vec::new())].into(),
        people: [(text("captain"), Person::new("Hedy"))].into(),
        set: [text("one"), text("two"), text("three")].into(),
        counts: [(text("ropes"), 7), (text("sails"), 3)].into(),
    });
    tagged::<F>();
    same::<F, _>("flatten struct", || FlattenStruct {
        title: text("Captain"),
        person: Person::new("Jean"),
    });
    same::<F, _>("flatten map", || FlattenMap {
        title: text("Captain"),
        rest: [(text("from"), text("Nantes")), (text("to"), text("Cadiz"))].into(),
    });
    functions::<F>();
    same::<F, _>("recursion", || Tree {
        name: text("root"),
        children: vec![leaf("first"), leaf("second")],
        left: Some(Box::new(leaf("left"))),
    });
    same::<F, _>("generic", || Generic {
        first: texts(&["a", "b"]),
        second: Generic {
            first: text("inner"),
            second: Some(texts(&["deep"])),
        },
    });
    same::<F, _>("visitor", || Visited {
        pairs: Pairs(vec![(text("even"), vec![2, 4]), (text("odd"), vec![1])]),
        last: text("end"),
    });
}

fn leaf(name: &str) -> Tree {
    Tree {
        name: text(name),
        children: Vec::new(),
        left: None,
    }
}

fn tagged<F: Format>() {
    same::<F, _>("enum", || External {
        shapes: vec![
            Shape::Empty,
            Shape::Named(text("round")),
            Shape::Pair(text("left"), texts(&["right"])),
            Shape::Person {
                name: text("Joan"),
                age: 30,
            },
        ],
    });
    same::<F, _>("internally tagged", || Internal {
        shapes: vec![
            InternalShape::Empty,
            InternalShape::Labelled {
                label: text("square"),
                tags: texts(&["flat"]),
            },
        ],
    });
    same::<F, _>("adjacently tagged", || Adjacent {
        shapes: vec![
            AdjacentShape::Empty,
            AdjacentShape::Named(text("oval")),
            AdjacentShape::Labelled {
                label: text("cube"),
                tags: texts(&["solid", "even"]),
            },
        ],
    });
    same::<F, _>("untagged", || Untagged {
        shapes: vec![
            UntaggedShape::Labelled {
                label: text("only"),
            },
            UntaggedShape::Text(text("plain")),
        ],
    });
}

/// Types that run user-defined functions, or that read what was written in another way.
fn functions<F: Format>() {
    same::<F, _>("with", || With {
        words: texts(&["hoist", "the", "sails"]),
        last: text("end"),
    });
    other::<F, _, _>(
        "deserialize_with",
        &DeserializeWith {
            longest: texts(&["a", "longest", "few"]),
            last: text("end"),
        },
        || DeserializeWith {
            longest: texts(&["longest"]),
            last: text("end"),
        },
    );
    other::<F, _, _>(
        "default",
        &BeforeDefaults {
            name: text("short"),
        },
        || Defaults {
            name: text("short"),
            words: texts(&["made", "up"]),
        },
    );
    other::<F, _, _>(
        "alias",
        &BeforeAliases {
            n: text("Mary"),
            words: texts(&["x", "yy"]),
            t: text("known as"),
        },
        || Aliases {
            name: text("Mary"),
            words: texts(&["x", "yy"]),
            text: text("known as"),
        },
    );
    same::<F, _>("skip", || Skips {
        name: text("kept"),
        cache: Vec::new(),
        words: texts(&["also", "kept"]),
    });
    same::<F, _>("rename", || Renames {
        given_name: text("Sophie"),
        kind: text("person"),
    });
    other::<F, _, _>("unknown fields", &Person::new("Emmy"), || Narrow {
        name: text("Emmy"),
    });
    same::<F, _>("value", || Dynamic {
        name: text("anything"),
        value: serde_json::json!({"list": ["a", {"b": "c"}], "text": "d"}),
    });
}

fn lent<F: Lends>() {
    from_lent::<F, CowBorrowed<'static>>("cow borrowed", || CowBorrowed {
        text: "lent".into(),
        last: text("owned"),
    });
    from_lent::<F, BorrowedText<'static>>("borrowed text", || BorrowedText {
        text: "lent",
        maybe: Some("perhaps"),
        owned: text("owned"),
        list: vec!["many", "lent"],
    });
    from_lent::<F, BorrowedBytes<'static>>("borrowed bytes", || BorrowedBytes {
        bytes: b"bytes",
        owned: text("owned"),
    });
}

/// Only JSON keeps text as it was written.
fn raw() {
    let input = br#"{"lent": {"a": [1, 2]}, "kept": ["b", null], "name": "raw"}"#;
    let value = || Raw {
        lent: serde_json::from_str(r#"{"a": [1, 2]}"#).expect("JSON"),
        kept: serde_json::from_str(r#"["b", null]"#).expect("JSON"),
        name: text("raw"),
    };
    read(
        Json::NAME,
        "raw value",
        || Json::borrow(input),
        || Json::borrow::<Profiled<Raw<'static>>>(input).map(|read| read.0),
        value,
    );
    // The bytes are written as text, because only text lends its bytes in JSON.
    let input = br#"{"bytes": "bytes", "owned": "owned"}"#;
    read(
        Json::NAME,
        "borrowed bytes of text",
        || Json::borrow(input),
        || Json::borrow::<Profiled<BorrowedBytes<'static>>>(input).map(|read| read.0),
        || BorrowedBytes {
            bytes: b"bytes",
            owned: text("owned"),
        },
    );
}

/// Existing values that are read again. serde reuses their content where it can.
fn refilled<F: Refills>() {
    let words = texts(&["a", "few", "words"]);
    let Ok(input) = F::encode(&words) else {
        return;
    };
    let old = || texts(&["long enough to be used again", "b"]);
    let fill = |mut place: Vec<String>| F::refill(&input, &mut place).map(|()| place);
    let fill_profiled = |place: Vec<String>| {
        let mut place = Profiled(place);
        F::refill(&input, &mut place).map(|()| place.0)
    };
    let (mut first, mut second) = (Some(old()), Some(old()));
    read(
        F::NAME,
        "in place",
        || fill(first.take().unwrap_or_default()),
        || fill_profiled(second.take().unwrap_or_default()),
        || words.clone(),
    );
}

/// Reads a value as the type that was written.
fn same<F: Format, T>(feature: &str, value: impl Fn() -> T)
where
    T: Serialize + DeserializeOwned + PartialEq + Debug,
{
    other::<F, T, T>(feature, &value(), value);
}

/// Reads a value as another type than the one that was written.
fn other<F: Format, W: Serialize, T>(feature: &str, written: &W, value: impl Fn() -> T)
where
    T: DeserializeOwned + PartialEq + Debug,
{
    let input = match F::encode(written) {
        Ok(input) => input,
        Err(error) => return println!("{}\t{feature}\tnot written\t{error}", F::NAME),
    };
    read(
        F::NAME,
        feature,
        || F::decode(&input),
        || F::decode::<Profiled<T>>(&input).map(|read| read.0),
        value,
    );
}

/// Reads from input that lives forever, so that borrowed parts can stay.
fn from_lent<F: Lends, T>(feature: &str, value: impl Fn() -> T)
where
    T: Serialize + Deserialize<'static> + PartialEq + Debug,
{
    let input: &'static [u8] = match F::encode(&value()) {
        Ok(input) => input.leak(),
        Err(error) => return println!("{}\t{feature}\tnot written\t{error}", F::NAME),
    };
    read(
        F::NAME,
        feature,
        || F::borrow(input),
        || F::borrow::<Profiled<T>>(input).map(|read| read.0),
        value,
    );
}

/// Reads bare and profiled, and prints the allocations of both, or the error of both.
///
/// # Panics
/// If the two differ, or if the value is not the one that was written.
fn read<T: PartialEq + Debug>(
    format: &str,
    feature: &str,
    mut bare: impl FnMut() -> Result<T, String>,
    mut profiled: impl FnMut() -> Result<T, String>,
    value: impl Fn() -> T,
) {
    let (bare, without) = measure(&mut bare);
    let name = format!("{format}/{feature}");
    let (profiled, with) = {
        let _phase = phase(&name);
        measure(&mut profiled)
    };
    assert_eq!(bare, profiled, "{name}: bare and profiled");
    let words = |delta: &Delta| {
        format!(
            "{} {} {} {}",
            delta.total_bytes, delta.total_blocks, delta.freed_bytes, delta.freed_blocks
        )
    };
    match profiled {
        Ok(profiled) => {
            assert_eq!(profiled, value(), "{name}: read and written");
            println!("{format}\t{feature}\t{}\t{}", words(&without), words(&with));
            std::mem::forget(profiled);
        }
        Err(error) => println!("{format}\t{feature}\tnot read\t{error}"),
    }
}
