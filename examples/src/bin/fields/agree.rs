//! Reads one value as `Profiled<T>` and nothing else, so that a test can compare the types in its
//! scopes with the types in the stacks.

use heapglass_examples::data::Fleet;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use tracking_alloc::{Profiled, phase};

/// The contents of a lock file with many packages: maps, options, boxes, shared values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Registry {
    packages: BTreeMap<String, Package>,
    owners: HashMap<u32, Vec<String>>,
    notice: Option<Box<Notice>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Package {
    version: String,
    license: Option<String>,
    dependencies: Vec<Dependency>,
    features: BTreeMap<String, Vec<String>>,
    source: Box<str>,
    checksum: Vec<u8>,
    home: Arc<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Dependency {
    name: String,
    optional: bool,
    target: Option<Box<Target>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Target {
    triple: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Notice {
    lines: Vec<String>,
}

fn registry(packages: usize) -> Registry {
    let dependency = |number: usize| Dependency {
        name: format!("dependency-{number}"),
        optional: number.is_multiple_of(2),
        target: number.is_multiple_of(3).then(|| {
            Box::new(Target {
                triple: format!("triple-{number}"),
            })
        }),
    };
    let package = |number: usize| Package {
        version: format!("1.{number}.0"),
        license: (!number.is_multiple_of(4)).then(|| "MIT OR Apache-2.0".to_owned()),
        dependencies: (0..number % 7).map(dependency).collect(),
        features: (0..number % 3)
            .map(|feature| {
                (
                    format!("feature-{feature}"),
                    vec!["std".to_owned(); feature],
                )
            })
            .collect(),
        source: format!("registry+{number}").into(),
        checksum: vec![number as u8; 32],
        home: Arc::new(format!("https://example.org/{number}")),
    };
    Registry {
        packages: (0..packages)
            .map(|number| (format!("package-{number:05}"), package(number)))
            .collect(),
        owners: (0..packages as u32)
            .map(|number| (number, vec![format!("owner-{number}"), "team".to_owned()]))
            .collect(),
        notice: Some(Box::new(Notice {
            lines: vec!["first".to_owned(), "second".to_owned()],
        })),
    }
}

/// Reads one value with `size` vessels or packages in the phase `agree`. The value stays to the
/// end.
pub(super) fn run(program: &str, size: usize) {
    let fleet = Fleet::generate(size, 3);
    let registry = registry(size);
    match program {
        "json" => {
            let input = serde_json::to_vec(&fleet).expect("a fleet is JSON");
            let _phase = phase("agree");
            let read = serde_json::from_slice::<Profiled<Fleet>>(&input).expect("a fleet");
            keep(read.0, &fleet);
        }
        "postcard" => {
            let input = postcard::to_allocvec(&fleet).expect("a fleet is postcard");
            let _phase = phase("agree");
            let read = postcard::from_bytes::<Profiled<Fleet>>(&input).expect("a fleet");
            keep(read.0, &fleet);
        }
        "rmp" => {
            let input = rmp_serde::to_vec_named(&registry).expect("a registry is MessagePack");
            let _phase = phase("agree");
            let read = rmp_serde::from_slice::<Profiled<Registry>>(&input).expect("a registry");
            keep(read.0, &registry);
        }
        _ => panic!("no program is called {program:?}: json, postcard, rmp"),
    }
}

fn keep<T: PartialEq>(read: T, written: &T) {
    assert!(read == *written, "what was read is what was written");
    std::mem::forget(read);
}
