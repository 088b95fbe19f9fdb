//! Workloads that read data.

use crate::data::Fleet;
use serde_json::Value;
use std::time::{Duration, Instant};

/// Number of vessels that result in about 30 MB of JSON.
pub(crate) const VESSELS: usize = 38_000;

/// The reader of each format: plain, or wrapped by a profiler. Readers panic on input that was not
/// written here.
#[derive(Clone, Copy)]
pub struct Readers {
    /// serde_json.
    pub json: fn(&[u8]) -> Fleet,
    /// postcard.
    pub postcard: fn(&[u8]) -> Fleet,
    /// rmp-serde.
    pub rmp: fn(&[u8]) -> Fleet,
    /// serde_json, into any value.
    pub value: fn(&[u8]) -> Value,
}

impl Readers {
    /// The formats' own readers.
    pub const PLAIN: Readers = Readers {
        json: |input| serde_json::from_slice(input).expect("a fleet"),
        postcard: |input| postcard::from_bytes(input).expect("a fleet"),
        rmp: |input| rmp_serde::from_slice(input).expect("a fleet"),
        value: |input| serde_json::from_slice(input).expect("a value"),
    };
}

/// Returns work on a fleet in the format `name`.
pub(crate) fn fleet(name: &str, readers: Readers, vessels: usize) -> Box<dyn FnMut() -> Duration> {
    let fleet = Fleet::generate(vessels, 1);
    let (input, read) = match name {
        "json" => (
            serde_json::to_vec(&fleet).expect("a fleet is JSON"),
            readers.json,
        ),
        "postcard" => (
            postcard::to_allocvec(&fleet).expect("a fleet is postcard"),
            readers.postcard,
        ),
        _ => (
            rmp_serde::to_vec(&fleet).expect("a fleet is MessagePack"),
            readers.rmp,
        ),
    };
    Box::new(move || {
        let begin = Instant::now();
        let fleet = read(&input);
        assert_eq!(fleet.vessels.len(), vessels);
        drop(fleet);
        begin.elapsed()
    })
}

/// Returns work on the GeoJSON file, read into one value type for everything.
pub(crate) fn value(readers: Readers) -> Box<dyn FnMut() -> Duration> {
    let path = std::env::var_os(crate::INPUT).expect("PEERS_INPUT names the GeoJSON file");
    let input = std::fs::read(path).expect("the GeoJSON file");
    Box::new(move || {
        let begin = Instant::now();
        let value = (readers.value)(&input);
        assert!(!value["features"].as_array().expect("features").is_empty());
        drop(value);
        begin.elapsed()
    })
}
