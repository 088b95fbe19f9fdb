//! A value as in a real program: everything together, as a decoder returns it.

use super::{exact, made, text};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use tracking_alloc::{footprint, measure};

#[derive(Serialize, Deserialize)]
struct Boss {
    title: String,
    level: u32,
}

#[derive(Serialize, Deserialize)]
struct Citizen {
    first_name: String,
    age: u32,
    email: Option<String>,
    tags: Vec<String>,
    scores: Vec<u32>,
    boss: Option<Box<Boss>>,
    level: Option<Box<u64>>,
}

#[derive(Serialize, Deserialize)]
struct City {
    name: String,
    citizens: Vec<Citizen>,
    index: HashMap<String, Vec<u32>>,
    ordered: BTreeMap<u32, String>,
    #[serde(skip, default = "nothing")]
    motto: Arc<str>,
}

fn nothing() -> Arc<str> {
    Arc::from("")
}

fn city(number: u32) -> City {
    let citizen = |n: u32| Citizen {
        first_name: format!("First {n}"),
        age: n,
        email: n.is_multiple_of(2).then(|| format!("e{n}@example.org")),
        tags: (0..n % 4).map(|tag| tag.to_string()).collect(),
        scores: (0..n % 7).collect(),
        boss: n.is_multiple_of(3).then(|| {
            Box::new(Boss {
                title: "Dr".to_owned(),
                level: 1,
            })
        }),
        level: n.is_multiple_of(5).then(|| Box::new(7)),
    };
    City {
        name: format!("City {number}"),
        citizens: (0..50).map(citizen).collect(),
        index: (0..20).map(|n| (format!("key {n}"), vec![1; n])).collect(),
        ordered: (0..30).map(|n| (n, n.to_string())).collect(),
        motto: nothing(),
    }
}

#[test]
fn a_decoded_value_retains_what_its_decoder_allocated() {
    let json = serde_json::to_string(&(0..20).map(city).collect::<Vec<_>>()).expect("JSON");
    made(|| ());
    let (cities, delta) = measure(|| serde_json::from_str::<Vec<City>>(&json).expect("cities"));
    let found = footprint("cities", &cities).expect("something records");
    // The skipped field is the only part that is not shown.
    let skipped: usize = cities.iter().map(|city| city.motto.len() + 16).sum();
    assert_eq!(found.block_bytes as i64, delta.live_bytes - skipped as i64);
    assert!(
        found.block_bytes * 100 >= delta.live_bytes as u64 * 99,
        "{found:?}"
    );
    // The second footprint is the same.
    assert_eq!(footprint("cities", &cities), Some(found));
}

#[test]
fn values_of_other_threads_count() {
    made(|| ());
    let value = std::thread::spawn(|| (0..100).map(|_| text(10)).collect::<Vec<_>>())
        .join()
        .expect("a list");
    let found = footprint("from elsewhere", &value).expect("something records");
    assert_eq!(
        (found.blocks, found.block_bytes),
        (101, 100 * 24 + 100 * 10)
    );
    exact(|| (0..10).map(|n| n.to_string()).collect::<Vec<_>>());
}
