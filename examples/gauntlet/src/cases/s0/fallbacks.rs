//! 0.18: where `deserialize_in_place` silently allocates again. Everything is read as `Profiled`,
//! so the recording of the second pass names the field that fell back.

use super::{growths, people};
use crate::{Case, Found, Judged, Variant, Window};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use tracking_alloc::{Profiled, measure};

/// Number of records in a full run.
const RECORDS: usize = 1_000;

/// The case.
pub(super) const CASE: Case = Case {
    id: "0.18",
    system: "the silent fallbacks of deserialize_in_place",
    headline: "a field with deserialize_with silently allocates a whole new value",
    variants: &[
        Variant::new("in place", |window| twice::<types::Plain>(window, fields)),
        Variant::new("in place, newtype", |window| {
            twice::<types::Newtype>(window, |records| json!(records))
        }),
        Variant::new("deserialize_with", |window| {
            twice::<types::With>(window, fields)
        }),
        Variant::new("deserialize_with on all fields", |window| {
            twice::<types::AllWith>(window, fields)
        }),
        Variant::new("transparent", |window| {
            twice::<types::Transparent>(window, |records| json!(records))
        }),
        Variant::new("from", |window| {
            twice::<types::From>(window, |records| json!(records))
        }),
        Variant::new("try_from", |window| {
            twice::<types::TryFrom>(window, |records| json!(records))
        }),
        Variant::new("enum", |window| {
            twice::<types::Enum>(window, |records| json!({"Records": records}))
        }),
        Variant::new("flatten", |window| twice::<types::Flatten>(window, fields)),
        Variant::new("Option", |window| {
            twice::<Field<Option<Records>>>(window, fields)
        }),
        Variant::new("Box", |window| twice::<Field<Box<Records>>>(window, fields)),
        Variant::new("HashMap", |window| {
            twice::<Field<HashMap<String, Records>>>(window, by_key)
        }),
        Variant::new("BTreeMap", |window| {
            twice::<Field<BTreeMap<String, Records>>>(window, by_key)
        }),
        Variant::new("HashSet", |window| {
            twice::<Field<HashSet<String>>>(
                window,
                |records| json!({"records": records.iter().map(|record| &record.name).collect::<Vec<_>>()}),
            );
        }),
        Variant::new("VecDeque", |window| {
            twice::<Field<VecDeque<Record>>>(window, fields)
        }),
    ],
    judge,
};

/// The types that fall back completely: the second pass allocates as much as the first.
const WHOLLY: [&str; 11] = [
    "deserialize_with",
    "deserialize_with on all fields",
    "transparent",
    "from",
    "try_from",
    "enum",
    "flatten",
    "Option",
    "Box",
    "HashMap",
    "BTreeMap",
];

fn judge(found: &Found<'_>) -> Judged {
    let pass = |variant| {
        (
            found.of(variant, "blocks of pass 1"),
            found.of(variant, "total_blocks"),
        )
    };
    let records = found.of("in place", "records");
    let (first, second) = pass("in place");
    // JSON does not tell the number of elements: the list grows from 4.
    let holds = first == records + growths(4.0, records)
        && second == 0.0
        && pass("in place, newtype").1 == 0.0
        && WHOLLY
            .map(pass)
            .iter()
            .all(|(first, second)| first == second && *second >= records)
        && ["HashSet", "VecDeque"]
            .map(pass)
            .iter()
            .all(|(_, second)| *second == records);
    let why = format!(
        "pass 2 allocates {second:.0} blocks in place, with deserialize_with {:.0}, as many as pass 1; so it does for {}; \
         sets and deques keep their own buffer but allocate each of the {records:.0} strings again",
        pass("deserialize_with").1,
        WHOLLY[1..].join(", "),
    );
    Judged::facts(holds, why)
}

/// Reads a `T` twice; the second time in place and inside the window.
fn twice<T: DeserializeOwned + 'static>(window: &mut Window, form: fn(Records) -> Value) {
    let count = window.scaled(RECORDS);
    let record = |(id, name)| Record {
        id: id as u64,
        // All names differ, for the set.
        name: format!("{name}{id}"),
    };
    let records = people::names(count, 5)
        .into_iter()
        .enumerate()
        .map(record)
        .collect();
    let json = form(records).to_string();
    window.input(json.len(), count);
    let (value, first) = measure(|| serde_json::from_str::<Profiled<T>>(&json));
    let mut value = value.expect("it was written by this program");
    window.note("blocks of pass 1", first.total_blocks as f64);
    window.work(|| {
        let mut json = serde_json::Deserializer::from_str(&json);
        Profiled::deserialize_in_place(&mut json, &mut value).expect("it was read before");
    });
}

fn fields(records: Records) -> Value {
    json!({"id": 7, "records": records})
}

fn by_key(records: Records) -> Value {
    json!({"records": {"key": records}})
}

#[derive(Serialize, Deserialize)]
struct Record {
    id: u64,
    name: String,
}

type Records = Vec<Record>;

/// A struct with one field.
#[derive(Deserialize)]
struct Field<T> {
    records: T,
}

/// The types to read into.
mod types {
    #![expect(dead_code, reason = "only read into")]

    use super::Records;
    use serde::{Deserialize, Deserializer};

    #[derive(Deserialize)]
    pub(super) struct Plain {
        id: u64,
        records: Records,
    }

    #[derive(Deserialize)]
    pub(super) struct Newtype(Records);

    #[derive(Deserialize)]
    pub(super) struct With {
        id: u64,
        #[serde(deserialize_with = "as_ever")]
        records: Records,
    }

    #[derive(Deserialize)]
    pub(super) struct AllWith {
        #[serde(deserialize_with = "as_ever")]
        records: Records,
    }

    fn as_ever<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Records, D::Error> {
        Records::deserialize(deserializer)
    }

    #[derive(Deserialize)]
    #[serde(transparent)]
    pub(super) struct Transparent(Records);

    #[derive(Deserialize)]
    #[serde(from = "Records")]
    pub(super) struct From(Records);

    impl std::convert::From<Records> for From {
        fn from(records: Records) -> Self {
            From(records)
        }
    }

    #[derive(Deserialize)]
    #[serde(try_from = "Records")]
    pub(super) struct TryFrom(Records);

    // NOTE: an impl of `From` would also provide `TryFrom`.
    impl std::convert::TryFrom<Records> for TryFrom {
        type Error = &'static str;

        fn try_from(records: Records) -> Result<Self, Self::Error> {
            if records.is_empty() {
                Err("no records")
            } else {
                Ok(TryFrom(records))
            }
        }
    }

    #[derive(Deserialize)]
    pub(super) enum Enum {
        Records(Records),
    }

    #[derive(Deserialize)]
    pub(super) struct Flatten {
        id: u64,
        #[serde(flatten)]
        inner: Inner,
    }

    #[derive(Deserialize)]
    pub(super) struct Inner {
        records: Records,
    }
}
