//! The features of serde's derive, one small type each. They serve tests of paths: names are short,
//! and values contain text that does not fit outside the heap.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

/// A type that several features use: fields and a list.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Person {
    pub(super) name: String,
    pub(super) age: u8,
    pub(super) tags: Vec<String>,
}

impl Person {
    pub(super) fn new(name: &str) -> Person {
        Person {
            name: name.to_owned(),
            age: 41,
            tags: vec!["cook".to_owned(), "navigator".to_owned()],
        }
    }
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Tuples {
    pub(super) pair: (String, u32),
    pub(super) triple: Triple,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Triple(pub(super) String, pub(super) u8, pub(super) Vec<String>);

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Newtypes {
    pub(super) id: Id,
    pub(super) crew: Crew,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Id(pub(super) String);

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Crew(pub(super) Vec<Person>);

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Transparents {
    pub(super) names: Names,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Names {
    pub(super) inner: Vec<String>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Units {
    pub(super) nothing: (),
    pub(super) marker: Marker,
    pub(super) after: String,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Marker;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Options {
    pub(super) some: Option<String>,
    pub(super) none: Option<String>,
    pub(super) person: Option<Box<Person>>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Boxes {
    pub(super) person: Box<Person>,
    pub(super) list: Box<[String]>,
    pub(super) text: Box<str>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Shared {
    pub(super) person: Arc<Person>,
    pub(super) text: Arc<str>,
    pub(super) local: Rc<String>,
}

/// Without `borrow`, serde reads a `Cow` as owned.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct CowOwned {
    pub(super) text: Cow<'static, str>,
    pub(super) list: Cow<'static, [String]>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct CowBorrowed<'a> {
    #[serde(borrow)]
    pub(super) text: Cow<'a, str>,
    pub(super) last: String,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Arrays {
    pub(super) names: [String; 3],
    pub(super) numbers: [u16; 4],
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Maps {
    pub(super) lists: BTreeMap<String, Vec<String>>,
    pub(super) people: HashMap<String, Person>,
    pub(super) set: BTreeSet<String>,
    pub(super) counts: BTreeMap<String, u32>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct External {
    pub(super) shapes: Vec<Shape>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Shape {
    Empty,
    Named(String),
    Pair(String, Vec<String>),
    Person { name: String, age: u8 },
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Internal {
    pub(super) shapes: Vec<InternalShape>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind")]
pub(super) enum InternalShape {
    Empty,
    Labelled { label: String, tags: Vec<String> },
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Adjacent {
    pub(super) shapes: Vec<AdjacentShape>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "what")]
pub(super) enum AdjacentShape {
    Empty,
    Named(String),
    Labelled { label: String, tags: Vec<String> },
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Untagged {
    pub(super) shapes: Vec<UntaggedShape>,
}

/// The first variant fails on the data of the second. The cost of the failure must show.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum UntaggedShape {
    Both { label: String, number: u32 },
    Labelled { label: String },
    Text(String),
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct FlattenStruct {
    pub(super) title: String,
    #[serde(flatten)]
    pub(super) person: Person,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct FlattenMap {
    pub(super) title: String,
    #[serde(flatten)]
    pub(super) rest: BTreeMap<String, String>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct With {
    #[serde(with = "joined")]
    pub(super) words: Vec<String>,
    pub(super) last: String,
}

/// A list written as one text.
pub(super) mod joined {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(words: &[String], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&words.join(","))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
        let text = String::deserialize(from)?;
        Ok(text.split(',').map(str::to_owned).collect())
    }
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct DeserializeWith {
    #[serde(deserialize_with = "longest")]
    pub(super) longest: Vec<String>,
    pub(super) last: String,
}

/// Reads lists and keeps the longest text of each: inner calls of a user-defined function.
fn longest<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    let words = Vec::<String>::deserialize(from)?;
    let longest = words.into_iter().max_by_key(String::len);
    Ok(longest.into_iter().collect())
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Defaults {
    pub(super) name: String,
    #[serde(default = "two_words")]
    pub(super) words: Vec<String>,
}

fn two_words() -> Vec<String> {
    vec!["made".to_owned(), "up".to_owned()]
}

/// The input of [`Defaults`], without its last field.
#[derive(Serialize)]
pub(super) struct BeforeDefaults {
    pub(super) name: String,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Aliases {
    #[serde(alias = "n", alias = "called")]
    pub(super) name: String,
    pub(super) words: Vec<String>,
    #[serde(alias = "t")]
    pub(super) text: String,
}

/// The input of [`Aliases`], with its other names.
#[derive(Serialize)]
pub(super) struct BeforeAliases {
    pub(super) n: String,
    pub(super) words: Vec<String>,
    pub(super) t: String,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Skips {
    pub(super) name: String,
    #[serde(skip)]
    pub(super) cache: Vec<u8>,
    pub(super) words: Vec<String>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Renames {
    pub(super) given_name: String,
    #[serde(rename = "type")]
    pub(super) kind: String,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Tree {
    pub(super) name: String,
    pub(super) children: Vec<Tree>,
    pub(super) left: Option<Box<Tree>>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Generic<A, B> {
    pub(super) first: A,
    pub(super) second: B,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct BorrowedText<'a> {
    pub(super) text: &'a str,
    pub(super) maybe: Option<&'a str>,
    pub(super) owned: String,
    #[serde(borrow)]
    pub(super) list: Vec<&'a str>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct BorrowedBytes<'a> {
    #[serde(serialize_with = "as_bytes")]
    pub(super) bytes: &'a [u8],
    pub(super) owned: String,
}

fn as_bytes<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
    to.serialize_bytes(bytes)
}

#[derive(Debug, Deserialize)]
pub(super) struct Raw<'a> {
    #[serde(borrow)]
    pub(super) lent: &'a serde_json::value::RawValue,
    pub(super) kept: Box<serde_json::value::RawValue>,
    pub(super) name: String,
}

impl PartialEq for Raw<'_> {
    fn eq(&self, other: &Self) -> bool {
        let texts = |raw: &Self| (raw.lent.get().to_owned(), raw.kept.get().to_owned());
        texts(self) == texts(other) && self.name == other.name
    }
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Visited {
    pub(super) pairs: Pairs,
    pub(super) last: String,
}

/// Reads a map into a list, element by element, by a visitor of its own.
#[derive(Debug, PartialEq)]
pub(super) struct Pairs(pub(super) Vec<(String, Vec<u32>)>);

impl Serialize for Pairs {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> de::Visitor<'de> for Reader {
            type Value = Pairs;

            fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str("a map of lists")
            }

            fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Pairs, A::Error> {
                let mut pairs = Vec::new();
                while let Some(key) = map.next_key::<String>()? {
                    pairs.push((key, map.next_value()?));
                }
                Ok(Pairs(pairs))
            }
        }
        from.deserialize_map(Reader)
    }
}

/// All unknown fields are skipped.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Narrow {
    pub(super) name: String,
}

/// Reads several times as much as it needs, because the shape of the data is unknown.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Dynamic {
    pub(super) name: String,
    pub(super) value: serde_json::Value,
}
