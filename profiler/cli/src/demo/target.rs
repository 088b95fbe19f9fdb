//! The program that `heapglass demo` records: one JSON text deserialized twice, into types and into values.
//!
//! Everything it builds is kept to the end, so that the peak shows both side by side.

use std::hint::black_box;
use std::path::Path;

use cargo_metadata::{Metadata, MetadataCommand};

use crate::error::Error;

/// Reads the file and deserializes it; prints nothing.
pub(super) fn run(path: &Path) -> Result<u8, Error> {
    let cannot = |what: &str, error: &dyn std::fmt::Display| {
        Error::misuse(format_args!(
            "the demo's target cannot {what} {}: {error}",
            path.display()
        ))
    };
    let text = {
        let _phase = tracking_alloc::phase("read");
        std::fs::read_to_string(path).map_err(|error| cannot("read", &error))?
    };
    let typed = typed(&text).map_err(|error| cannot("deserialize", &error))?;
    let value = value(&text).map_err(|error| cannot("deserialize", &error))?;
    black_box((&text, &typed, &value));
    Ok(0)
}

/// Into the structs of the cargo_metadata crate.
fn typed(text: &str) -> Result<Metadata, cargo_metadata::Error> {
    let _phase = tracking_alloc::phase("typed").input_bytes(text.len() as u64);
    MetadataCommand::parse(text)
}

/// Into `serde_json::Value`, which needs no types and more memory.
fn value(text: &str) -> Result<serde_json::Value, serde_json::Error> {
    let _phase = tracking_alloc::phase("value").input_bytes(text.len() as u64);
    serde_json::from_str(text)
}
