//! Values that cannot be followed are counted. The figures are then a lower bound, and never exceed
//! what the value retains.

use super::{dropped, lower_bound, made, text};
use indexmap::IndexMap;
use serde::{Serialize, Serializer};
use std::collections::HashSet;
use tracking_alloc::footprint;

#[derive(Clone, Serialize)]
#[serde(into = "Vec<String>")]
struct Into(HashSet<String>);

impl From<Into> for Vec<String> {
    fn from(value: Into) -> Self {
        value.0.into_iter().collect()
    }
}

fn into(count: usize) -> Into {
    Into((0..count).map(|n| format!("{n:05}")).collect())
}

#[test]
fn values_that_serialize_as_another_are_counted_as_hidden() {
    let found = lower_bound(|| into(30));
    assert_eq!((found.hidden_values, found.blocks), (1, 0), "{found:?}");
    let found = lower_bound(|| vec![into(30), into(0), into(1)]);
    assert_eq!((found.hidden_values, found.blocks), (2, 1), "{found:?}");
    let found = lower_bound(|| Box::new(into(3)));
    assert_eq!((found.hidden_values, found.blocks), (1, 0), "{found:?}");

    #[derive(Clone, Serialize)]
    #[serde(into = "Shown")]
    struct Record {
        name: Box<str>,
    }
    #[derive(Serialize)]
    struct Shown {
        name: String,
        length: usize,
    }
    impl From<Record> for Shown {
        fn from(record: Record) -> Self {
            Shown {
                length: record.name.len(),
                name: record.name.into(),
            }
        }
    }
    let record = |length| Record {
        name: text(length).into(),
    };
    let found = lower_bound(|| vec![record(3), record(0), record(4)]);
    assert_eq!(found.hidden_values, 2, "{found:?}");
}

#[test]
fn values_with_fields_that_are_not_serialized_are_counted_as_hidden() {
    fn spelled<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&format!("{bytes:?}"))
    }
    #[derive(Serialize)]
    struct Partly {
        name: String,
        #[serde(skip)]
        skipped: Vec<u8>,
        #[serde(skip)]
        index: IndexMap<u8, u8>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        spare: Vec<u8>,
        #[serde(serialize_with = "spelled")]
        spelled: Vec<u8>,
        #[serde(skip)]
        _number: u64,
    }
    let partly = || Partly {
        name: text(5),
        skipped: Vec::new(),
        index: IndexMap::new(),
        spare: Vec::new(),
        spelled: Vec::new(),
        _number: 7,
    };
    assert_eq!(dropped(partly).blocks, 1);
    assert_eq!(dropped(|| Box::new(partly())).blocks, 2);
    for change in [
        (|partly| partly.skipped = vec![1]) as fn(&mut Partly),
        |partly| partly.index = IndexMap::from([(1, 2)]),
        |partly| partly.spare = Vec::with_capacity(9),
        |partly| partly.spelled = vec![1],
    ] {
        let changed = || {
            let mut partly = partly();
            change(&mut partly);
            partly
        };
        assert_eq!(lower_bound(changed).hidden_values, 1);
        assert_eq!(lower_bound(|| Box::new(changed())).hidden_values, 1);
        assert_eq!(
            lower_bound(|| vec![changed(), partly(), changed()]).hidden_values,
            2
        );
    }
}

#[test]
fn pointers_that_a_text_hides_are_counted_as_hidden() {
    /// Like a `Platform` in a `VersionReq`: a list of boxes.
    #[expect(clippy::vec_box, reason = "boxes are what is hidden")]
    struct Boxes(Vec<Box<u64>>);
    impl Serialize for Boxes {
        fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
            to.collect_str(&self.0.len())
        }
    }
    let found = lower_bound(|| Boxes((0..9).map(Box::new).collect()));
    assert_eq!((found.hidden_values, found.blocks), (1, 0), "{found:?}");
}

#[test]
fn boxed_numbers_in_untagged_enums_are_counted_as_hidden() {
    #[derive(Serialize)]
    #[serde(untagged)]
    enum Untagged {
        Boxed(Box<u64>),
        Plain(u64),
        Text(String),
    }
    let found = lower_bound(|| {
        vec![
            Untagged::Boxed(Box::new(5)),
            Untagged::Plain(6),
            Untagged::Text(text(4)),
        ]
    });
    assert_eq!((found.hidden_values, found.blocks), (1, 2), "{found:?}");
}

#[test]
fn numbers_that_look_like_addresses_are_not_hidden_blocks() {
    #[derive(Serialize)]
    enum Small {
        Unit,
        Number(u32),
        #[expect(clippy::box_collection, reason = "a word that looks like an address")]
        Pointer(Box<String>),
    }
    let other = made(|| vec![1u8; 50]);
    let address = other.as_ptr() as u64;
    let value = (
        address,
        [address; 3],
        Some(address),
        f64::from_bits(address),
    );
    let found = footprint("numbers", &value).expect("something records");
    assert_eq!((found.blocks, found.hidden_values), (0, 0), "{found:?}");
    let value = (
        std::time::Duration::from_secs(address),
        std::num::NonZeroU64::new(address),
        std::sync::atomic::AtomicU64::new(address),
    );
    let found = footprint("numbers", &value).expect("something records");
    assert_eq!((found.blocks, found.hidden_values), (0, 0), "{found:?}");
    let found = dropped(|| vec![Box::new(address), Box::new(1)]);
    assert_eq!(found.blocks, 3);
    // A variant leaves parts of the previous variant in its memory.
    let mut values = made(|| {
        let pointer = |n| Small::Pointer(Box::new(text(n)));
        vec![pointer(1), pointer(2), Small::Number(3)]
    });
    let taken: Vec<Small> = values
        .iter_mut()
        .map(|value| std::mem::replace(value, Small::Unit))
        .collect();
    let found = footprint("taken", &values).expect("something records");
    assert_eq!((found.blocks, found.hidden_values), (1, 0), "{found:?}");
    drop(taken);
}
