//! 4.6: the record in today's binary formats, read and written: serde's postcard, bincode and
//! MessagePack, and rkyv and FlatBuffers, which are read in place.

use super::log::{Log, goser};
use super::{TEXT_BYTES, TEXTS, each, flat, repeat, takes};
use crate::cases::said::ns;
use crate::{Case, Found, Judged, Variant, Window};
use bincode::config;
use flatbuffers::FlatBufferBuilder;
use rkyv::rancor::Error;
use rkyv::util::AlignedVec;

/// Length of the record in postcard, bytes.
const POSTCARD_BYTES: usize = 273;

/// The case.
pub(super) const CASE: Case = Case {
    id: "4.6",
    system: "postcard, bincode, rmp, rkyv, flatbuffers: the same record in today's binary formats",
    headline: "no figures: the source of 2014 has no row of these formats",
    variants: &[
        Variant::new("postcard, deserialize", |window| {
            let bytes = postcard();
            repeat(window, bytes.len(), || {
                postcard::from_bytes::<Log<String>>(&bytes).expect("it is this record")
            });
        }),
        Variant::new("postcard, deserialize &str", |window| {
            let bytes = postcard();
            repeat(window, bytes.len(), || {
                postcard::from_bytes::<Log<&str>>(&bytes).expect("it is this record")
            });
        }),
        Variant::new("postcard, serialize", |window| {
            written(window, postcard(), |log| postcard::to_allocvec(log).ok());
        }),
        Variant::new("postcard, serialize into a kept buffer", |window| {
            let (log, mut buffer) = (goser::<String>(), postcard());
            repeat(window, buffer.len(), || {
                let used = postcard::to_slice(&log, &mut buffer).map(|used| used.len());
                used.expect("the buffer has room")
            });
        }),
        Variant::new("bincode, deserialize", |window| {
            let bytes = bincode();
            repeat(window, bytes.len(), || bincode_read::<Log<String>>(&bytes));
        }),
        Variant::new("bincode, deserialize &str", |window| {
            let bytes = bincode();
            repeat(window, bytes.len(), || bincode_read::<Log<&str>>(&bytes));
        }),
        Variant::new("bincode, serialize", |window| {
            written(window, bincode(), |log| {
                bincode::serde::encode_to_vec(log, config::standard()).ok()
            });
        }),
        Variant::new("bincode, serialize into a kept buffer", |window| {
            let (log, mut buffer) = (goser::<String>(), bincode());
            repeat(window, buffer.len(), || {
                let used = bincode::serde::encode_into_slice(&log, &mut buffer, config::standard());
                used.expect("the buffer has room")
            });
        }),
        Variant::new("rmp, deserialize", |window| {
            let bytes = rmp();
            repeat(window, bytes.len(), || {
                rmp_serde::from_slice::<Log<String>>(&bytes).expect("it is this record")
            });
        }),
        Variant::new("rmp, deserialize &str", |window| {
            let bytes = rmp();
            repeat(window, bytes.len(), || {
                rmp_serde::from_slice::<Log<&str>>(&bytes).expect("it is this record")
            });
        }),
        Variant::new("rmp, serialize", |window| {
            written(window, rmp(), |log| rmp_serde::to_vec(log).ok());
        }),
        Variant::new("rmp, serialize into a kept buffer", |window| {
            let (log, mut buffer) = (goser::<String>(), rmp());
            repeat(window, buffer.len(), || {
                let mut room = buffer.as_mut_slice();
                rmp_serde::encode::write(&mut room, &log).expect("the buffer has room");
                room.len()
            });
        }),
        Variant::new("rkyv, checked and read in place", |window| {
            let bytes = rkyv();
            repeat(window, bytes.len(), || rkyv_read(&bytes).weight());
        }),
        Variant::new("rkyv, deserialize", |window| {
            let bytes = rkyv();
            repeat(window, bytes.len(), || {
                rkyv::deserialize::<Log<String>, Error>(rkyv_read(&bytes))
                    .expect("it is this record")
            });
        }),
        Variant::new("rkyv, serialize", |window| {
            let log = goser::<String>();
            repeat(window, rkyv().len(), || {
                rkyv::to_bytes::<Error>(&log).expect("the record can be written")
            });
        }),
        Variant::new("rkyv, serialize into a kept buffer", |window| {
            let (log, len) = (goser::<String>(), rkyv().len());
            let mut kept = AlignedVec::<16>::with_capacity(len);
            repeat(window, len, || {
                let mut buffer = std::mem::take(&mut kept);
                buffer.clear();
                kept = rkyv::api::high::to_bytes_in::<_, Error>(&log, buffer)
                    .expect("the record can be written");
                kept.len()
            });
        }),
        Variant::new("flatbuffers, checked and read in place", |window| {
            let bytes = flatbuffers();
            repeat(window, bytes.len(), || flat::read(&bytes).weight());
        }),
        Variant::new("flatbuffers, serialize", |window| {
            let log = goser::<&str>();
            repeat(window, flatbuffers().len(), || {
                let mut builder = FlatBufferBuilder::new();
                flat::write(&mut builder, &log);
                builder.collapse()
            });
        }),
        Variant::new("flatbuffers, serialize by a kept builder", |window| {
            let log = goser::<&str>();
            let mut builder = FlatBufferBuilder::with_capacity(1_024);
            flat::write(&mut builder, &log);
            repeat(window, flatbuffers().len(), || {
                builder.reset();
                flat::write(&mut builder, &log);
                builder.finished_data().len()
            });
        }),
    ],
    judge,
};

fn judge(found: &Found<'_>) -> Judged {
    let formats = ["postcard", "bincode", "rmp", "rkyv", "flatbuffers"];
    let owned = [
        "postcard, deserialize",
        "bincode, deserialize",
        "rmp, deserialize",
        "rkyv, deserialize",
    ];
    let none = [
        "postcard, deserialize &str",
        "bincode, deserialize &str",
        "rmp, deserialize &str",
        "rkyv, checked and read in place",
        "flatbuffers, checked and read in place",
        "postcard, serialize into a kept buffer",
        "bincode, serialize into a kept buffer",
        "rmp, serialize into a kept buffer",
        "flatbuffers, serialize by a kept builder",
    ];
    let holds = takes(found, &owned, TEXTS, TEXT_BYTES) && takes(found, &none, 0.0, 0.0);
    let time = |variant: String| match each(found, &variant, "time_ns") {
        _ if cfg!(debug_assertions) => "(not optimised)".to_owned(),
        time => ns(time),
    };
    let of_format = |format: &str| {
        let written = format!("{format}, serialize");
        let read = match format {
            "flatbuffers" => format!("{format}, checked and read in place"),
            _ => format!("{format}, deserialize"),
        };
        format!(
            "{format} {} B, {} blocks and {} to write, {} to read",
            each(found, &written, "input_bytes"),
            each(found, &written, "total_blocks"),
            time(written),
            time(read),
        )
    };

    let why = format!(
        "10 blocks and 236 B a record to build it from any of them, 0 as &str or in place, 0 to write into what is kept (rkyv {}). A \
         record: {}",
        each(found, "rkyv, serialize into a kept buffer", "total_blocks"),
        formats.map(of_format).join("; "),
    );
    Judged::unjudged(holds, "the source has no row of these formats", why)
}

/// Writes the record, each time into a new buffer.
fn written(window: &mut Window, bytes: Vec<u8>, once: impl Fn(&Log<String>) -> Option<Vec<u8>>) {
    let log = goser::<String>();
    repeat(window, bytes.len(), || {
        once(&log).expect("the record can be written")
    });
}

pub(super) fn postcard() -> Vec<u8> {
    let bytes = postcard::to_allocvec(&goser::<&str>()).expect("the record can be written");
    assert_eq!(
        bytes.len(),
        POSTCARD_BYTES,
        "the source's record has another length"
    );
    assert_eq!(postcard::from_bytes(&bytes), Ok(goser::<&str>()));
    bytes
}

fn bincode() -> Vec<u8> {
    let bytes = bincode::serde::encode_to_vec(goser::<&str>(), config::standard())
        .expect("the record can be written");
    assert_eq!(bincode_read::<Log<&str>>(&bytes), goser::<&str>());
    bytes
}

fn bincode_read<'a, T: serde::Deserialize<'a>>(bytes: &'a [u8]) -> T {
    let read = bincode::serde::borrow_decode_from_slice(bytes, config::standard());
    read.expect("it is this record").0
}

fn rmp() -> Vec<u8> {
    let bytes = rmp_serde::to_vec(&goser::<&str>()).expect("the record can be written");
    assert_eq!(rmp_serde::from_slice(&bytes).ok(), Some(goser::<&str>()));
    bytes
}

pub(super) fn rkyv() -> AlignedVec {
    let log = goser::<String>();
    let bytes = rkyv::to_bytes::<Error>(&log).expect("the record can be written");
    assert_eq!(rkyv_read(&bytes).weight(), log.weight());
    bytes
}

pub(super) fn rkyv_read(bytes: &[u8]) -> &rkyv::Archived<Log<String>> {
    rkyv::access::<_, Error>(bytes).expect("it is this record")
}

/// The record's bytes, aligned as reading without copying requires.
fn flatbuffers() -> AlignedVec {
    let mut builder = FlatBufferBuilder::new();
    flat::write(&mut builder, &goser());
    let mut bytes = AlignedVec::new();
    bytes.extend_from_slice(builder.finished_data());
    assert_eq!(flat::read(&bytes).weight(), goser::<&str>().weight());
    bytes
}
