//! The program that `heapglass demo` records: it deserializes one JSON text twice, into types and
//! into values.
//!
//! The types are deserialized as `Profiled`, so that their bytes are counted by field. Then the
//! program measures both values. It keeps everything to the end, so that the peak contains all of
//! it.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::Path;

use cargo_metadata::Metadata;
use tracking_alloc::{Profiled, footprint, footprint_estimate};

use crate::error::Error;

/// Reads the file and deserializes it; prints nothing.
pub(super) fn run(path: &Path) -> Result<u8, Error> {
    // NOTE: a closure, because a string would be an allocation of the demo.
    let cannot = |what: &str| format!("the demo program cannot {what} {}", path.display());
    let text = {
        let _phase = tracking_alloc::phase("read");
        std::fs::read_to_string(path).map_err(|error| Error::wrap(cannot("read"))(error))?
    };
    let unread = |error| Error::wrap(cannot("deserialize"))(error);
    let typed = typed(&text).map_err(unread)?;
    let value = value(&text).map_err(unread)?;
    let dependencies = dependencies(&typed);
    footprint("metadata", &typed);
    // Measure one value both ways: exactly, and with the estimate of the crate deepsize.
    footprint("dependencies", &dependencies);
    footprint_estimate("dependencies", &dependencies);
    black_box((&text, &typed, &value, &dependencies));
    Ok(0)
}

/// Deserializes the text into the structs of the cargo_metadata crate.
fn typed(text: &str) -> Result<Metadata, serde_json::Error> {
    let phase = tracking_alloc::phase("typed").input_bytes(text.len() as u64);
    let typed = serde_json::from_str::<Profiled<Metadata>>(text)?.0;
    let _phase = phase.records(typed.packages.len() as u64);
    Ok(typed)
}

/// Deserializes the text into `serde_json::Value`, which needs no types but more memory.
fn value(text: &str) -> Result<serde_json::Value, serde_json::Error> {
    let _phase = tracking_alloc::phase("value").input_bytes(text.len() as u64);
    serde_json::from_str(text)
}

/// Returns the dependencies of each package by name: many small blocks in a tree.
fn dependencies(metadata: &Metadata) -> BTreeMap<String, Vec<String>> {
    let _phase = tracking_alloc::phase("dependencies");
    let mut dependencies: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in &metadata.packages {
        let names = package.dependencies.iter().map(|other| other.name.clone());
        let known = dependencies.entry(package.name.to_string());
        known.or_default().extend(names);
    }
    dependencies
}
