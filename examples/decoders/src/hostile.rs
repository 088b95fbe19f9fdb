//! Inputs whose decoding takes much memory for few wire bytes.

use crate::data::savedata::Entity;
use crate::formats::{Wincode, cbor};
use serde::{Deserialize, Serialize};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// An input, and what a decoder made of it.
pub(crate) struct Attack {
    pub(crate) format: &'static str,
    /// Length of the input, bytes.
    pub(crate) wire: u64,
    /// The largest number of bytes that were allocated at the same time.
    pub(crate) peak: u64,
    pub(crate) outcome: Outcome,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The input was decoded.
    Read,
    /// The decoder returned an error.
    Refused,
    /// The decoder panicked.
    Panicked,
}

/// Decodes an input and measures it, also if it is an error.
macro_rules! attack {
    ($format:literal, $wire:expr, |$input:ident| $decode:expr) => {{
        let mut wire = $wire;
        let bytes = wire.len() as u64;
        let $input = &mut wire;
        // What is read is dropped inside, so that a borrowing value needs no name outside.
        let (outcome, figures) = tracking_alloc::measure(move || {
            let read = catch_unwind(AssertUnwindSafe(move || {
                // Without this, an optimized build may leave out what nobody looks at.
                std::hint::black_box(&$decode).is_ok()
            }));
            match read {
                Ok(true) => Outcome::Read,
                Ok(false) => Outcome::Refused,
                Err(_) => Outcome::Panicked,
            }
        });
        Attack {
            format: $format,
            wire: bytes,
            peak: figures.peak_bytes,
            outcome,
        }
    }};
}

/// Limits the address space, so that a decoder that trusts every length harms no other process.
pub(crate) fn limit() {
    let limit = libc::rlimit {
        rlim_cur: 8 << 30,
        rlim_max: 8 << 30,
    };
    // SAFETY: the limit is a valid struct, and the call keeps no pointer to it.
    let set = unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) };
    assert_eq!(set, 0, "the address space cannot be limited");
}

/// The claimed bytes of [`prefixes`].
const CLAIM: u64 = 1 << 30;

/// A list of `u64` that claims 1 GiB of elements, and has none.
pub(crate) fn prefixes() -> Vec<Attack> {
    let claim = CLAIM / 8;
    let short = u32::try_from(claim).expect("fewer than 2^32 elements");
    let marked = |mark: u8| {
        let mut wire = vec![mark];
        wire.extend(short.to_be_bytes());
        wire
    };
    let bincode = bincode::config::standard();
    let limited = bincode.with_limit::<{ 1 << 20 }>();
    let varint = || bincode::encode_to_vec(claim, bincode).expect("a number is encoded");
    type List = Vec<u64>;
    vec![
        attack!("rmp-serde", marked(0xdd), |wire| rmp_serde::from_slice::<
            List,
        >(wire)),
        attack!("ciborium", marked(0x9a), |wire| ciborium::from_reader::<
            List,
            _,
        >(wire.as_slice())),
        attack!(
            "postcard",
            postcard::to_allocvec(&claim).expect("a number is encoded"),
            |wire| postcard::from_bytes::<List>(wire)
        ),
        attack!("bincode", varint(), |wire| bincode::decode_from_slice::<
            List,
            _,
        >(wire, bincode)),
        attack!("bincode, limit of 1 MiB", varint(), |wire| {
            bincode::decode_from_slice::<List, _>(wire, limited)
        }),
        attack!("borsh", short.to_le_bytes().to_vec(), |wire| {
            borsh::from_slice::<List>(wire)
        }),
        attack!("wincode", claim.to_le_bytes().to_vec(), |wire| {
            wincode::deserialize::<List>(wire)
        }),
        attack!("nanoserde, binary", claim.to_le_bytes().to_vec(), |wire| {
            <List as nanoserde::DeBin>::deserialize_bin(wire)
        }),
        attack!("musli, storage", musli_claim(claim), |wire| {
            musli::storage::from_slice::<List>(wire)
        }),
        attack!("prost", protobuf_claim(CLAIM), |wire| {
            <Packed as prost::Message>::decode(wire.as_slice())
        }),
        attack!("rkyv", archive_claim(short), |wire| {
            // `rancor::Error` allocates in builds with debug assertions alone.
            rkyv::from_bytes::<List, rkyv::rancor::Failure>(wire)
        }),
        attack!("flatbuffers", flat_claim(short), |wire| {
            flatbuffers::root::<flatbuffers::Vector<'_, u64>>(wire)
        }),
        // Its limit counts words that are read, but the message is copied first.
        attack!("capnp, read_message", capnp_claim(8 << 20), |wire| {
            capnp::serialize::read_message(wire.as_slice(), capnp::message::ReaderOptions::new())
        }),
    ]
}

#[derive(Clone, PartialEq, prost::Message)]
struct Packed {
    #[prost(fixed64, repeated, tag = "1")]
    numbers: Vec<u64>,
}

/// Returns the prefix of a list in musli's storage format: a varint of seven bits a byte.
fn musli_claim(mut claim: u64) -> Vec<u8> {
    let mut wire = Vec::new();
    while claim >= 0x80 {
        wire.push(claim as u8 | 0x80);
        claim >>= 7;
    }
    wire.push(claim as u8);
    wire
}

fn protobuf_claim(claim: u64) -> Vec<u8> {
    // Field 1, length-delimited.
    let mut wire = vec![0x0a];
    wire.extend(musli_claim(claim));
    wire
}

/// Returns an archive whose list claims more elements than it has.
fn archive_claim(claim: u32) -> rkyv::util::AlignedVec {
    let mut wire = rkyv::to_bytes::<rkyv::rancor::Error>(&vec![0_u64]).expect("a list is archived");
    let end = wire.len();
    wire[end - 4..].copy_from_slice(&claim.to_le_bytes());
    wire
}

fn flat_claim(claim: u32) -> Vec<u8> {
    // The offset of the list, and its length.
    [8_u32.to_le_bytes(), [0; 4], claim.to_le_bytes()].concat()
}

/// Returns the head of a message of one segment with this many words.
fn capnp_claim(words: u32) -> Vec<u8> {
    [[0; 4], words.to_le_bytes()].concat()
}

/// Just more than a power of two, so that a list that doubles has just doubled.
const MANY: usize = (1 << 18) + 1;

/// Returns a list in JSON.
fn list(element: &str) -> String {
    format!("[{}]", vec![element; MANY].join(","))
}

/// A list of empty maps, read without types.
pub(crate) fn empty_maps() -> Vec<Attack> {
    let mut attacks = documents("{}", "{}", &[0xa0]);
    attacks.push(attack!(
        "csv, StringRecord",
        ",".repeat(MANY).into_bytes(),
        |wire| {
            let mut reader = csv::ReaderBuilder::new();
            let mut reader = reader.has_headers(false).from_reader(wire.as_slice());
            reader.records().collect::<Result<Vec<_>, _>>()
        }
    ));
    attacks
}

/// A list of maps of one entry, with the shortest key that there is.
pub(crate) fn small_maps() -> Vec<Attack> {
    documents("{\"\":0}", "{a=0}", &[0xa1, 0x60, 0x00])
}

/// A list of these elements, read without types.
fn documents(json: &str, toml: &str, cbor: &[u8]) -> Vec<Attack> {
    let text = || list(json).into_bytes();
    let mut binary = vec![0x9a];
    binary.extend((MANY as u32).to_be_bytes());
    binary.extend(cbor.repeat(MANY));
    vec![
        attack!("serde_json, Value", text(), |wire| {
            serde_json::from_slice::<serde_json::Value>(wire)
        }),
        attack!("simd-json, tape", text(), |wire| simd_json::to_tape(wire)),
        attack!("simd-json, borrowed Value", text(), |wire| {
            simd_json::to_borrowed_value(wire)
        }),
        attack!("simd-json, owned Value", text(), |wire| {
            simd_json::to_owned_value(wire)
        }),
        attack!("sonic-rs, Value", text(), |wire| {
            sonic_rs::from_slice::<sonic_rs::Value>(wire)
        }),
        attack!("miniserde, Value", list(json), |wire| {
            miniserde::json::from_str::<miniserde::json::Value>(wire)
        }),
        attack!("ciborium, Value", binary, |wire| {
            ciborium::from_reader::<ciborium::Value, _>(wire.as_slice())
        }),
        attack!("toml, Table", format!("a={}", list(toml)), |wire| {
            toml::from_str::<toml::Table>(wire)
        }),
    ]
}

/// An enum with its tag inside, and a struct with flattened fields: serde reads both into a buffer
/// before it knows their types.
#[derive(Serialize, Deserialize)]
#[serde(tag = "kind")]
enum Shape {
    Line(Line),
}

#[derive(Serialize, Deserialize)]
struct Line {
    #[serde(flatten)]
    points: Points,
}

#[derive(Serialize, Deserialize)]
struct Points {
    points: Vec<u8>,
}

/// A list of bytes behind `flatten` and an internal tag.
pub(crate) fn buffered() -> Vec<Attack> {
    let shape = || {
        Shape::Line(Line {
            points: Points {
                points: vec![0; MANY],
            },
        })
    };
    let json = || serde_json::to_vec(&shape()).expect("it is JSON");
    let named = || rmp_serde::to_vec_named(&shape()).expect("it is MessagePack");
    vec![
        attack!(
            "serde_json",
            json(),
            |wire| serde_json::from_slice::<Shape>(wire)
        ),
        attack!("simd-json", json(), |wire| simd_json::from_slice::<Shape>(
            wire
        )),
        attack!("sonic-rs", json(), |wire| sonic_rs::from_slice::<Shape>(
            wire
        )),
        attack!("rmp-serde, named", named(), |wire| rmp_serde::from_slice::<
            Shape,
        >(wire)),
        attack!("ciborium", cbor(&shape()).expect("it is CBOR"), |wire| {
            ciborium::from_reader::<Shape, _>(wire.as_slice())
        }),
        attack!(
            "toml",
            toml::to_string(&shape()).expect("it is TOML"),
            |wire| { toml::from_str::<Shape>(wire) }
        ),
    ]
}

/// Returns the size of an element of [`absent`].
pub(crate) fn element() -> u64 {
    size_of::<Option<Entity>>() as u64
}

/// A list of absent entities: each takes as much memory as a present one.
pub(crate) fn absent() -> Vec<Attack> {
    type List = Vec<Option<Entity>>;
    let none: List = vec![None; MANY];
    let json = || serde_json::to_vec(&none).expect("it is JSON");
    let bincode = bincode::config::standard();
    vec![
        attack!("serde_json", json(), |wire| serde_json::from_slice::<List>(
            wire
        )),
        attack!("simd-json", json(), |wire| simd_json::from_slice::<List>(
            wire
        )),
        attack!("sonic-rs", json(), |wire| sonic_rs::from_slice::<List>(
            wire
        )),
        attack!(
            "nanoserde, JSON",
            nanoserde::SerJson::serialize_json(&none),
            |wire| { <List as nanoserde::DeJson>::deserialize_json(wire) }
        ),
        attack!("facet-json", json(), |wire| facet_json::from_slice::<List>(
            wire
        )),
        attack!(
            "rmp-serde",
            rmp_serde::to_vec(&none).expect("it is MessagePack"),
            |wire| { rmp_serde::from_slice::<List>(wire) }
        ),
        attack!("ciborium", cbor(&none).expect("it is CBOR"), |wire| {
            ciborium::from_reader::<List, _>(wire.as_slice())
        }),
        attack!(
            "postcard",
            postcard::to_allocvec(&none).expect("it is encoded"),
            |wire| { postcard::from_bytes::<List>(wire) }
        ),
        attack!(
            "bincode",
            bincode::encode_to_vec(&none, bincode).expect("it is encoded"),
            |wire| bincode::decode_from_slice::<List, _>(wire, bincode)
        ),
        attack!("bitcode", bitcode::encode(&none), |wire| bitcode::decode::<
            List,
        >(wire)),
        attack!(
            "borsh",
            borsh::to_vec(&none).expect("it is encoded"),
            |wire| { borsh::from_slice::<List>(wire) }
        ),
        attack!(
            "wincode",
            wincode::config::serialize(&none, Wincode::new()).expect("it is encoded"),
            |wire| { wincode::deserialize::<List>(wire) }
        ),
        attack!(
            "nanoserde, binary",
            nanoserde::SerBin::serialize_bin(&none),
            |wire| { <List as nanoserde::DeBin>::deserialize_bin(wire) }
        ),
        attack!(
            "musli, storage",
            musli::storage::to_vec(&none).expect("it is encoded"),
            |wire| { musli::storage::from_slice::<List>(wire) }
        ),
        attack!(
            "rkyv",
            rkyv::to_bytes::<rkyv::rancor::Error>(&none).expect("it is archived"),
            |wire| rkyv::from_bytes::<List, rkyv::rancor::Error>(wire)
        ),
    ]
}
