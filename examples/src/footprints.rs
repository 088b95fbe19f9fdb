//! Measures live values. Each is created in a phase of its own, so the recorder's count of that
//! phase is what the value retains.

use crate::data::{Fleet, Random};
use deepsize::DeepSizeOf;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::sync::Arc;
use tracking_alloc::{Profiled, footprint, footprint_estimate, phase};

/// Many people with short names, tags and bytes.
#[derive(Serialize, Deserialize)]
struct City {
    name: String,
    citizens: Vec<Citizen>,
    streets: BTreeMap<String, Vec<u32>>,
    twin: Option<Box<City>>,
}

#[derive(Serialize, Deserialize)]
struct Citizen {
    first_name: String,
    age: i16,
    data: CitizenData,
    tags: HashMap<u16, String>,
}

#[derive(Serialize, Deserialize)]
struct CitizenData(Vec<u8>);

fn city(citizens: usize, random: &mut Random) -> City {
    let text = |random: &mut Random| "x".repeat(1 + random.below(24));
    City {
        name: text(random),
        citizens: (0..citizens)
            .map(|_| Citizen {
                first_name: text(random),
                age: random.below(99) as i16,
                data: CitizenData(vec![7; random.below(60)]),
                tags: (0..random.below(5) as u16)
                    .map(|tag| (tag, text(random)))
                    .collect(),
            })
            .collect(),
        streets: (0..citizens / 4)
            .map(|street| (format!("street {street}"), vec![1; random.below(9)]))
            .collect(),
        twin: (citizens > 100).then(|| Box::new(city(citizens / 10, random))),
    }
}

/// Creates each value, measures it under the name of its phase, and prints the results of both
/// methods.
///
/// # Panics
/// If nothing records, or if `metadata` is not the metadata of a cargo workspace.
pub fn run(metadata: &str) {
    // Read with the structs of the cargo_metadata crate, as in the demo.
    exact("metadata", || {
        let read = serde_json::from_str::<Profiled<cargo_metadata::Metadata>>(metadata);
        read.expect("what cargo says of a workspace").0
    });
    exact("city", || city(3_000, &mut Random::new(11)));
    exact("fleet", || Fleet::generate(500, 11));
    let json = serde_json::to_string(&Fleet::generate(200, 3)).expect("JSON");
    exact("value", || {
        serde_json::from_str::<serde_json::Value>(&json).expect("JSON")
    });
    let texts = || (0..2_000u64).map(|number| (number, format!("text {number}")));
    both("b_tree_map", || texts().collect::<BTreeMap<u64, String>>());
    both("hash_map", || texts().collect::<HashMap<u64, String>>());
    both("shared_arc", || {
        let shared: Vec<Arc<String>> = (0..10)
            .map(|number| Arc::new(format!("shared {number}")))
            .collect();
        (0..1_000)
            .map(|number| Arc::clone(&shared[number % 10]))
            .collect::<Vec<_>>()
    });
    both("rc_str", || {
        (0..1_000)
            .map(|number| Rc::from(format!("name {number}")))
            .collect::<Vec<Rc<str>>>()
    });
    both("slack", || {
        let mut list = Vec::with_capacity(1_000);
        list.push(String::with_capacity(500) + "short");
        list
    });
}

/// Measures a value in its place, and keeps it.
fn exact<T: Serialize + 'static>(label: &str, make: impl FnOnce() -> T) -> &'static T {
    let value = {
        let _phase = phase(label);
        make()
    };
    // The value lies in a block of its own, in no phase, because it is not part of what it retains.
    let value: &'static T = Box::leak(Box::new(value));
    let found = footprint(label, value).expect("something records");
    println!(
        "{label} block_bytes={} blocks={} usable_bytes={} used_bytes={} shared_blocks={} hidden_values={}",
        found.block_bytes,
        found.blocks,
        found.usable_bytes,
        found.used_bytes,
        found.shared_blocks,
        found.hidden_values
    );
    value
}

fn both<T: Serialize + DeepSizeOf + 'static>(label: &str, make: impl FnOnce() -> T) {
    let value = exact(label, make);
    let estimate = footprint_estimate(label, value).expect("something records");
    println!("{label}-estimate block_bytes={}", estimate.block_bytes);
}
