//! The decoders, each measured on a data set.

use crate::data::{airlines, geo, log, mesh, mk48, requests, savedata};
use crate::measure::{Figures, Row, copy};
use crate::protobuf;
use capnp::serialize::{read_message, read_message_from_flat_slice_no_alloc};
use musli::alloc::Global;
use musli::mode::Binary;
use rkyv::api::high::{HighDeserializer, HighSerializer, HighValidator};
use rkyv::bytecheck::CheckBytes;
use rkyv::rancor::Error;
use rkyv::ser::allocator::ArenaHandle;
use rkyv::util::AlignedVec;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use wincode::config::Configuration;
use wincode::{SchemaRead, SchemaWrite};

/// A data set.
pub(crate) struct Set {
    /// Its name.
    pub(crate) name: &'static str,
    /// The data set in a sentence.
    pub(crate) about: &'static str,
    /// Measures every decoder. Returns the bytes that the typed value needs, and the rows.
    pub(crate) rows: fn() -> (u64, Vec<Row>),
}

/// Number of records in `requests`.
const REQUESTS: usize = 5_000;

/// The data sets, in the order of the page.
pub(crate) const SETS: [Set; 7] = [
    Set {
        name: "log",
        about: "10,000 lines of a web server's log, five texts and six numbers each",
        rows: || {
            let value = log::generate(10_000);
            let mut rows = common(&value);
            rows.push(miniserde(&value));
            rows.push(protobuf::<_, protobuf::Logs>(&value));
            rows.extend(csv(&value.logs));
            (need(&value), rows)
        },
    },
    Set {
        name: "mesh",
        about: "125,000 triangles, twelve `f32` each",
        rows: || {
            let value = mesh::generate(125_000);
            let mut rows = common(&value);
            rows.push(miniserde(&value));
            rows.push(protobuf::<_, protobuf::Mesh>(&value));
            rows.extend(csv(&value.triangles));
            (need(&value), rows)
        },
    },
    Set {
        name: "minecraft_savedata",
        about: "500 players of a game: many fields, short texts, absent values",
        rows: || {
            let value = savedata::generate(500);
            let mut rows = common(&value);
            rows.push(protobuf::<_, protobuf::Players>(&value));
            (need(&value), rows)
        },
    },
    Set {
        name: "mk48",
        about: "1,000 updates of a game's server: many small lists",
        rows: || {
            let value = mk48::generate(1_000);
            let mut rows = common(&value);
            rows.push(miniserde(&value));
            rows.push(protobuf::<_, protobuf::Updates>(&value));
            (need(&value), rows)
        },
    },
    Set {
        name: "geojson",
        about: "the outlines of lots: points of three `f64` in three nested lists",
        rows: || {
            let value = geo::generate(4_000_000);
            let mut rows = common(&value);
            rows.push(miniserde(&value));
            rows.push(protobuf::<_, protobuf::Features>(&value));
            (need(&value), rows)
        },
    },
    Set {
        name: "airlines",
        about: "4,408 months of airports: nested objects, five texts and 18 numbers each",
        rows: || {
            let value = airlines::generate(airlines::LINES);
            let mut rows = common(&value);
            rows.push(miniserde(&value));
            rows.push(protobuf::<_, protobuf::Lines>(&value));
            rows.extend(csv(&value.lines));
            (need(&value), rows)
        },
    },
    Set {
        name: "requests",
        about: "5,000 records of a content delivery network: ten texts and 13 numbers each",
        rows: || {
            let value = requests::generate(REQUESTS);
            let mut rows = common(&value);
            rows.push(miniserde(&value));
            rows.push(protobuf::<_, protobuf::Requests>(&value));
            rows.extend(csv(&value.requests));
            rows.extend(schemas(REQUESTS));
            (need(&value), rows)
        },
    },
];

/// wincode's own limit, 4 MiB for a list, is too low for `mesh`.
pub(crate) type Wincode = Configuration<true, { 64 << 20 }>;

/// The list of a document, whose records stay text.
type Raw = BTreeMap<String, Vec<Box<RawValue>>>;

/// Measures one decoder: encodes, decodes, and checks that the value is what was written. The
/// result of the last expression is the number of bytes that a copy of the value has.
macro_rules! row {
    ($format:literal, $encode:expr, |$wire:ident| $decode:expr, $agrees:expr, $copied:expr) => {
        Row {
            format: $format,
            figures: (|| {
                let wire = $encode.map_err(|error| error.to_string())?;
                // Some crates keep tables that they make the first time.
                let mut again = wire.clone();
                let $wire = &mut again;
                _ = $decode;
                let mut wire = wire;
                let bytes = wire.len();
                let $wire = &mut wire;
                let (value, figures) = tracking_alloc::measure(move || $decode);
                let value = value.map_err(|error| error.to_string())?;
                if !$agrees(&value) {
                    return Err("what is read is not what was written".to_owned());
                }
                Ok(Figures::new(bytes, figures, $copied(&value)))
            })(),
        }
    };
}

/// Returns `true` if a value is what was written, apart from the last digits of its numbers: some
/// decoders of JSON round them otherwise. postcard writes each number with as many bytes as its
/// type has, or as its magnitude needs.
fn same<T: PartialEq + serde::Serialize>(value: &T, written: &T) -> bool {
    let weight = |value: &T| postcard::to_allocvec(value).map(|bytes| bytes.len());
    value == written || weight(value).ok() == weight(written).ok()
}

/// Accepts anything: a document without types is not compared.
fn any<V>(_: &V) -> bool {
    true
}

/// Returns `None`: the result borrows or shares memory, so a copy of it tells nothing.
fn uncopied<V>(_: &V) -> Option<u64> {
    None
}

/// Returns the bytes that a value needs: those of a copy, which has no unused capacity.
fn need<T: Clone>(value: &T) -> u64 {
    copy(value).unwrap_or(0)
}

/// Returns 0: the result is the wire bytes.
fn in_place<V>(_: &V) -> Option<u64> {
    Some(0)
}

/// The result of encoders that cannot fail.
pub(crate) type Never<T> = Result<T, std::convert::Infallible>;

/// Measures the decoders that hold every data set.
fn common<T>(value: &T) -> Vec<Row>
where
    T: Clone + PartialEq + serde::Serialize + DeserializeOwned,
    T: bincode::Encode + bincode::Decode<()>,
    T: bitcode::Encode + bitcode::DecodeOwned,
    T: borsh::BorshSerialize + borsh::BorshDeserialize,
    T: facet::Facet<'static>,
    T: musli::Encode<Binary> + for<'de> musli::Decode<'de, Binary, Global>,
    T: nanoserde::SerBin + nanoserde::DeBin + nanoserde::SerJson + nanoserde::DeJson,
    T: SchemaWrite<Wincode, Src = T> + for<'de> SchemaRead<'de, Wincode, Dst = T>,
    T: rkyv::Archive + for<'a> rkyv::Serialize<HighSerializer<AlignedVec, ArenaHandle<'a>, Error>>,
    T::Archived: for<'a> CheckBytes<HighValidator<'a, Error>>,
    T::Archived: rkyv::Deserialize<T, HighDeserializer<Error>>,
{
    let json = || serde_json::to_vec(value);
    let agrees = |read: &T| same(read, value);
    let bincode = bincode::config::standard();
    vec![
        row!(
            "serde_json",
            json(),
            |wire| serde_json::from_slice::<T>(wire),
            agrees,
            copy
        ),
        row!(
            "serde_json, from_reader",
            json(),
            |wire| serde_json::from_reader::<_, T>(wire.as_slice()),
            agrees,
            copy
        ),
        row!(
            "serde_json, RawValue",
            json(),
            |wire| serde_json::from_slice::<Raw>(wire),
            any,
            copy
        ),
        row!(
            "serde_json, Value",
            json(),
            |wire| serde_json::from_slice::<serde_json::Value>(wire),
            any,
            copy
        ),
        row!(
            "simd-json",
            json(),
            |wire| simd_json::from_slice::<T>(wire),
            agrees,
            copy
        ),
        row!(
            "simd-json, tape",
            json(),
            |wire| simd_json::to_tape(wire),
            any,
            uncopied
        ),
        row!(
            "simd-json, borrowed Value",
            json(),
            |wire| simd_json::to_borrowed_value(wire),
            any,
            copy
        ),
        row!(
            "simd-json, owned Value",
            json(),
            |wire| simd_json::to_owned_value(wire),
            any,
            copy
        ),
        row!(
            "sonic-rs",
            json(),
            |wire| sonic_rs::from_slice::<T>(wire),
            agrees,
            copy
        ),
        row!(
            "sonic-rs, Value",
            json(),
            |wire| sonic_rs::from_slice::<sonic_rs::Value>(wire),
            any,
            uncopied
        ),
        row!(
            "nanoserde, JSON",
            Never::Ok(nanoserde::SerJson::serialize_json(value)),
            |wire| <T as nanoserde::DeJson>::deserialize_json(wire),
            agrees,
            copy
        ),
        row!(
            "facet-json",
            json(),
            |wire| facet_json::from_slice::<T>(wire),
            agrees,
            copy
        ),
        row!(
            "quick-xml",
            quick_xml::se::to_string(value),
            |wire| quick_xml::de::from_str::<T>(wire),
            agrees,
            copy
        ),
        row!(
            "toml",
            toml::to_string(value),
            |wire| toml::from_str::<T>(wire),
            agrees,
            copy
        ),
        row!(
            "toml, Table",
            toml::to_string(value),
            |wire| toml::from_str::<toml::Table>(wire),
            any,
            copy
        ),
        row!(
            "rmp-serde",
            rmp_serde::to_vec(value),
            |wire| rmp_serde::from_slice::<T>(wire),
            agrees,
            copy
        ),
        row!(
            "rmp-serde, named",
            rmp_serde::to_vec_named(value),
            |wire| rmp_serde::from_slice::<T>(wire),
            agrees,
            copy
        ),
        row!(
            "ciborium",
            cbor(value),
            |wire| ciborium::from_reader::<T, _>(wire.as_slice()),
            agrees,
            copy
        ),
        row!(
            "ciborium, Value",
            cbor(value),
            |wire| ciborium::from_reader::<ciborium::Value, _>(wire.as_slice()),
            any,
            copy
        ),
        row!(
            "postcard",
            postcard::to_allocvec(value),
            |wire| postcard::from_bytes::<T>(wire),
            agrees,
            copy
        ),
        row!(
            "bincode",
            bincode::encode_to_vec(value, bincode),
            |wire| bincode::decode_from_slice::<T, _>(wire, bincode).map(|read| read.0),
            agrees,
            copy
        ),
        row!(
            "bitcode",
            Never::Ok(bitcode::encode(value)),
            |wire| bitcode::decode::<T>(wire),
            agrees,
            copy
        ),
        row!(
            "borsh",
            borsh::to_vec(value),
            |wire| borsh::from_slice::<T>(wire),
            agrees,
            copy
        ),
        row!(
            "wincode",
            wincode::config::serialize(value, Wincode::new()),
            |wire| wincode::config::deserialize::<T, _>(wire, Wincode::new()),
            agrees,
            copy
        ),
        row!(
            "nanoserde, binary",
            Never::Ok(nanoserde::SerBin::serialize_bin(value)),
            |wire| <T as nanoserde::DeBin>::deserialize_bin(wire),
            agrees,
            copy
        ),
        row!(
            "musli, storage",
            musli::storage::to_vec(value),
            |wire| musli::storage::from_slice::<T>(wire),
            agrees,
            copy
        ),
        row!(
            "musli, wire",
            musli::wire::to_vec(value),
            |wire| musli::wire::from_slice::<T>(wire),
            agrees,
            copy
        ),
        row!(
            "musli, descriptive",
            musli::descriptive::to_vec(value),
            |wire| musli::descriptive::from_slice::<T>(wire),
            agrees,
            copy
        ),
        row!(
            "rkyv",
            rkyv::to_bytes::<Error>(value),
            |wire| rkyv::from_bytes::<T, Error>(wire),
            agrees,
            copy
        ),
        row!(
            "rkyv, in place",
            rkyv::to_bytes::<Error>(value),
            |wire| rkyv::access::<T::Archived, Error>(wire),
            any,
            in_place
        ),
    ]
}

pub(crate) fn cbor<T: serde::Serialize>(
    value: &T,
) -> Result<Vec<u8>, ciborium::ser::Error<std::io::Error>> {
    let mut wire = Vec::new();
    ciborium::into_writer(value, &mut wire)?;
    Ok(wire)
}

/// miniserde has no tuples of three, so it is not among the [`common`] ones.
fn miniserde<T>(value: &T) -> Row
where
    T: miniserde::Serialize + miniserde::Deserialize + Clone + PartialEq + serde::Serialize,
{
    row!(
        "miniserde",
        Never::Ok(miniserde::json::to_string(value)),
        |wire| miniserde::json::from_str::<T>(wire),
        |read: &T| same(read, value),
        copy
    )
}

/// Each data set has its own message.
fn protobuf<'a, T, M>(value: &'a T) -> Row
where
    M: prost::Message + Default + Clone + PartialEq + From<&'a T>,
{
    let message = M::from(value);
    row!(
        "prost",
        Never::Ok(message.encode_to_vec()),
        |wire| M::decode(wire.as_slice()),
        |read: &M| *read == message,
        copy
    )
}

/// A row holds no list, so only data sets of flat records are CSV.
fn csv<T>(records: &[T]) -> [Row; 2]
where
    T: Clone + PartialEq + serde::Serialize + DeserializeOwned,
{
    let encode = || {
        let mut writer = csv::WriterBuilder::new()
            .has_headers(false)
            .from_writer(Vec::new());
        for record in records {
            writer
                .serialize(record)
                .map_err(|error| error.to_string())?;
        }
        writer.into_inner().map_err(|error| error.to_string())
    };
    let reader = || {
        let mut reader = csv::ReaderBuilder::new();
        reader.has_headers(false);
        reader
    };
    [
        row!(
            "csv",
            encode(),
            |wire| {
                let mut reader = reader().from_reader(wire.as_slice());
                reader.deserialize().collect::<Result<Vec<T>, _>>()
            },
            |read: &Vec<T>| same(&read.as_slice(), &records),
            copy
        ),
        row!(
            "csv, StringRecord",
            encode(),
            |wire| {
                let mut reader = reader().from_reader(wire.as_slice());
                reader.records().collect::<Result<Vec<_>, _>>()
            },
            any,
            copy
        ),
    ]
}

/// Formats that are read in place, by code generated from a schema. One data set has schemas here:
/// what these formats allocate does not depend on the data.
fn schemas(records: usize) -> [Row; 3] {
    let options = capnp::message::ReaderOptions {
        traversal_limit_in_words: None,
        ..capnp::message::ReaderOptions::new()
    };
    let message = || {
        // Reading in place needs aligned words.
        let mut wire = AlignedVec::<16>::new();
        wire.extend_from_slice(&requests::message(records));
        Never::Ok(wire)
    };
    let texts: usize = requests::log::many(records)
        .iter()
        .flat_map(requests::log::Log::texts)
        .map(str::len)
        .sum();
    [
        row!(
            "flatbuffers, in place",
            Never::Ok(requests::flat(records)),
            |wire| Never::Ok(requests::flat::weight(wire)),
            |weight: &u64| *weight > texts as u64,
            in_place
        ),
        row!(
            "capnp, in place",
            message(),
            |wire| {
                read_message_from_flat_slice_no_alloc(&mut wire.as_slice(), options)
                    .and_then(|message| requests::texts(&message))
            },
            |found: &usize| *found == texts,
            in_place
        ),
        row!(
            "capnp, copied",
            message(),
            |wire| {
                read_message(wire.as_slice(), options).and_then(|message| {
                    let found = requests::texts(&message)?;
                    Ok((message, found))
                })
            },
            |read: &(_, usize)| read.1 == texts,
            uncopied
        ),
    ]
}
